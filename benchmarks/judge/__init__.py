"""Several views of a set, several partitions of each, and a judge that picks one: see README.md."""
