"""Support of scikit-learn and models with its interface."""
