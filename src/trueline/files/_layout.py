"""The columns of a file that are used, and what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trueline._files import FileError
from trueline._messages import Option, Part, listed, percent
from trueline._validation import FloatArray
from trueline.distributions import Distribution, Normal, Point, Quantiles, Samples
from trueline.interop.column_names import interval_levels
from trueline.recalibration import Grouped, Isotonic, Recalibrator

Kind = Literal["normal", "point", "quantiles", "intervals", "samples"]
#: The coverage of intervals, unless another is asked for.
USUAL_COVERAGE = 0.9
# The most values that are held in memory at once.
_MOST_VALUES = 20_000_000


@dataclass(frozen=True)
class Layout:
    """The columns of a file that are used.

    Attributes
    ----------
    kind : str
    forecast : tuple of str
        Columns of the forecast, in the order that `distribution` expects.
    levels : tuple of float
        Levels of the quantiles.
    coverage : float
        Coverage of the intervals to evaluate or to write, unless another is asked for.
    y, group, weight : str or None
    features : tuple of str
    doubt : tuple
        Parts of a warning about columns that may have been meant instead; empty if there is none.

    Examples
    --------
    >>> from trueline.files import Columns
    >>> layout = Columns(group="store").find(["y", "mean", "std", "store"])
    >>> layout.used, layout.learner(None)
    (['mean', 'std', 'y', 'store'], Grouped())
    """

    kind: Kind
    forecast: tuple[str, ...]
    levels: tuple[float, ...] = ()
    coverage: float = USUAL_COVERAGE
    y: str | None = None
    group: str | None = None
    weight: str | None = None
    features: tuple[str, ...] = ()
    doubt: tuple[Part, ...] = ()

    @property
    def used(self) -> list[str]:
        """All columns that are read, without repetition."""
        named = (self.y, self.group, self.weight, *self.features)
        return list(dict.fromkeys([*self.forecast, *(n for n in named if n is not None)]))

    @property
    def most_drawn(self) -> int:
        """The most rows that are held in memory at once, such as for a report."""
        return max(_MOST_VALUES // len(self.used), 1)

    @property
    def must_be_there(self) -> tuple[str, ...]:
        """The columns of the forecast and the outcomes, without which a row cannot be used."""
        return self.forecast if self.y is None else (*self.forecast, self.y)

    def describe(self) -> str:
        """Return the kind of forecast and its columns in words."""
        names = listed(self.forecast, most=3)
        if self.kind in ("quantiles", "samples") and len(self.forecast) > 3:
            names = f"{self.forecast[0]} to {self.forecast[-1]}, {len(self.forecast)} columns"
        # The names of other intervals say what their coverage is.
        share = f"{percent(self.coverage)} " if self.is_stated_interval else ""
        return f"{share}{self.kind.removesuffix('s')} forecasts ({names})"

    @property
    def is_stated_interval(self) -> bool:
        """Whether the forecast is one interval, whose coverage the user stated."""
        return self.kind == "intervals" and not interval_levels(self.forecast)

    @property
    def score_kind(self) -> str:
        """The ``score_kind`` of the forecasts."""
        classes: dict[str, type[Distribution]] = {"normal": Normal, "point": Point}
        return classes.get(self.kind, Quantiles).score_kind  # that of samples is the same

    def learner(self, recalibrator: Recalibrator | None) -> Recalibrator:
        """Return the recalibrator to fit on these columns, checked; there is a default for None."""
        if recalibrator is None:
            return Isotonic() if self.group is None else Grouped()
        if not isinstance(recalibrator, Recalibrator):
            raise TypeError(
                f"recalibrator is {recalibrator!r}; expected a recalibrator, such as Isotonic()."
            )
        if recalibrator.needs_features:
            raise FileError(
                "a conditional map is learned from features and cannot be fitted on a file; "
                "expected isotonic, smooth, beta, scaling, grouped or auto. Fit it in Python: "
                "Conditional().fit(y, dist, X=X)."
            )
        if not recalibrator.learns_from_scores:
            raise FileError(
                f"{recalibrator._call()} is not learned from sorted scores and cannot be fitted on "
                f"a file; expected isotonic, smooth, beta, scaling, grouped or auto. Fit it in "
                f"Python: {type(recalibrator).__name__}().fit(y, dist)."
            )
        if recalibrator.needs_groups and self.group is None:
            raise FileError(
                "a map per group needs the column of the groups. Name it with ",
                Option("group"),
                ".",
            )
        if not recalibrator.needs_groups and self.group is not None:
            raise FileError(
                f"{recalibrator._call()} fits one map for all rows and takes no ",
                Option("group"),
                f"; expected Grouped({recalibrator._call()}).",
            )
        return recalibrator

    def distribution(self, columns: Sequence[FloatArray]) -> Distribution:
        """Return the forecasts in these checked columns; quantiles must not cross."""
        if self.kind == "normal":
            return Normal(*columns)
        if self.kind == "point":
            return Point(columns[0])
        values = np.column_stack(columns)
        return Samples(values) if self.kind == "samples" else Quantiles(self.levels, values)
