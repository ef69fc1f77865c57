"""The benchmarks behind the tables: our models, other methods, and an oracle."""
