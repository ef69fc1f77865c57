"""Densities of single clusters, behind one contract."""
