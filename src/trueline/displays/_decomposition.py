"""Miscalibration and discrimination of several forecasts side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from trueline.decompositions import CrpsDecomposition, crps_decomposition
from trueline.displays import _style
from trueline.displays._forecasts import Forecasts, FromPredictions, each, named, results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Number of lines of equal CRPS, about, and what stays free around points, as a share of their range
# and, at least, of the uncertainty.
_LINES, _FREE, _LEAST = 6, 0.15, 0.05


class DecompositionDisplay(FromPredictions):
    """Where the CRPS of forecasts comes from: one point per forecast.

    Miscalibration, what a recalibrator could repair, is to the right, and discrimination, what a
    model knows about the outcomes, is upwards. Grey lines hold points of equal CRPS, which is
    lower towards the upper left. See `trueline.crps_decomposition`.

    Make one with `from_predictions` or `from_estimator`, or from results of
    `trueline.crps_decomposition`.

    Parameters
    ----------
    parts : CrpsDecomposition or mapping of names to CrpsDecomposition
        Of the same outcomes, so that their uncertainty is the same.
    name : str, optional
        Name of a single forecast.
    unit : str, optional
        Unit of the outcome, for the labels.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : dict of matplotlib Line2D
        The points by name; a forecast without a finite CRPS has none.
    lines_ : dict of matplotlib Line2D
        Lines of equal CRPS, by its value.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 500))
    >>> forecasts = {"right": tl.Normal(x, 1.0), "too sure": tl.Normal(x, 0.2)}
    >>> display = tl.DecompositionDisplay.from_predictions(x + noise, forecasts)
    >>> list(display.points_)
    ['right', 'too sure']
    """

    ax_: Axes
    figure_: Figure
    points_: dict[str, Line2D]
    lines_: dict[float, Line2D]

    def __init__(
        self,
        parts: CrpsDecomposition | Mapping[str, CrpsDecomposition],
        *,
        name: str | None = None,
        unit: str | None = None,
    ) -> None:
        self.parts = results(parts, (CrpsDecomposition,), name)
        known = [part.uncertainty for part in self.parts.values()]
        if not np.allclose(known, known[0], rtol=1e-9, atol=0.0):
            raise ValueError(
                f"parts have an uncertainty of {min(known):g} to {max(known):g}; expected one "
                f"number, because only forecasts of the same outcomes compare."
            )
        self.unit = unit

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        dist: Forecasts,
        *,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        unit: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Split the CRPS of forecasts and draw its parts.

        Parameters
        ----------
        y : (n,) array-like
            Outcomes.
        dist : Distribution, or what `as_distribution` takes, or mapping of names to these
            The n forecasts of one model or of several.
        sample_weight : (n,) array-like, optional
            Weights of the rows.
        name : str, optional
            Name of a single forecast.
        unit : str, optional
            Unit of the outcome.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs : dict
            For `plot`.
        """
        _style.require_matplotlib(f"{cls.__name__}.from_predictions")
        parts = each(
            named(dist, name, y),
            lambda forecast: crps_decomposition(y, forecast, sample_weight=sample_weight),
        )
        return cls(parts, unit=unit).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default. They should be empty.
        **kwargs : dict
            For the points, as in `matplotlib.axes.Axes.plot`.
        """
        self.ax_, self.figure_ = ax, _ = _style.axes_and_figure(ax, type(self).__name__, (6.0, 4.8))
        self.points_, self.lines_ = {}, {}
        looks = _style.looks(ax, len(self.parts))
        for (name, part), look in zip(self.parts.items(), looks, strict=True):
            if not np.isfinite(part.crps):
                continue
            style = look.marked_line(ax.get_facecolor()) | {"linestyle": "none", "markersize": 8.0}
            at = [part.miscalibration], [part.discrimination]
            label = f"{name}: CRPS {part.crps:.4g}"
            self.points_[name] = ax.plot(*at, label=label, zorder=4, **style | kwargs)[0]
        self._draw_lines(ax)
        what = ("miscalibration", "discrimination")
        _style.label_axes(ax, *(_style.with_unit(label, self.unit) for label in what))
        _style.tidy(ax)
        if self.points_:
            _style.legend(ax)
        return self

    def _draw_lines(self, ax: Axes) -> None:
        """Draw lines of equal CRPS through the room of the points."""
        from matplotlib.ticker import MaxNLocator

        finite = [part for part in self.parts.values() if np.isfinite(part.crps)]
        if not finite:
            return
        uncertainty = finite[0].uncertainty
        least = _LEAST * uncertainty
        x = _room([part.miscalibration for part in finite], least)
        y = _room([part.discrimination for part in finite], least)
        low, high = uncertainty + x[0] - y[1], uncertainty + x[1] - y[0]
        for value in MaxNLocator(_LINES).tick_values(low, high):
            if not low < value < high:
                continue
            # Discrimination is miscalibration plus uncertainty less the CRPS.
            ends = np.array(
                [max(x[0], y[0] + value - uncertainty), min(x[1], y[1] + value - uncertainty)]
            )
            line = ax.plot(ends, ends + uncertainty - value, color=_style.MUTED, linewidth=0.8)[0]
            line.set(zorder=1.5, alpha=_style.opacity(ax, 0.6))
            self.lines_[float(value)] = _style.mark(line)
            ax.annotate(
                f"{value:.4g}",
                (ends[1], ends[1] + uncertainty - value),
                xytext=(-2.0, -2.0),
                textcoords="offset points",
                ha="right",
                va="top",
                fontsize="x-small",
                color=_style.MUTED,
            )
        ax.set_xlim(*x)
        ax.set_ylim(*y)


def _room(values: list[float], least: float) -> tuple[float, float]:
    """Return a range with some room on both sides of values, at least this much."""
    low, high = min(values), max(values)
    free = max(_FREE * (high - low), least)
    return low - free, high + free
