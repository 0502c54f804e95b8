"""Isotonic distributional regression of outcomes on the centre of their forecasts."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from trueline._labels import check_labels
from trueline._validation import FloatArray, check_finite, vector
from trueline.distributions import Distribution, learn_support
from trueline.interop import ForecastLike, check_forecast
from trueline.isotonic import IsotonicForecast, IsotonicLaws, Kernel
from trueline.recalibration._abstract import Recalibrator
from trueline.recalibration._document import (
    check_kind_of_score,
    expect,
    numbers,
    weights_from_json,
)
from trueline.scores import Key, check_outcomes


class IDR(Recalibrator):
    """Isotonic distributional regression: outcomes tend to be larger where the forecast is.

    The centre of the forecast, ``loc`` if it has one and otherwise the mean, is all that is used of
    it. The law of the outcome given the centre is learned from the rows, with no assumption but
    that its quantiles do not fall as the centre rises: no width, shape or bandwidth is chosen. So
    any model with a number per row gets a forecast whose bias, width, skewness and share of zeros
    change with the forecast. This is EasyUQ. Among all such laws the fitted ones have the lowest
    CRPS on the rows.

    For a centre between those of two rows their CDFs are interpolated; outside all rows the
    outermost is used. Every outcome of up to 5,000 rows is a threshold at which the CDF may jump;
    beyond, 1,000 quantiles of the outcomes are. Forecasts are step functions, exact in CDF,
    quantiles, moments and CRPS.

    The forecasts have no finite-sample guarantee, and where few rows have similar centres they
    are too narrow. An `Isotonic` map of other rows, fitted on the forecasts that the IDR gives
    them, has the guarantee of `Isotonic`; see the second example.

    Parameters
    ----------
    smooth : bool, default False
        Whether to smooth the laws by a normal kernel, so that quantiles do not jump and densities
        are useful. The width of the kernel is the one with the lowest CRPS on held-out rows, of a
        few. Outcomes that pile up at an end of their range, as rain
        does at 0, stay there; those that take few values, such as counts, are not smoothed.

    Attributes
    ----------
    laws_ : IsotonicLaws
        The fitted laws, with ``x``, the centres, and ``thresholds``.
    width_ : float
        Standard deviation of the kernel, in the unit of y; 0 if laws are not smoothed.

    References
    ----------
    Henzi, Ziegel and Gneiting, "Isotonic distributional regression", JRSS B 2021,
    doi:10.1111/rssb.12450. Walz, Henzi, Ziegel and Gneiting, "Easy uncertainty quantification
    (EasyUQ)", SIAM Review 2024, doi:10.1137/22M1541915.

    Examples
    --------
    Errors of a point forecast that grow with it:

    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> point = rng.uniform(1.0, 5.0, size=4000)
    >>> y, F = point * rng.gamma(4.0, 0.25, size=4000), tl.Point(point)
    >>> R = tl.IDR().fit(y[:2000], F[:2000])
    >>> lower, upper = R.transform(tl.Point([2.0, 4.0])).interval(0.8)
    >>> (upper - lower).round(0)
    array([2., 5.])

    With the guarantee of `Isotonic`, from rows that the IDR has not seen:

    >>> guard = tl.Isotonic().fit(y[2000:], R.transform(F[2000:]))
    >>> lower, upper = guard.transform(R.transform(tl.Point([2.0, 4.0]))).interval(0.8)
    """

    is_mergeable = True
    is_stored = True
    keeps_scores = False
    reads_width = False  # of a forecast it uses the centre
    _state_fields = frozenset({"kind", "x", "y", "weights", "squares"})

    laws_: IsotonicLaws

    def __init__(self, smooth: bool = False) -> None:
        self.smooth = smooth

    def _check_params(self) -> None:
        if not isinstance(self.smooth, bool):
            raise ValueError(f"smooth is {self.smooth!r}; expected True or False.")

    def fit(
        self,
        y: ArrayLike,
        dist: ForecastLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        self._check_params()
        _refuse_groups(groups)
        dist = check_forecast(dist, y=y)
        check_labels(y=y, dist=dist, sample_weight=sample_weight)
        outcomes, w = check_outcomes(y, dist, sample_weight)
        check_finite(outcomes, "y")
        x, w = _centres(dist), np.ones(len(dist)) if w is None else w
        kept = w > 0
        return self._learn_rows(dist.score_kind, x[kept], outcomes[kept], w[kept])

    def _fit_scaled(
        self, factor: float, y: ArrayLike, dist: Distribution, *args: Any, **given: Any
    ) -> Self:
        # An outcome that is an atom would be moved off it.
        if learn_support(vector(y, "y")) is not None:
            return self.fit(y, dist, *args, **given)
        return super()._fit_scaled(factor, y, dist, *args, **given)

    def _learn_rows(
        self, kind: str, x: FloatArray, y: FloatArray, w: FloatArray, squares: float | None = None
    ) -> Self:
        """Learn from rows, of which those with the same x and y are joined and sorted."""
        squares = float(w @ w) if squares is None else squares
        (x, y), place = np.unique([x, y], axis=1, return_inverse=True)
        w = np.bincount(place.ravel(), w).astype(np.float64)
        self._kind, self._rows, self._squares = kind, (x, y, w), squares
        self.laws_ = IsotonicLaws.fit(x, y, w)
        self._kernel = Kernel.learn(x, y, w) if self.smooth else Kernel(0.0)
        return self

    @property
    def width_(self) -> float:
        """Standard deviation of the kernel; 0 if the laws are not smoothed."""
        self._check_fitted()
        return self._kernel.width

    def transform(self, dist: ForecastLike, groups: ArrayLike | None = None) -> Distribution:
        self._check_fitted()
        _refuse_groups(groups)
        dist = self.check_kind(dist)
        made = IsotonicForecast.at(self.laws_, _centres(dist), self.n_fit())
        smooth = self._kernel(made) if self._kernel.width else made
        smooth._labels = dist._labels
        return smooth

    def n_fit(self, group: Key | None = None) -> float:
        self._check_fitted()
        total = float(self._rows[2].sum())
        return min(total, total**2 / self._squares)

    def merge(self, other: Self) -> Self:
        self._check_mergeable(other)
        if self._kind != other._kind:
            raise ValueError(
                f"the maps were fitted on different scores ({self._kind} and {other._kind}); "
                f"expected forecasts of the same kind in both."
            )
        x, y, w = (np.concatenate(both) for both in zip(self._rows, other._rows, strict=True))
        squares = self._squares + other._squares
        return self._unfitted_copy()._learn_rows(self._kind, x, y, w, squares)

    @property
    def score_kind_(self) -> str:
        self._check_fitted()
        return self._kind

    def _rows_learned(self) -> float:
        return self.n_fit()

    def _is_fitted(self) -> bool:
        return hasattr(self, "laws_")

    def _state(self) -> dict[str, Any]:
        x, y, w = self._rows
        ones = bool((w == 1.0).all())
        weights = {"weights": None if ones else w, "squares": self._squares}
        return {"kind": self._kind, "x": x, "y": y, **weights}

    def _set_state(self, state: dict[str, Any]) -> None:
        kind = check_kind_of_score(state["kind"])
        x = numbers(state["x"], "x")
        y = numbers(state["y"], "y", len(x))
        ordered = (x[:-1] < x[1:]) | ((x[:-1] == x[1:]) & (y[:-1] < y[1:]))
        expect(bool(ordered.all()), "the rows are not in the order of x and y")
        w = weights_from_json(state["weights"], len(x))
        (squares,) = numbers([state["squares"]], "squares").tolist()
        expect(squares > 0, "squares is not above 0")
        self._learn_rows(kind, x, y, np.ones(len(x)) if w is None else w, squares)


def _centres(dist: Distribution) -> FloatArray:
    """Return the covariate of each row."""
    x = dist._centre()
    check_finite(x, "the centre of dist")
    return x


def _refuse_groups(groups: ArrayLike | None) -> None:
    if groups is not None:
        raise ValueError("IDR takes no groups; it has the same laws for all rows.")
