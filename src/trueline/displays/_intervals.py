"""Forecasts, their intervals and outcomes along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._validation import FloatArray, check_count, increasing_levels, same_length, vector
from trueline.displays import _style
from trueline.displays._forecasts import name_of_model, one, own_name
from trueline.distributions import Distribution
from trueline.interop import ForecastLike, read_forecast
from trueline.metrics import check_rows, coverage as coverage_of, interval_misses

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

Kind = Literal["band", "bars"]

_COVERAGE = (0.5, 0.8, 0.9)
# Opacity of the widest and of the narrowest interval.
_PALEST, _STRONGEST = 0.22, 0.65
# Largest and smallest width of bars in points, and their share of the room per row.
_THICKEST, _THINNEST, _SHARE = 5.0, 0.8, 0.55
# Largest number of rows of a band, and the room that each bar needs, in points.
_MOST, _APART = 300, 3.0
# Smallest and largest width of the forecast of a bar, and that in the legend, in points.
_SHORTEST, _LONGEST, _KEY = 2.5, 8.0, 9.0
_SIZE = (8.0, 4.0)
# Smallest and largest marker of a miss, in points.
_SMALLEST, _LARGEST = 5.0, 7.0


class IntervalDisplay:
    """Outcomes, the forecast and its intervals: the paper's Figures 1, 3 and 6.

    The forecast is the predicted median, the intervals are nested, and outcomes outside the widest
    one have a marker of their own. The legend gives the coverage of the widest interval over all
    rows. At most `max_rows` rows are drawn, and the legend says so: the last ones of a series or
    of rows in their given order, otherwise rows evenly spaced in the order of `x`. To draw other
    rows pass them: ``y[a:b], dist[a:b]``.

    Along numbers or dates, which are `x` or the index of `y`, intervals are drawn as a band.
    Otherwise each row has a bar. For a series without dates pass ``kind="band"``.

    Make one with `from_predictions` or `from_estimator`.

    Parameters
    ----------
    x : (k,) array-like
        Numbers or dates, increasing.
    y : (k,) array-like
        Outcomes.
    forecast : (k,) array-like
        Predicted medians.
    lower, upper : (k, m) array-like
        Ends of the intervals.
    coverage : (m,) array-like
        Their probabilities, increasing.
    held : float, optional
        Coverage of the widest interval, by default that of the k rows.
    note : str, optional
        Title of the legend, which says which rows are drawn.
    name : str, optional
        Name of the forecast.
    x_name, y_name, unit : str, optional
        Labels of the axes, and the unit of the outcome.

    Attributes
    ----------
    missed : ndarray of bool, (k,)
        Outcomes outside the widest interval.
    ax_, figure_ : matplotlib Axes and Figure
    intervals_ : list of matplotlib PolyCollection or LineCollection
        From the widest to the narrowest.
    line_ : matplotlib Line2D
        The forecast.
    points_, misses_ : matplotlib Line2D
        Outcomes inside and outside the widest interval.
    legend_ : matplotlib Legend or None

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> loc = np.sin(np.arange(2000) / 20)
    >>> y, F = rng.normal(loc, 1.0), tl.Normal(loc, 0.5)
    >>> display = tl.IntervalDisplay.from_predictions(y, F, max_rows=100, y_name="load", unit="MW")
    >>> len(display.x), display.ax_.get_ylabel()
    (100, 'load (MW)')
    >>> print(f"{display.held:.1f}")
    0.6
    """

    missed: NDArray[np.bool_]
    ax_: Axes
    figure_: Figure
    intervals_: list[PolyCollection | LineCollection]
    line_: Line2D
    points_: Line2D
    misses_: Line2D
    legend_: Legend | None

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        forecast: ArrayLike,
        lower: ArrayLike,
        upper: ArrayLike,
        coverage: ArrayLike,
        *,
        held: float | None = None,
        note: str | None = None,
        name: str | None = None,
        x_name: str | None = None,
        y_name: str | None = None,
        unit: str | None = None,
    ) -> None:
        self.coverage = increasing_levels(coverage, "coverage")
        self.x, self.y = np.asarray(x), np.asarray(y, dtype=np.float64)
        self.forecast = np.asarray(forecast, dtype=np.float64)
        self.lower, self.upper = self._ends(lower, "lower"), self._ends(upper, "upper")
        for key, column in (("x", self.x), ("forecast", self.forecast)):
            same_length(self.y.size, column, key, "y")
        self.missed = interval_misses(self.y, self.lower[:, -1], self.upper[:, -1]) > 0
        self.held = float(1.0 - self.missed.mean()) if held is None else held
        self.note = note
        self.name = name
        self.x_name = x_name
        self.y_name = y_name
        self.unit = unit

    def _ends(self, ends: ArrayLike, name: str) -> FloatArray:
        """Check the ends of intervals, (k, m), or (k,) for one interval."""
        a, shape = np.asarray(ends, dtype=np.float64), (self.y.size, self.coverage.size)
        if a.size != self.y.size * self.coverage.size or a.shape[0] != self.y.size:
            raise ValueError(
                f"{name} has shape {a.shape}; expected {shape}, one row per outcome and one column "
                f"per coverage."
            )
        return a.reshape(shape)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        dist: ForecastLike,
        x: ArrayLike | Literal["forecast"] | None = None,
        *,
        coverage: ArrayLike = _COVERAGE,
        sample_weight: ArrayLike | None = None,
        max_rows: int | None = None,
        name: str | None = None,
        x_name: str | None = None,
        y_name: str | None = None,
        unit: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw forecasts and outcomes.

        Parameters
        ----------
        y : (n,) array-like
            Outcomes.
        dist : Distribution, or what `as_distribution` takes
            The n forecasts of one model.
        x : (n,) array-like or "forecast", optional
            Positions of the rows on the x axis, numbers or dates, or "forecast" to sort rows by
            predicted median. By default the dates that index the series `y`, or else the rows in
            their given order, drawn as bars.
        coverage : scalar or (m,) array-like, default (0.5, 0.8, 0.9)
            Probabilities of the intervals.
        sample_weight : (n,) array-like, optional
            Weights of the rows in the coverage of the widest interval.
        max_rows : int, optional
            Largest number of rows to draw; by default 300 in a band, and about 150 bars in a
            figure of the default size.
        name : str, optional
            Name of the forecast in the legend.
        x_name, y_name, unit : str, optional
            Labels of the axes, by default the names of the series `x` and `y`, and the unit of
            the outcome.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs : dict
            For `plot`.
        """
        _style.require_matplotlib(f"{cls.__name__}.from_predictions")
        if max_rows is not None:
            check_count(max_rows, "max_rows")
        c = increasing_levels(coverage, "coverage")
        outcomes, dist, w = check_rows(y, one(dist, y), sample_weight)
        kind = kwargs.setdefault("kind", _kind_of(x, y))
        place = _positions(x, y, dist, max_rows or _most_rows(ax, kind))
        shown = dist._take(place.rows)
        lower, upper = shown.interval(c)
        display = cls(
            place.x,
            outcomes[place.rows],
            shown.median(),
            lower,
            upper,
            c,
            held=coverage_of(outcomes, dist, float(c[-1]), sample_weight=w),
            note=_note(place, len(dist)),
            name=name,
            x_name=place.name if x_name is None else x_name,
            y_name=own_name(y) if y_name is None else y_name,
            unit=unit,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        x: ArrayLike | Literal["forecast"] | None = None,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw forecasts of a fitted model, and outcomes.

        Parameters
        ----------
        estimator : fitted regressor
            Its uncertainty is read as `CalibratedRegressor` reads it.
        X : (n, d) array-like
            Features of rows that the model has not seen.
        y : (n,) array-like
            Their outcomes.
        x, name, ax, **kwargs
            As in `from_predictions`; the name is that of the class by default.
        """
        _style.require_matplotlib(f"{cls.__name__}.from_estimator")
        dist = read_forecast(estimator, X)
        name = name_of_model(estimator, name)
        return cls.from_predictions(y, dist, x, name=name, ax=ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Kind = "band",
        legend: bool = True,
        color: str | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        kind : {"band", "bars"}, default "band"
            Whether intervals are drawn as one band, as for a series, or as one bar per row.
            `from_predictions` draws rows along numbers or dates as a band, others as bars.
        legend : bool, default True
            Whether to draw the legend.
        color : str, optional
            Colour of the forecast and its intervals.
        """
        if kind not in ("band", "bars"):
            raise ValueError(f'kind is {kind!r}; expected "band" or "bars".')
        self.ax_, self.figure_ = ax, _ = _style.axes_and_figure(ax, type(self).__name__, _SIZE)
        self.legend_ = None
        look = _style.looks(ax, 1)[0]
        colour = look.color if color is None else color
        self._draw_intervals(ax, kind, colour)
        shape: dict[str, Any] = {"linewidth": 1.4}
        if kind == "bars":
            room = _style.width_in_points(ax) / self.x.size
            size = float(np.clip(0.9 * room, _SHORTEST, _LONGEST))
            shape = {"linestyle": "none", "marker": "_", "markersize": size}
        line = ax.plot(
            self.x, self.forecast, color=colour, label=self.name or "forecast", zorder=3, **shape
        )
        self.line_ = _style.mark(line[0])
        self._draw_outcomes(ax)
        self._set_axes(ax)
        if legend:
            key = self._key(kind)
            handles = [*self._patches(ax, colour), key, self.points_, self.misses_]
            self.legend_ = _style.legend(ax, self.note, columns=3, handles=handles)
        return self

    def _draw_intervals(self, ax: Axes, kind: Kind, colour: str) -> None:
        self.intervals_ = []
        count = self.coverage.size
        opacity = self._opacity(ax)
        width = float(
            np.clip(_SHARE * _style.width_in_points(ax) / self.x.size, _THINNEST, _THICKEST)
        )
        for drawn, j in enumerate(reversed(range(count))):
            under = opacity[drawn - 1] if drawn else 0.0
            style: dict[str, Any] = {
                "color": colour,
                # Each lies on the wider ones, which are visible through it.
                "alpha": 1.0 - (1.0 - opacity[drawn]) / (1.0 - under),
                "label": self._label(j),
                "zorder": 1.0 + 0.1 * drawn,
            }
            ends = self.lower[:, j], self.upper[:, j]
            self.intervals_.append(
                ax.fill_between(self.x, *ends, linewidth=0.0, **style)
                if kind == "band"
                else ax.vlines(self.x, *ends, linewidth=width, **style)
            )

    def _opacity(self, ax: Axes) -> list[float]:
        """Return the opacity of the intervals, from the widest to the narrowest."""
        ends = _style.opacity(ax, _PALEST), _STRONGEST
        return [float(a) for a in np.linspace(*ends, self.coverage.size)]

    def _patches(self, ax: Axes, colour: str) -> list[Patch]:
        """Return intervals for the legend that look as with the wider ones behind them."""
        from matplotlib.patches import Patch

        return [
            Patch(color=colour, alpha=alpha, linewidth=0.0, label=artist.get_label())
            for alpha, artist in zip(self._opacity(ax), self.intervals_, strict=True)
        ]

    def _key(self, kind: Kind) -> Line2D:
        """Return the forecast for the legend, where that of a bar would be too small."""
        from matplotlib.lines import Line2D

        if kind == "band":
            return self.line_
        key = Line2D([], [], label=self.line_.get_label())
        key.update_from(self.line_)
        key.set(markersize=_KEY, markeredgewidth=2.0)
        return key

    def _label(self, j: int) -> str:
        share = _style.percent(self.coverage[j])
        return share if j < self.coverage.size - 1 else f"{share} (holds {self.held:.0%})"

    def _draw_outcomes(self, ax: Axes) -> None:
        x, y, out = self.x, self.y, self.missed
        size = float(np.clip(1.3 * _style.width_in_points(ax) / self.x.size, _SMALLEST, _LARGEST))
        common: dict[str, Any] = {"linestyle": "none", "markerfacecolor": _style.ink(ax)}
        common["markeredgecolor"] = ax.get_facecolor()
        dot: dict[str, Any] = {"marker": "o", "markersize": 0.55 * size, "markeredgewidth": 0.0}
        cross: dict[str, Any] = {"marker": "X", "markersize": size, "markeredgewidth": 0.08 * size}
        self.points_ = ax.plot(x[~out], y[~out], label="outcome", zorder=4, **common, **dot)[0]
        self.misses_ = ax.plot(x[out], y[out], label="missed", zorder=5, **common, **cross)[0]

    def _set_axes(self, ax: Axes) -> None:
        _style.label_axes(ax, self.x_name or "x", _style.with_unit(self.y_name or "y", self.unit))
        ax.margins(x=0.01)
        if self.x.dtype.kind == "M":
            from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

            locator = AutoDateLocator(  # type: ignore[no-untyped-call]
                maxticks=4 if _style.is_narrow(ax) else 8
            )
            ax.xaxis.set_major_locator(locator)
            ax.xaxis.set_major_formatter(
                ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
            )
        _style.tidy(ax)


def _most_rows(ax: Any, kind: str) -> int:
    """Return the default number of rows to draw on these axes, or on those of a new figure."""
    if kind != "bars":
        return _MOST
    width = _style.width_in_points(ax) if getattr(ax, "figure", None) else 56.0 * _SIZE[0]
    return int(np.clip(width / _APART, 1, _MOST))


def _note(place: _Positions, n: int) -> str | None:
    shown = place.rows.size
    if shown == n:
        return None
    return f"{'last ' if place.last else ''}{shown:,} of {n:,} rows"


class _Positions(NamedTuple):
    """Rows to draw, and their positions."""

    rows: NDArray[np.intp]
    x: NDArray[Any]
    name: str
    last: bool


def _kind_of(x: Any, y: Any) -> Kind:
    """Return "band" for rows along numbers or dates, and "bars" for others."""
    along = not isinstance(x, str) if x is not None else _has_dates(y)
    return "band" if along else "bars"


def _positions(x: Any, y: Any, dist: Distribution, max_rows: int) -> _Positions:
    """Choose at most `max_rows` rows, in the order of x.

    These are the last ones of a series, otherwise they are evenly spaced.
    """
    n = len(dist)
    if isinstance(x, str):
        if x != "forecast":
            raise ValueError(f'x is {x!r}; expected numbers, dates or "forecast".')
        rows = _evenly(n, max_rows)
        median = dist._take(rows).median()
        order = np.argsort(median, kind="stable")
        places = np.arange(1.0, rows.size + 1.0)
        return _Positions(rows[order], places, "rows, by forecast", last=False)
    if x is None and not _has_dates(y):
        rows = np.arange(max(n - max_rows, 0), n)
        return _Positions(rows, rows.astype(np.float64), "row", last=True)
    given, name = (y.index, own_name(y.index) or "date") if x is None else (x, own_name(x))
    values = _numbers_or_dates(given)
    same_length(n, values, "x", "the forecast")
    order = np.argsort(values, kind="stable")
    series = values.dtype.kind == "M"
    rows = order[-max_rows:] if series else order[_evenly(n, max_rows)]
    return _Positions(rows, values[rows], name or ("date" if series else "x"), last=series)


def _evenly(n: int, most: int) -> NDArray[np.intp]:
    """Return at most `most` of n rows, evenly spaced."""
    return np.arange(n) if n <= most else ((np.arange(most) + 0.5) * n / most).astype(np.intp)


def _has_dates(y: Any) -> bool:
    """Whether it is a pandas series that is indexed by dates."""
    index = getattr(y, "index", None)
    return hasattr(y, "iloc") and getattr(getattr(index, "dtype", None), "kind", "") == "M"


def _numbers_or_dates(x: Any) -> NDArray[Any]:
    """Convert to float64 or datetime64, (n,)."""
    a = np.asarray(x)
    if a.dtype.kind == "O" and a.size and hasattr(a.flat[0], "year"):
        # The axis shows the local time of dates with a time zone.
        naive = [d.replace(tzinfo=None) if getattr(d, "tzinfo", None) else d for d in a.flat]
        a = np.array(naive, dtype="datetime64[us]").reshape(a.shape)
    if a.dtype.kind != "M":
        if a.dtype.kind in "US" or (a.dtype.kind == "O" and a.size and isinstance(a.flat[0], str)):
            raise TypeError(
                "x holds strings; expected numbers or dates. Convert dates first: "
                'numpy.asarray(x, dtype="datetime64[D]") or pandas.to_datetime(x).'
            )
        return vector(x, "x")
    if a.ndim != 1:
        raise ValueError(f"x has shape {a.shape}; expected one date per row, shape (n,).")
    if np.isnat(a).any():
        i = int(np.flatnonzero(np.isnat(a))[0])
        raise ValueError(f"x[{i}] is not a date (NaT); expected one in every row. Drop that row.")
    return a
