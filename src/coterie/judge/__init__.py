"""A learned judge of clusterings: it predicts how well each of several partitions will agree."""
