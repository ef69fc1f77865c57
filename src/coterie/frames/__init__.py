"""Tables of any units and width in the units of a network."""
