"""Beta calibration."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit, log_ndtr

from trueline._validation import FloatArray
from trueline.laws import BetaLaw, NormalLaw, ScoreLaw
from trueline.recalibration._common import CommonMap
from trueline.recalibration._scores import Scores
from trueline.recalibration._smooth import mid_ranks

# Below this R would stay far from 0 and 1 in the range of the data.
_SMALLEST = 1e-2
# Scores with less spread than this, relative to their mean, have no shape to fit.
_RESOLUTION = 1e-11


class BetaCalibration(CommonMap):
    """Beta calibration, the Platt scaling of regression: three parameters.

    logit R = c + a log Phi(t) - b log Phi(-t), with t the score in units of its own mean and
    standard deviation, fitted to the empirical frequencies (Eq. 6) by logistic regression.
    With a = b = 1 and c = 0 it is `Scaling`; the three parameters add skewness and weight in
    the tails. The map is smooth, has a density and is stable with a few dozen rows.

    Attributes
    ----------
    law_ : BetaLaw
        With the fitted ``a``, ``b`` and ``c``.

    References
    ----------
    Kull, Silva Filho and Flach, "Beta calibration", AISTATS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y = np.random.default_rng(0).gamma(2.0, size=1000)  # skewed
    >>> R = tl.BetaCalibration().fit(y, tl.Point(np.full(1000, 2.0)))
    >>> R.law_.a > R.law_.b
    True
    """

    def _law_of(self, scores: Scores) -> ScoreLaw:
        x, w = scores.points()
        shift, scale = scores.mean_and_std()
        if len(x) < 3 or scale < _RESOLUTION * abs(shift):
            return NormalLaw(shift, scale)
        a, b, c = _fit((x - shift) / scale, mid_ranks(w), w / w.sum())
        return BetaLaw(a, b, c, shift, scale)


def _fit(t: FloatArray, p: FloatArray, w: FloatArray) -> tuple[float, float, float]:
    """Logistic regression of the frequencies p on log Phi(t) and -log Phi(-t)."""
    from scipy.optimize import minimize

    features = np.stack([log_ndtr(t), -log_ndtr(-t), np.ones_like(t)])

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        logit = theta @ features
        value = -(w * (p * log_expit(logit) + (1.0 - p) * log_expit(-logit))).sum()
        return float(value), features @ (w * (expit(logit) - p))

    best = minimize(
        loss,
        np.array([1.0, 1.0, 0.0]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(_SMALLEST, np.inf), (_SMALLEST, np.inf), (-np.inf, np.inf)],
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 500},
    )
    a, b, c = best.x
    return float(a), float(b), float(c)
