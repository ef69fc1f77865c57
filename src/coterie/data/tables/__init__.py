"""Tables in files: numbers to cluster come in, the same rows with their clusters go out.

A file is read in batches and never as a whole, so that it may be larger than memory.
"""
