"""Trained models: the file format, and the ones that ship with the package."""
