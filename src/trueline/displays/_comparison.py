"""CRPS and coverage of several forecasts of the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import RandomState
from trueline.comparison import Comparison, compare
from trueline.displays import _style
from trueline.displays._forecasts import Forecasts, FromPredictions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Height of a row, and of the rest of a new figure, in inches.
_ROW, _REST = 0.36, 1.0
# Names take up at most this share of the axes.
_NAMES = 0.3
# Axes narrower than this, in points, are not parted. Otherwise: the widths of both parts, and the
# distance between them as a share of their mean.
_NARROW, _RATIO, _GAP = 360.0, (1.6, 1.0), 0.08
# Height of the grey bars, as a share of a row.
_BAND = 0.56


class ComparisonDisplay(FromPredictions):
    """Which of several forecasts is best: differences of the CRPS, and coverage of intervals.

    There is one row per forecast, the best one first. A dot on the left is the CRPS of a forecast
    minus that of the best, with a bar of as many standard errors as make a difference clear: chance
    explains a difference whose bar reaches 0, and its dot is open. Clearly worse forecasts are
    grey. A dot on the right is the
    share of outcomes inside the intervals, and the grey bar is what chance explains. On narrow
    axes, and on axes without a place in a grid of subplots, only the left half is drawn.

    Make one with `from_predictions` or `from_estimator`, or from a result of `trueline.compare`.

    Parameters
    ----------
    comparison : Comparison
    unit : str, optional
        Unit of the outcome, for the label.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    coverage_ax_ : matplotlib Axes or None
        The axes on the right, which take a part of the room of `ax_`.
    points_, bars_ : dict of matplotlib Line2D
        Differences of the CRPS, and their bars, by name; the best forecast has no bar, and one
        without a finite CRPS has neither.
    coverage_points_ : dict of matplotlib Line2D
        Coverage by name; empty without axes on the right.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y, loc = np.random.default_rng(0).normal(size=1000), np.zeros(1000)
    >>> forecasts = {"narrow": tl.Normal(loc, 0.5), "right": tl.Normal(loc, 1.0)}
    >>> display = tl.ComparisonDisplay.from_predictions(y, forecasts)
    >>> display.comparison.winner
    'right'
    """

    ax_: Axes
    figure_: Figure
    coverage_ax_: Axes | None
    points_: dict[str, Line2D]
    bars_: dict[str, Line2D]
    coverage_points_: dict[str, Line2D]

    def __init__(self, comparison: Comparison, *, unit: str | None = None) -> None:
        if not isinstance(comparison, Comparison):
            raise TypeError(
                f"comparison is of type {type(comparison).__name__}; expected a Comparison, the "
                f"result of trueline.compare. From outcomes and forecasts use "
                f"from_predictions(y, forecasts)."
            )
        self.comparison = comparison
        self.unit = unit

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        dist: Forecasts,
        *,
        coverage: float = 0.9,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        n_fit: float | Mapping[str, float] | None = None,
        random_state: RandomState = 0,
        unit: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Compare forecasts and draw the result.

        Parameters
        ----------
        y : (n,) array-like
            Outcomes.
        dist : mapping of names to Distribution
            The n forecasts of each of two or more models.
        coverage, sample_weight, groups, n_fit, random_state
            The same as in `trueline.compare`.
        unit : str, optional
            Unit of the outcome.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs : dict
            For `plot`.
        """
        _style.require_matplotlib(f"{cls.__name__}.from_predictions")
        found = compare(
            y,
            cast("Mapping[str, Any]", dist),  # which `compare` checks
            coverage=coverage,
            sample_weight=sample_weight,
            groups=groups,
            n_fit=n_fit,
            random_state=random_state,
        )
        return cls(found, unit=unit).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default. They should be empty.
        **kwargs : dict
            For the dots, as in `matplotlib.axes.Axes.plot`.
        """
        names = list(self.comparison.evaluations)
        size = (7.5, _REST + _ROW * len(names))
        self.ax_, self.figure_ = ax, _ = _style.axes_and_figure(ax, type(self).__name__, size)
        room = _NAMES * _style.width_in_points(ax)
        self.coverage_ax_ = _beside(ax)
        labels = [_style.fitted(name, room, "medium") for name in names]
        rows = np.arange(len(names))[::-1]
        ax.set_yticks(rows, labels)
        ax.set_ylim(-0.6, len(names) - 0.4)
        styles = {name: self._style_of(ax, name) | kwargs for name in names}
        places = dict(zip(names, rows.tolist(), strict=True))
        self._draw_differences(ax, places, styles)
        self.coverage_points_ = {}
        if self.coverage_ax_ is not None:
            self._draw_coverage(self.coverage_ax_, places, styles)
        for axes in (ax, self.coverage_ax_):
            if axes is not None:
                _style.tidy(axes)
                axes.spines["left"].set_visible(False)
                axes.tick_params(axis="y", length=0)
        return self

    def _style_of(self, ax: Axes, name: str) -> dict[str, Any]:
        """Keywords of a dot, which is open if tied with the best."""
        found = self.comparison
        worse = name != found.winner and name not in found.tied
        color = _style.MUTED if worse else _style.looks(ax, 1)[0].color
        return {
            "linestyle": "none",
            "marker": "o",
            "markersize": 7.0,
            "markeredgewidth": 1.6,
            "markeredgecolor": color,
            "markerfacecolor": ax.get_facecolor() if name in found.tied else color,
            "zorder": 4,
        }

    def _draw_differences(
        self, ax: Axes, places: dict[str, int], styles: dict[str, dict[str, Any]]
    ) -> None:
        found = self.comparison
        _style.mark(ax.axvline(0.0, color=_style.MUTED, linewidth=1.0, zorder=1.5))
        self.points_, self.bars_ = {}, {}
        best = found.winner
        self.points_[best] = ax.plot([0.0], [places[best]], **styles[best])[0]
        _note(ax, 0.0, places[best], f"CRPS {found.evaluations[best].crps:.4g}")
        for name, difference in found.differences.items():
            row, style = places[name], styles[name]
            if not np.isfinite(difference.mean):
                _note(ax, 0.0, row, "no finite CRPS")
                continue
            reach = found.limit * difference.error
            if np.isfinite(reach):
                ends = [difference.mean - reach, difference.mean + reach]
                bar: dict[str, Any] = {"color": style["markeredgecolor"], "linewidth": 2.0}
                self.bars_[name] = ax.plot(ends, [row, row], solid_capstyle="butt", **bar)[0]
            self.points_[name] = ax.plot([difference.mean], [row], **style)[0]
        ax.margins(x=0.08)
        ax.locator_params(axis="x", nbins=5)
        errors = f"± {found.limit:.2g} standard errors" if np.isfinite(found.limit) else ""
        ax.set_xlabel(f"{_style.with_unit('CRPS above the best', self.unit)}\n{errors}")

    def _draw_coverage(
        self, ax: Axes, places: dict[str, int], styles: dict[str, dict[str, Any]]
    ) -> None:
        target = self.comparison.evaluations[self.comparison.winner].coverage_target
        _style.mark(ax.axvline(target, color=_style.MUTED, linewidth=1.0, zorder=1.5))
        for name, evaluation in self.comparison.evaluations.items():
            row, verdict = places[name], evaluation.verdict.coverage
            if verdict.decision == "no intervals":
                _note(ax, target, row, "no intervals")
                continue
            ax.barh(
                row,
                verdict.high - verdict.low,
                left=verdict.low,
                height=_BAND,
                color=_style.MUTED,
                alpha=_style.opacity(ax, 0.25),
                linewidth=0.0,
            )
            self.coverage_points_[name] = ax.plot([verdict.coverage], [row], **styles[name])[0]
        ax.use_sticky_edges = False
        ax.margins(x=0.08)
        ax.locator_params(axis="x", nbins=4)
        ax.xaxis.set_major_formatter(lambda share, _: _style.percent(share))
        ax.set_xlabel(f"coverage of {_style.percent(target)} intervals\ngrey: explained by chance")


def _beside(ax: Axes) -> Axes | None:
    """Return axes with the same rows on the right, in a part of the room; None if it is small."""
    grid = ax.get_subplotspec()
    if grid is None or _style.width_in_points(ax) < _NARROW:
        return None
    parts = grid.subgridspec(1, 2, width_ratios=_RATIO, wspace=_GAP)
    ax.set_subplotspec(parts[0])
    beside = ax.figure.add_subplot(parts[1], sharey=ax, facecolor=ax.get_facecolor())
    beside.tick_params(labelleft=False)
    return beside


def _note(ax: Axes, x: float, row: int, text: str) -> None:
    """Write a text to the right of a place."""
    ax.annotate(
        text, (x, row), xytext=(8.0, 0.0), textcoords="offset points", va="center", fontsize="small"
    )
