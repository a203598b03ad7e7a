"""Estimators in the way of scikit-learn that take incomplete tables."""
