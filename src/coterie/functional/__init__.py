"""Pure tensor mathematics: torch in, torch out, no state, no randomness of its own."""
