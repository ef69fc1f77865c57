"""Distributions over labelled sets, sampled in batches on the generator's device."""
