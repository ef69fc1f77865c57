"""Data on its way to the network: batches of sets, priors that generate them, files."""
