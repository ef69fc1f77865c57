"""Out-of-distribution checks: whether a table looks like the sets of training."""
