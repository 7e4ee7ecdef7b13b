"""Trained models: predict, export, scikit-learn estimators."""
