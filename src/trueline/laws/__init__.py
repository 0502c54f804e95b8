"""Standardised laws: the distribution of a score, shared by every row of a forecast.

A location-scale forecast is ``loc + scale * Z`` with one law for Z; recalibrating it
replaces that law and nothing else. What depends on the law alone is computed once.
"""

from trueline.laws._abstract import Law, ScoreLaw
from trueline.laws._elementary import (
    LOG_SQRT_2PI,
    LaplaceLaw,
    LogisticLaw,
    NormalLaw,
    PointLaw,
)
from trueline.laws._expectation import Function, checked, expected, expected_of_masses
from trueline.laws._piecewise import ExponentialTail, NormalTail, PiecewiseLaw, Tail
from trueline.laws._search import count_in_rows, normal_score, solve_increasing
from trueline.laws._student_t import StudentTLaw
from trueline.laws._tabulated import BetaLaw, SplineLaw

__all__ = [
    "LOG_SQRT_2PI",
    "BetaLaw",
    "ExponentialTail",
    "Function",
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
    "checked",
    "count_in_rows",
    "expected",
    "expected_of_masses",
    "normal_score",
    "solve_increasing",
]
