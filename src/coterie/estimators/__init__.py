"""scikit-learn estimators, one per system."""
