"""Writing files so that nothing is lost: whole or not at all, and by one process at a time."""
