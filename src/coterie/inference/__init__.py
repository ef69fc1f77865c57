"""From a trained system to a clustering: the one loop, the rules it leaves behind, the result."""
