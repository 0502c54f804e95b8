"""Widths of intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from trueline.displays import _style
from trueline.displays._forecasts import Forecasts, FromPredictions, each, named, own_name, results
from trueline.metrics import Widths, coverage as coverage_of, interval_widths

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import StepPatch
    from matplotlib.text import Text

# Height of a histogram, as a share of the height of a row.
_HEIGHT = 0.6
# Height of the text below it, in points.
_TEXT = 20.0
# Names take up at most this share of the axes.
_NAMES = 0.4


class SharpnessDisplay(FromPredictions):
    """Widths of the intervals of forecasts, one row of the picture per forecast.

    Each row has the histogram of the widths, scaled to the same height, with a bar from the 5th
    to the 95th percentile and a mark at the mean. Narrow intervals are better only if they hold:
    with outcomes, their coverage is written beside the mean width.

    Make one with `from_predictions` or `from_estimator`, or from results of
    `trueline.interval_widths`.

    Parameters
    ----------
    widths : Widths or mapping of names to Widths
        They must have the same coverage.
    name : str, optional
        Name of a single forecast.
    held : mapping of names to float, optional
        Coverage of the intervals.
    y_name, unit : str, optional
        Name and unit of the outcome, for the label.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    histograms_ : dict of matplotlib StepPatch
        The histograms by name.
    bars_ : dict of matplotlib Line2D
        Bars from the 5th to the 95th percentile.
    marks_ : dict of matplotlib Line2D
        Marks at the means.
    texts_ : dict of matplotlib Text
        Texts below the marks.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> y, scale = rng.normal(size=10_000), np.linspace(0.45, 0.55, 10_000)
    >>> F, G = tl.Normal(np.zeros(10_000), scale), tl.Normal(np.zeros(10_000), 2 * scale)
    >>> display = tl.SharpnessDisplay.from_predictions(y, {"before": F, "after": G})
    >>> display.texts_["after"].get_text()
    'mean 3.29, holds 90%'
    """

    ax_: Axes
    figure_: Figure
    histograms_: dict[str, StepPatch]
    bars_: dict[str, Line2D]
    marks_: dict[str, Line2D]
    texts_: dict[str, Text]

    def __init__(
        self,
        widths: Widths | Mapping[str, Widths],
        *,
        name: str | None = None,
        held: Mapping[str, float] | None = None,
        y_name: str | None = None,
        unit: str | None = None,
    ) -> None:
        self.widths = results(widths, (Widths,), name)
        coverages = {w.coverage for w in self.widths.values()}
        if len(coverages) > 1:
            raise ValueError(
                f"widths are of intervals with coverages {sorted(coverages)}; expected one "
                f"coverage, or the widths do not compare."
            )
        self.coverage = coverages.pop()
        self.held = {} if held is None else dict(held)
        self.y_name = y_name
        self.unit = unit

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike | None,
        dist: Forecasts,
        *,
        coverage: float = 0.9,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        y_name: str | None = None,
        unit: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the widths of the intervals of forecasts.

        Parameters
        ----------
        y : (n,) array-like or None
            Outcomes; None if there are none yet.
        dist : Distribution, or what `as_distribution` takes, or mapping of names to these
            The n forecasts of one model or of several.
        coverage : float, default 0.9
            Probability of the intervals.
        sample_weight : (n,) array-like, optional
            Weights of the rows.
        name : str, optional
            Name of a single forecast.
        y_name, unit : str, optional
            Name and unit of the outcome; by default the name of the series `y`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs : dict
            For `plot`.
        """
        _style.require_matplotlib(f"{cls.__name__}.from_predictions")
        forecasts = named(dist, name, y)
        held = None
        if y is not None:
            held = each(
                forecasts, lambda dist: coverage_of(y, dist, coverage, sample_weight=sample_weight)
            )
        widths = each(
            forecasts, lambda dist: interval_widths(dist, coverage, sample_weight=sample_weight)
        )
        y_name = own_name(y) if y_name is None else y_name
        return cls(widths, held=held, y_name=y_name, unit=unit).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default. They should be empty.
        **kwargs : dict
            For the histograms, as in `matplotlib.axes.Axes.stairs`.
        """
        count = len(self.widths)
        size = (6.0, 1.2 + 0.9 * count)
        self.ax_, self.figure_ = ax, _ = _style.axes_and_figure(ax, type(self).__name__, size)
        self.histograms_, self.bars_, self.marks_, self.texts_ = {}, {}, {}, {}
        looks = _style.looks(ax, count)
        for row, (key, look) in enumerate(zip(self.widths, looks, strict=True)):
            self._draw_row(ax, count - 1 - row, key, look, kwargs)
        room = _NAMES * _style.width_in_points(ax)
        names = [_style.fitted(key, room, "medium") for key in self.widths]
        ax.set_yticks(np.arange(count)[::-1], names)
        ax.tick_params(axis="y", length=0)
        _style.label_axes(ax, self._label())
        ax.set_ylim(-_TEXT * count / _style.height_in_points(ax), count - 1.0 + 1.1 * _HEIGHT)
        ax.set_xlim(0.0, self._right_end())
        # The layout will make the axes narrower by their names.
        room = _style.width_in_points(ax) - max(_style.text_width(name, "medium") for name in names)
        for row, key in enumerate(self.widths):
            self._write(ax, count - 1 - row, key, room)
        _style.tidy(ax)
        ax.spines["left"].set_visible(False)
        return self

    def _label(self) -> str:
        what = f"width of {_style.percent(self.coverage)} intervals"
        return _style.with_unit(f"{what} of {self.y_name}" if self.y_name else what, self.unit)

    def _draw_row(
        self, ax: Axes, base: int, key: str, look: _style.Look, kwargs: dict[str, Any]
    ) -> None:
        widths = self.widths[key]
        peak = widths.density.max()
        heights = base + _HEIGHT * widths.density / (peak if peak > 0 else 1.0)
        alpha = _style.opacity(ax, 0.35)
        style = {"color": look.color, "alpha": alpha, "fill": True, "linewidth": 0.0, **kwargs}
        histogram = ax.stairs(heights, widths.edges, baseline=float(base), **style)
        self.histograms_[key] = _style.mark(histogram)
        ends = widths.quantiles[[5, 95]]
        bar: dict[str, Any] = {"color": look.color, "linewidth": 2.5, "solid_capstyle": "butt"}
        self.bars_[key] = ax.plot(ends, [base, base], **bar)[0]
        mean: dict[str, Any] = {
            **look.marked_line(ax.get_facecolor()),
            "linestyle": "none",
            "markersize": 7.0,
        }
        self.marks_[key] = ax.plot([widths.mean], [base], **mean, zorder=4)[0]

    def _write(self, ax: Axes, base: int, key: str, room: float) -> None:
        """Write the text below the mark, within the axes."""
        widths = self.widths[key]
        text = f"mean {widths.mean:.3g}"
        if key in self.held:
            text += f", holds {self.held[key]:.0%}"
        at = widths.mean if np.isfinite(widths.mean) else widths.quantiles[50]
        across, half = at / ax.get_xlim()[1], 0.5 * _style.text_width(text) / room
        side = "center"
        if not half < across < 1.0 - half:
            across, side = (0.0, "left") if across < 0.5 else (1.0, "right")
        self.texts_[key] = ax.annotate(
            text,
            (float(across), base),
            xycoords=("axes fraction", "data"),
            xytext=({"left": 2.0, "center": 0.0, "right": -2.0}[side], -6.0),
            textcoords="offset points",
            ha=side,
            va="top",
            fontsize="small",
        )

    def _right_end(self) -> float:
        """Return the right end of the x axis, a little beyond all that is drawn."""
        ends = [w.edges[-1] for w in self.widths.values()]
        means = [w.mean for w in self.widths.values() if np.isfinite(w.mean)]
        return 1.05 * float(max(ends + means))
