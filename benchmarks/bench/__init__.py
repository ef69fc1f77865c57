"""What reproduces the tables: our models, their peers, and an oracle that knows the truth."""
