"""The fitted map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from trueline._validation import FloatArray
from trueline.displays import _style
from trueline.displays._forecasts import name_of_model, results
from trueline.interop import ForecastLike
from trueline.metrics import RecalibrationMap, recalibration_map
from trueline.recalibration import Recalibrator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

Axis = Literal["score", "probability"]

# More knots would look like a thick line.
_MOST_KNOTS = 40

_SCORES = {
    "standardised": "(outcome − forecast) / scale",
    "residual": "outcome − forecast",
    "normal score": "normal score of the probability before",
}


class RecalibrationDisplay:
    """The fitted map R from scores of outcomes to probabilities.

    The map passes through its knots, of which at most 40 are drawn; beyond the outermost
    calibration rows it continues with a tail, a thin line. The grey line is a map that changes
    nothing: where R is flatter, the forecasts were too narrow. With ``x="probability"`` the x axis
    is the probability that the forecast gave, as in the paper, and the grey line is the diagonal.

    Make one with `from_recalibrator` or `from_estimator`, or from results of
    `trueline.recalibration_map`.

    Parameters
    ----------
    maps : RecalibrationMap or mapping of names to RecalibrationMap
        They must have the same kind of score.
    name : str, optional
        Name of a single map.
    unit : str, optional
        Unit of residuals.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict of matplotlib Line2D
        The maps by name.
    line_ : matplotlib Line2D
        The last of them.
    tails_ : dict of matplotlib Line2D
        Their tails; a single line with a gap.
    knots_ : dict of matplotlib Line2D
        Their knots, for maps that have some.
    reference_ : matplotlib Line2D or None
        The map that changes nothing; None if the axes had it before, or if the forecast has no
        probabilities.
    legend_ : matplotlib Legend or None

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> R = tl.Isotonic().fit(y, tl.Normal(np.zeros(1000), 0.5))
    >>> display = tl.RecalibrationDisplay.from_recalibrator(R)
    >>> display.maps["Isotonic"].n_knots
    1000
    """

    ax_: Axes
    figure_: Figure
    lines_: dict[str, Line2D]
    line_: Line2D
    tails_: dict[str, Line2D]
    knots_: dict[str, Line2D]
    reference_: Line2D | None
    legend_: Legend | None

    def __init__(
        self,
        maps: RecalibrationMap | Mapping[str, RecalibrationMap],
        *,
        name: str | None = None,
        unit: str | None = None,
    ) -> None:
        self.maps = results(maps, (RecalibrationMap,), name)
        kinds = sorted({m.kind for m in self.maps.values()})
        if len(kinds) > 1:
            raise ValueError(
                f"maps are of different scores ({' and '.join(kinds)}); expected one kind, because "
                f"they do not share an axis."
            )
        self.kind = kinds[0]
        self.unit = unit

    @classmethod
    def from_recalibrator(
        cls,
        recalibrator: Recalibrator | Mapping[str, Recalibrator],
        *,
        groups: Iterable[Any] | None = None,
        dist: ForecastLike | None = None,
        name: str | None = None,
        unit: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw fitted maps.

        Parameters
        ----------
        recalibrator : Recalibrator or mapping of names to Recalibrator
            Fitted; any but `Conditional`, whose map differs from row to row.
        groups : iterable, optional
            Groups of a `Grouped` whose maps to draw, beside the pooled one.
        dist : Distribution, or what `as_distribution` takes, optional
            A forecast of the kind that the map was fitted on; its first row gives the
            probabilities before. By default standardised scores are those of a `Normal`.
        name : str, optional
            Name of a single map, that of the class by default.
        unit : str, optional
            Unit of residuals.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs : dict
            For `plot`.
        """
        _style.require_matplotlib(f"{cls.__name__}.from_recalibrator")
        if isinstance(recalibrator, Mapping):
            maps = {key: recalibration_map(r, dist=dist) for key, r in recalibrator.items()}
            if groups is not None:
                raise ValueError(
                    "groups are of one Grouped map; expected one, not several by name."
                )
            return cls(maps, name=name, unit=unit).plot(ax, **kwargs)
        key = name_of_model(recalibrator, name)
        maps = {key: recalibration_map(recalibrator, dist=dist)}
        if groups is not None:
            by_group = {
                str(group): recalibration_map(recalibrator, group=group, dist=dist)
                for group in groups
            }
            maps = {**by_group, "all groups": maps[key]}
        return cls(maps, unit=unit).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,  # noqa: ARG003
        y: Any = None,  # noqa: ARG003
        *,
        name: str | None = None,
        unit: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the map of a fitted `CalibratedRegressor`, or with ``ensemble=True`` its maps.

        Parameters
        ----------
        estimator : CalibratedRegressor
        X, y : object, optional
            Not used, present for consistency with other displays.
        name, unit, ax, **kwargs
            As in `from_recalibrator`.
        """
        _style.require_matplotlib(f"{cls.__name__}.from_estimator")
        several = getattr(estimator, "recalibrators_", None)
        if several is not None:
            given = {f"fold {i}": r for i, r in enumerate(several, 1)}
            return cls.from_recalibrator(given, name=name, unit=unit, ax=ax, **kwargs)
        if not hasattr(estimator, "recalibrator_"):
            raise TypeError(
                f"estimator is of type {type(estimator).__name__} and has no recalibrator_; "
                f"expected a CalibratedRegressor after fit(X, y)."
            )
        return cls.from_recalibrator(estimator.recalibrator_, name=name, unit=unit, ax=ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        x: Axis = "score",
        knots: bool = True,
        legend: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        x : {"score", "probability"}, default "score"
            Whether the x axis shows the score or the probability that the forecast gave.
        knots : bool, default True
            Whether to draw the knots.
        legend : bool, default True
            Whether to draw the legend.
        **kwargs : dict
            For the lines, as in `matplotlib.axes.Axes.plot`.
        """
        self._check_axis(x)
        self.ax_, self.figure_ = ax, _ = _style.axes_and_figure(ax, type(self).__name__, (6.0, 4.5))
        self.reference_, self.legend_ = None, None
        self.lines_, self.tails_, self.knots_ = {}, {}, {}
        looks = _style.looks(ax, len(self.maps))
        if not _style.has_reference(ax):
            self._draw_reference(ax, x)
        for (key, found), look in zip(self.maps.items(), looks, strict=True):
            self._draw_map(ax, x, key, found, look, kwargs)
            if knots and found.n_knots:
                self._draw_knots(ax, x, key, found, look)
        if legend:
            self.legend_ = _style.legend(ax)
        return self

    def _check_axis(self, x: str) -> None:
        if x not in ("score", "probability"):
            raise ValueError(f'x is {x!r}; expected "score" or "probability".')
        if x == "probability" and self.kind == "residual":
            raise ValueError(
                'x is "probability", but the map was fitted on residuals of a Point, which gives '
                'no probabilities; expected "score".'
            )

    def _draw_reference(self, ax: Axes, x: Axis) -> None:
        found = max(self.maps.values(), key=lambda m: np.ptp(m.scores))
        base = found.base_probabilities
        if base is not None:
            across = base if x == "probability" else found.scores
            self.reference_ = _style.reference(ax, across, base, label="no change")
        label = _SCORES.get(self.kind, "score")
        label = _style.with_unit(label, self.unit if self.kind == "residual" else None)
        label = "probability before" if x == "probability" else label
        _style.label_axes(ax, label, "probability after")
        ax.set_ylim(-0.02, 1.02)
        if x == "probability":
            ax.set_xlim(-0.02, 1.02)
        _style.tidy(ax)

    def _draw_map(
        self,
        ax: Axes,
        x: Axis,
        key: str,
        found: RecalibrationMap,
        look: _style.Look,
        kwargs: dict[str, Any],
    ) -> None:
        across = _across(x, found.scores, found.base_probabilities)
        low, high = found.supported
        p = found.probabilities
        tail = (p < low) | (p > high)
        style = {"label": key, **look.line(), **kwargs}
        line = ax.plot(across[~tail], p[~tail], **style, zorder=3)[0]
        self.lines_[key] = self.line_ = _style.mark(line)
        # One more point on either side joins the tail to the map.
        joined = tail | np.append(tail[1:], False) | np.insert(tail[:-1], 0, False)
        thin = {"color": style["color"], "linewidth": 0.9, "linestyle": ":"}
        self.tails_[key] = ax.plot(across, np.where(joined, p, np.nan), **thin, zorder=2.5)[0]

    def _draw_knots(
        self, ax: Axes, x: Axis, key: str, found: RecalibrationMap, look: _style.Look
    ) -> None:
        size = found.knots.size
        kept = np.linspace(0, size - 1, min(size, _MOST_KNOTS)).astype(int)
        across = _across(x, found.knots, found.knot_base_probabilities)[kept]
        style = {**look.marked_line(ax.get_facecolor()), "linestyle": "none"}
        style |= {"marker": "o", "markersize": 3.2, "markeredgewidth": 0.9}
        style["markerfacecolor"] = ax.get_facecolor()
        few = kept.size == found.n_knots
        shown = f"{found.n_knots:,}" if few else f"{kept.size} of {found.n_knots:,}"
        label = f"knots, {shown}" if len(self.maps) == 1 else None
        line = ax.plot(across, found.knot_probabilities[kept], **style, label=label, zorder=3.5)
        self.knots_[key] = line[0]


def _across(x: Axis, scores: FloatArray, base: FloatArray | None) -> FloatArray:
    """Return the x coordinates of a map."""
    return base if x == "probability" and base is not None else scores
