"""Mixtures of Gaussians in NumPy: estimated, split, pruned and judged by their evidence."""
