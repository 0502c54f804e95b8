"""Standardised laws: the distribution of a score, shared by every row of a forecast.

A location-scale forecast is ``loc + scale * Z`` with one law for Z; recalibrating it
replaces that law and nothing else. What depends on the law alone is computed once.
"""

from trueline.laws._abstract import Law, ScoreLaw
from trueline.laws._beta import BetaLaw
from trueline.laws._laplace import LaplaceLaw
from trueline.laws._logistic import LogisticLaw
from trueline.laws._normal import LOG_SQRT_2PI, NormalLaw
from trueline.laws._piecewise import PiecewiseLaw
from trueline.laws._point import PointLaw
from trueline.laws._search import normal_score, solve_increasing
from trueline.laws._spline import SplineLaw
from trueline.laws._student_t import StudentTLaw
from trueline.laws._tails import ExponentialTail, NormalTail, Tail

__all__ = [
    "LOG_SQRT_2PI",
    "BetaLaw",
    "ExponentialTail",
    "LaplaceLaw",
    "Law",
    "LogisticLaw",
    "NormalLaw",
    "NormalTail",
    "PiecewiseLaw",
    "PointLaw",
    "ScoreLaw",
    "SplineLaw",
    "StudentTLaw",
    "Tail",
    "normal_score",
    "solve_increasing",
]
