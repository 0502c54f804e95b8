"""Coverage by region of the feature space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from trueline._messages import count
from trueline._validation import RandomState
from trueline.displays import _style
from trueline.displays._forecasts import one
from trueline.interop import ForecastLike, read_forecast
from trueline.metrics import ConditionalCoverage, conditional_coverage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Height of a region, and of the rest of a new figure, in inches.
_REGION, _REST = 0.55, 1.0
# Words of a region take up at most this share of the axes in each of two lines.
_WORDS = 0.55
# Regions lower than this, in points, have no room for their number of rows.
_LOWEST = 32.0
# Number of standard errors to each side, and height of the grey bars as a share of a region.
_ERRORS, _BAND = 2.0, 0.5


class RegionDisplay:
    """Where intervals hold and where not: coverage by region of the feature space.

    There is one row per region, the lowest coverage first, with its words and its number of rows. A
    dot is the share of outcomes inside their interval, with a line of two standard errors to
    each side, and open if chance explains it. The grey bar is what chance explains, for all
    regions together. The vertical line is the target.

    Make one with `from_predictions` or `from_estimator`, or from a result of
    `trueline.conditional_coverage`.

    Parameters
    ----------
    result : ConditionalCoverage

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : list of matplotlib Line2D
        The dot of each region, in the order of ``result.regions``.
    bands_ : BarContainer
        What chance explains, in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(size=4000)
    >>> y = rng.normal(size=4000) * np.where(x < 0.5, 1.0, 2.0)
    >>> display = tl.RegionDisplay.from_predictions(y, tl.Normal(np.zeros(4000), 1.5), x)
    >>> [region.verdict.decision for region in display.result.regions]
    ['too narrow', 'too wide']
    """

    ax_: Axes
    figure_: Figure
    points_: list[Line2D]
    bands_: BarContainer

    def __init__(self, result: ConditionalCoverage) -> None:
        if not isinstance(result, ConditionalCoverage):
            raise TypeError(
                f"result is of type {type(result).__name__}; expected a ConditionalCoverage, the "
                f"result of trueline.conditional_coverage. From outcomes and forecasts use "
                f"from_predictions(y, dist, X)."
            )
        self.result = result

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        dist: ForecastLike,
        X: Any,
        *,
        coverage: float = 0.9,
        sample_weight: ArrayLike | None = None,
        n_fit: float | None = None,
        random_state: RandomState = 0,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Find regions and draw their coverage.

        Parameters
        ----------
        y, dist, X, coverage, sample_weight, n_fit, random_state
            The same as in `trueline.conditional_coverage`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs : dict
            For `plot`.
        """
        _style.require_matplotlib(f"{cls.__name__}.from_predictions")
        found = conditional_coverage(
            y,
            one(dist, y),
            X,
            coverage,
            sample_weight=sample_weight,
            n_fit=n_fit,
            random_state=random_state,
        )
        return cls(found).plot(ax, **kwargs)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: ArrayLike, **kwargs: Any) -> Self:
        """Draw the coverage of a fitted model, by region of its features.

        Parameters
        ----------
        estimator : fitted regressor
            Its uncertainty is read as `CalibratedRegressor` reads it.
        X : (n, d) array-like
            Features of rows that the model has not seen.
        y : (n,) array-like
            Outcomes of these rows.
        **kwargs : dict
            Options of `from_predictions`.
        """
        _style.require_matplotlib(f"{cls.__name__}.from_estimator")
        return cls.from_predictions(y, read_forecast(estimator, X), X, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default. They should be empty.
        **kwargs : dict
            For the dots, as in `matplotlib.axes.Axes.plot`.
        """
        regions, target = self.result.regions, self.result.coverage_target
        size = (7.5, _REST + _REGION * len(regions))
        self.ax_, self.figure_ = ax, _ = _style.axes_and_figure(ax, type(self).__name__, size)
        places = np.arange(len(regions))[::-1]
        room = _WORDS * _style.width_in_points(ax)
        rules = [_style.fitted(r.rule, room) for r in regions]
        if _style.height_in_points(ax) > _LOWEST * len(regions):
            rows = [count(r.n, "row") for r in regions]
            rules = [f"{rule}\n{number}" for rule, number in zip(rules, rows, strict=True)]
        ax.set_yticks(places, rules, fontsize="small")
        ax.set_ylim(-0.6, len(regions) - 0.4)
        color = _style.looks(ax, 1)[0].color
        low = np.array([r.verdict.low for r in regions])
        high = np.array([r.verdict.high for r in regions])
        grey: dict[str, Any] = {"color": _style.MUTED, "linewidth": 0.0, "height": _BAND}
        self.bands_ = ax.barh(places, high - low, left=low, alpha=_style.opacity(ax, 0.25), **grey)
        _style.mark(ax.axvline(target, color=_style.MUTED, linewidth=1.0, zorder=1.5))
        self.points_ = []
        for place, r in zip(places, regions, strict=True):
            reach = _ERRORS * r.standard_error
            ends = np.clip([r.coverage - reach, r.coverage + reach], 0.0, 1.0)
            ax.plot(ends, [place, place], color=color, linewidth=2.0, solid_capstyle="butt")
            face = color if r.verdict.off else ax.get_facecolor()
            style: dict[str, Any] = {"markeredgecolor": color, "markerfacecolor": face}
            style |= {"marker": "o", "markersize": 7.0, "markeredgewidth": 1.6, "zorder": 4}
            self.points_ += ax.plot([r.coverage], [place], linestyle="none", **style | kwargs)
        ax.use_sticky_edges = False
        ax.margins(x=0.05)
        ax.xaxis.set_major_formatter(lambda share, _: _style.percent(share))
        text = f"coverage of {_style.percent(target)} intervals (grey: explained by chance)"
        _style.label_axes(ax, text)
        _style.tidy(ax)
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        return self
