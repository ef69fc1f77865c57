"""Attempts to break the package, each a function `campaign(attempts, seed)` that returns a row."""
