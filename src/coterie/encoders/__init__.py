"""From a raw item to the vector a network reads."""
