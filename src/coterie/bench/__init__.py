"""Races over drawn sets: our systems, the peers, and the oracle that knows the truth."""
