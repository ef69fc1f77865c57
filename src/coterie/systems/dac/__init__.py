"""DAC: deep amortized clustering (Lee, Lee, Teh 2019)."""
