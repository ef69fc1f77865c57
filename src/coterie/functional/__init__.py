"""Pure functions of tensors: no state, and random numbers only from a given generator."""
