"""The PIT histogram and the PIT difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

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
from trueline.metrics import (
    PITDifference,
    PITHistogram,
    pit_difference,
    pit_histogram,
    rows_of_fits,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from matplotlib.patches import StepPatch

Kind = Literal["histogram", "difference"]
Result = PITHistogram | PITDifference


class PITDisplay(FromPredictions):
    """Probability integral transforms: where outcomes fell in their forecasts.

    The PIT values of a calibrated forecast are uniform. ``kind="histogram"`` shows which parts of
    the forecasts received too many outcomes: a U means forecasts that are too narrow, a hump
    forecasts that are too wide, a slope a bias. ``kind="difference"`` shows the calibration curve
    minus the diagonal, where small deviations are easier to see. Chance explains what lies inside
    the band, for all bins (binomial intervals, Bonferroni) or for the whole curve together.

    Make one with `from_predictions` or `from_estimator`, or from results of
    `trueline.pit_histogram` or `trueline.pit_difference`. The last of several forecasts has the
    plainest line.

    Parameters
    ----------
    results : PITHistogram or PITDifference, or mapping of names to either
    name : str, optional
        Name of a single result.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict of matplotlib StepPatch or Line2D
        The histograms or curves by name.
    line_ : matplotlib StepPatch or Line2D
        The last of them.
    reference_ : matplotlib Line2D or None
        Perfect calibration; None if the axes had it before.
    band_ : matplotlib PolyCollection or None
        That of the last forecast.
    legend_ : matplotlib Legend or None

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> display = tl.PITDisplay.from_predictions(y, tl.Normal(np.zeros(1000), 0.5), bins=5)
    >>> display.results["forecast"].inside
    False
    """

    ax_: Axes
    figure_: Figure
    lines_: dict[str, StepPatch | Line2D]
    line_: StepPatch | Line2D
    reference_: Line2D | None
    band_: PolyCollection | None
    legend_: Legend | None

    def __init__(self, results: Result | Mapping[str, Result], *, name: str | None = None) -> None:
        self.results = _of_one_kind(results, name)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        dist: Forecasts,
        *,
        kind: Kind = "histogram",
        bins: int = 20,
        sample_weight: ArrayLike | None = None,
        confidence: float = 0.95,
        n_fit: float | Mapping[str, float] | None = None,
        random_state: RandomState = 0,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the PIT values of forecasts.

        Parameters
        ----------
        y : (n,) array-like
            Outcomes.
        dist : Distribution or mapping of names to Distribution
            The n forecasts of one model or of several.
        kind : {"histogram", "difference"}, default "histogram"
        bins : int, default 20
            Number of bins of the histogram.
        sample_weight : (n,) array-like, optional
            Weights of the rows.
        confidence : float, default 0.95
            Probability of the band.
        n_fit : float or mapping of names to float, optional
            Number of rows that a recalibrator was fitted on, which widens the band; by default as
            each forecast knows it.
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
        compute: Callable[..., Result]
        if kind == "histogram":
            compute, options["bins"] = pit_histogram, bins
        elif kind == "difference":
            compute = pit_difference
        else:
            raise ValueError(f'kind is {kind!r}; expected "histogram" or "difference".')
        found = {
            key: compute(y, forecast, n_fit=rows.get(key), **options)
            for key, forecast in forecasts.items()
        }
        return cls(found).plot(ax, **kwargs)

    def plot(
        self, ax: Axes | None = None, *, band: bool = True, legend: bool = True, **kwargs: Any
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax, band, legend
            The same as in `CalibrationDisplay.plot`.
        **kwargs : dict
            For the lines, as in `matplotlib.axes.Axes.stairs` or `matplotlib.axes.Axes.plot`.
        """
        self.ax_, self.figure_ = ax, _ = _style.axes_and_figure(ax, type(self).__name__, (6.0, 4.0))
        self.reference_, self.band_, self.legend_ = None, None, None
        looks = _style.looks(ax, len(self.results))
        name, last = list(self.results.items())[-1]
        if not _style.has_reference(ax):
            label = band_label(self.results, name, last.confidence)
            self._draw_reference(ax, last, label if band else None)
        self.lines_ = {}
        for (key, result), look in zip(self.results.items(), looks, strict=True):
            style = {"label": key, **look.line(), **kwargs}
            self.lines_[key] = self.line_ = _style.mark(_draw(ax, result, style))
        _limits(ax, last)
        if legend:
            self.legend_ = _style.legend(ax, columns=3)
        return self

    def _draw_reference(self, ax: Axes, result: Result, label: str | None) -> None:
        if isinstance(result, PITHistogram):
            x, step, level = result.edges, "post", 1.0
            lower, upper = (np.append(a, a[-1]) for a in (result.lower, result.upper))
            y_label = "density"
        else:
            x, step, level, lower, upper = result.levels, None, 0.0, result.lower, result.upper
            y_label = "observed − expected"
        if label is not None:
            self.band_ = _style.band(ax, x, lower, upper, label, step)
        self.reference_ = _style.reference(ax, [0.0, 1.0], [level, level])
        ax.set(xlim=(0.0, 1.0), xticks=np.arange(6) / 5)
        _style.label_axes(ax, "where the outcome fell in its forecast (PIT)", y_label)
        _style.tidy(ax)


def _of_one_kind(given: Any, name: str | None) -> dict[str, Result]:
    found: dict[str, Result] = results(given, (PITHistogram, PITDifference), name)
    if len({type(result) for result in found.values()}) > 1:
        raise TypeError(
            "results hold a PITHistogram and a PITDifference; expected all of one kind, because "
            "they do not share an axis."
        )
    return found


def _draw(ax: Axes, result: Result, style: dict[str, Any]) -> StepPatch | Line2D:
    if isinstance(result, PITDifference):
        return ax.plot(result.levels, result.difference, **style, zorder=3)[0]
    return ax.stairs(result.density, result.edges, baseline=None, **style, zorder=3)


def _limits(ax: Axes, result: Result) -> None:
    """Include zero; show as much above it as below if values may be negative."""
    ax.relim()
    ax.autoscale_view(scalex=False)
    if isinstance(result, PITHistogram):
        ax.set_ylim(0.0, 1.04 * ax.get_ylim()[1])
        return
    bound = float(np.abs(ax.get_ylim()).max())
    ax.set_ylim(-bound, bound)
