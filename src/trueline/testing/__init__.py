"""Checks for classes of your own: what the library promises of each of its kinds."""

from trueline.testing._distribution import check_distribution
from trueline.testing._estimator import check_estimator
from trueline.testing._recalibrator import check_recalibrator

__all__ = ["check_distribution", "check_estimator", "check_recalibrator"]
