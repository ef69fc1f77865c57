"""Out-of-distribution checks: compare a table with the training sets."""
