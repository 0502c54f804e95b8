"""Isotonic distributional regression: laws of y that rise with a number, and their forecasts."""

from trueline.isotonic._forecast import IsotonicForecast
from trueline.isotonic._kernel import Kernel
from trueline.isotonic._laws import IsotonicLaws, thresholds
from trueline.isotonic._pool import pool

__all__ = ["IsotonicForecast", "IsotonicLaws", "Kernel", "pool", "thresholds"]
