"""Data for networks: batches of sets, priors that generate them, files."""
