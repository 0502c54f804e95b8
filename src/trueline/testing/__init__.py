"""Checks that your own classes keep the promises of the library."""

from trueline.testing._distribution import check_distribution
from trueline.testing._estimator import check_estimator
from trueline.testing._recalibrator import check_recalibrator

__all__ = ["check_distribution", "check_estimator", "check_recalibrator"]
