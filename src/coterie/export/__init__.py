"""Trained networks for other runtimes."""
