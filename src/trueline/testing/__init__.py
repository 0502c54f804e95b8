"""Checks for classes of your own: what the library promises of each of its kinds."""

from trueline.testing._estimator import check_estimator

__all__ = ["check_estimator"]
