"""Building blocks of networks, independent of clustering."""
