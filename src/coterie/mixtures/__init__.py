"""Mixtures of Gaussians in NumPy: estimation, splits, removals and evidence."""
