"""Standardised laws: the distribution of a score, shared by every row of a forecast.

A location-scale forecast is ``loc + scale * Z`` with one law for Z; recalibrating it
replaces that law and nothing else. A law therefore knows, once, what every row needs.
"""

from trueline.laws._abstract import Law, ScoreLaw
from trueline.laws._beta import BetaLaw
from trueline.laws._dirac import Dirac
from trueline.laws._laplace import StandardLaplace
from trueline.laws._logistic import StandardLogistic
from trueline.laws._normal import NormalLaw
from trueline.laws._piecewise import PiecewiseLaw
from trueline.laws._spline import SplineLaw
from trueline.laws._student_t import StandardStudentT
from trueline.laws._tails import ExponentialTail, NormalTail, Tail

__all__ = [
    "BetaLaw",
    "Dirac",
    "ExponentialTail",
    "Law",
    "NormalLaw",
    "NormalTail",
    "PiecewiseLaw",
    "ScoreLaw",
    "SplineLaw",
    "StandardLaplace",
    "StandardLogistic",
    "StandardStudentT",
    "Tail",
]
