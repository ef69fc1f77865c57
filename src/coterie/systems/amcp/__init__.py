"""AMCP: amortized mixing coupling processes (Liu, Jing 2022)."""
