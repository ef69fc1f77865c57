"""Recipes of studies: networks that differ from a shipped one in a single choice."""
