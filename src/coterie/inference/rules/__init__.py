"""Rules that a finished clustering leaves behind: they give any point its cluster."""
