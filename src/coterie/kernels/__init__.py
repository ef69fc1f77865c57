"""Operators that torch does not have, registered with it as its own."""
