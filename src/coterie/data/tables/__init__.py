"""Tables in files: read numeric columns, write the rows back with their clusters.

A file is read in batches, so that it may be larger than memory.
"""
