"""The calibration plot of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import RandomState
from trueline.displays import _style
from trueline.displays._forecasts import (
    Forecasts,
    FromPredictions,
    band_label,
    named,
    results,
)
from trueline.metrics import CalibrationCurve, calibration_curve, rows_of_fits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

_TICKS = np.arange(6) / 5


class CalibrationDisplay(FromPredictions):
    """The calibration plot: expected against observed probabilities, with a band for chance.

    The curve of a calibrated forecast follows the diagonal; where a curve leaves the band, chance
    does not explain it. A curve flatter than the diagonal means forecasts that are too narrow, a
    steeper one forecasts that are too wide. The legend gives the calibration error (Eq. 9) of each
    curve, with its floor, the error that a perfect forecaster would have, in brackets.

    Make one with `from_predictions` or `from_estimator`, or from results of
    `trueline.calibration_curve`. The last of several forecasts has the plainest line. A second
    display on the same axes adds its curves.

    Parameters
    ----------
    curves : CalibrationCurve or mapping of names to CalibrationCurve
    name : str, optional
        Name of a single curve.
    n_fit : float or mapping of names to float, optional
        Number of rows that a recalibrator was fitted on, which raises the floor; by default that
        of each curve.

    Attributes
    ----------
    errors, floors : dict
        Calibration error and floor of each curve.
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict of matplotlib Line2D
        The curves by name.
    line_ : matplotlib Line2D
        The last of them.
    reference_ : matplotlib Line2D or None
        The diagonal; None if the axes had it before.
    band_ : matplotlib PolyCollection or None
        That of the last curve; None if the axes had it before, or if the curves are of different
        rows.
    legend_ : matplotlib Legend or None

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> F, G = tl.Normal(np.zeros(1000), 0.5), tl.Normal(np.zeros(1000), 1.0)
    >>> display = tl.CalibrationDisplay.from_predictions(y, {"before": F, "after": G})
    >>> {name: round(error, 4) for name, error in display.errors.items()}
    {'before': 0.113, 'after': 0.0032}
    >>> display.ax_.get_xlabel()
    'expected probability'
    """

    ax_: Axes
    figure_: Figure
    lines_: dict[str, Line2D]
    line_: Line2D
    reference_: Line2D | None
    band_: PolyCollection | None
    legend_: Legend | None

    def __init__(
        self,
        curves: CalibrationCurve | Mapping[str, CalibrationCurve],
        *,
        name: str | None = None,
        n_fit: float | Mapping[str, float] | None = None,
    ) -> None:
        self.curves = results(curves, (CalibrationCurve,), name)
        rows = rows_of_fits(n_fit, self.curves)
        self.errors = {key: curve.error for key, curve in self.curves.items()}
        self.floors = {key: curve.floor(rows.get(key)) for key, curve in self.curves.items()}

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        dist: Forecasts,
        *,
        levels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        confidence: float = 0.95,
        n_fit: float | Mapping[str, float] | None = None,
        random_state: RandomState = 0,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the calibration plot of forecasts.

        Parameters
        ----------
        y : (n,) array-like
            Outcomes.
        dist : Distribution or mapping of names to Distribution
            The n forecasts of one model or of several.
        levels : (m,) array-like, optional
            Strictly increasing, in [0, 1]; 0, 0.1, ..., 1 by default.
        sample_weight : (n,) array-like, optional
            Weights of the rows.
        confidence : float, default 0.95
            Probability of the band.
        n_fit : float or mapping of names to float, optional
            Number of rows that a recalibrator was fitted on, which raises the floor and widens the
            band; by default as each forecast knows it.
        random_state : None, int or numpy.random.Generator, default 0
            Used where a forecast has steps, see `trueline.pit`.
        name : str, optional
            Name of a single forecast.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs : dict
            For `plot`.
        """
        _style.require_matplotlib(f"{cls.__name__}.from_predictions")
        forecasts = named(dist, name)
        rows = rows_of_fits(n_fit, forecasts)
        options: dict[str, Any] = {
            "sample_weight": sample_weight,
            "confidence": confidence,
            "random_state": random_state,
        }
        curves = {
            key: calibration_curve(y, forecast, levels, n_fit=rows.get(key), **options)
            for key, forecast in forecasts.items()
        }
        return cls(curves).plot(ax, **kwargs)

    def plot(
        self, ax: Axes | None = None, *, band: bool = True, legend: bool = True, **kwargs: Any
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        band : bool, default True
            Whether to draw the band that chance explains.
        legend : bool, default True
            Whether to draw the legend.
        **kwargs : dict
            For the lines, as in `matplotlib.axes.Axes.plot`.
        """
        self.ax_, self.figure_ = ax, _ = _style.axes_and_figure(ax, type(self).__name__, (5.0, 5.0))
        self.reference_, self.band_, self.legend_ = None, None, None
        looks = _style.looks(ax, len(self.curves))
        if not _style.has_reference(ax):
            self._draw_reference(ax, band)
        self.lines_ = {}
        for (key, curve), look in zip(self.curves.items(), looks, strict=True):
            label = f"{key}: {self.errors[key]:.2g} ({self.floors[key]:.2g})"
            style = {"label": label, **look.marked_line(ax.get_facecolor()), **kwargs}
            line = ax.plot(curve.levels, curve.observed, clip_on=False, zorder=3, **style)[0]
            self.lines_[key] = self.line_ = _style.mark(line)
        if legend:
            self.legend_ = _style.legend(ax, "calibration error (floor)")
        return self

    def _draw_reference(self, ax: Axes, band: bool) -> None:
        name, curve = list(self.curves.items())[-1]
        if band and all(_same_rows(curve, other) for other in self.curves.values()):
            label = band_label(self.curves, name, curve.confidence)
            self.band_ = _style.band(ax, curve.levels, curve.lower, curve.upper, label)
        self.reference_ = _style.reference(ax, [0, 1], [0, 1])
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=_TICKS, yticks=_TICKS)
        _style.label_axes(ax, "expected probability", "observed frequency")
        ax.set_aspect("equal", adjustable="box")
        _style.tidy(ax)


def _same_rows(one: CalibrationCurve, other: CalibrationCurve) -> bool:
    """Whether the bands of two curves differ by the rows of their fits at most."""
    return (
        np.array_equal(one.levels, other.levels)
        and one.n_effective == other.n_effective
        and one.confidence == other.confidence
    )
