"""Frames: map tables of any units and width to the input of a network."""
