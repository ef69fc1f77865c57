"""The tables of the README, the docs and the model cards, in Markdown."""
