"""The one trainer, what watches it, and the recipes it follows."""
