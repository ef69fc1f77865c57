"""Neural building blocks that know nothing of clustering."""
