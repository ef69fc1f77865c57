"""Custom operators, registered with torch."""
