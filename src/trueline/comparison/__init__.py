"""Which of several forecasts of the same rows is best, and whether that is more than chance."""

from trueline.comparison._compare import Comparison, compare
from trueline.comparison._difference import Difference, score_difference

__all__ = ["Comparison", "Difference", "compare", "score_difference"]
