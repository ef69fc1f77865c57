"""Our models and their peers side by side on one table."""
