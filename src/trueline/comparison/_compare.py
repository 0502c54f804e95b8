"""Comparison of forecasts of the same rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._html import table, tag
from trueline._labels import check_labels
from trueline._messages import count, library, listed, percent, printable, shortened
from trueline._validation import (
    FloatArray,
    RandomState,
    group_names,
    same_length,
    vector,
    weights,
)
from trueline.comparison._difference import Difference, score_difference
from trueline.distributions import Distribution
from trueline.interop import check_forecast
from trueline.metrics import Evaluation, evaluate_rows, rows_of_fits

_EXAMPLE = '{"a": F, "b": G}'
_HEADERS = [
    "",
    "CRPS",
    "difference ± s.e.",
    "coverage",
    "width",
    "interval score",
    "calibration / floor",
    "log score",
]
# Number of letters of a name in the table.
_LONGEST_NAME = 40


@dataclass(frozen=True, repr=False)
class Comparison:
    """Result of `compare`: forecasts of the same rows, the one with the lowest CRPS first.

    Attributes
    ----------
    evaluations : dict of str to Evaluation
        Every diagnostic of each forecast, by name, sorted by CRPS.
    differences : dict of str to Difference
        CRPS of each other forecast minus that of the winner, in the same order.
    n_groups : int or None
        Number of groups that the standard errors are computed from; None if rows are taken as
        independent.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> loc = np.zeros(1000)
    >>> found = tl.compare(y, {"narrow": tl.Normal(loc, 0.5), "right": tl.Normal(loc, 1.0)})
    >>> found.winner, found.tied
    ('right', ())
    >>> found.evaluations["narrow"].coverage
    0.612
    """

    evaluations: dict[str, Evaluation]
    differences: dict[str, Difference]
    n_groups: int | None = None

    @property
    def winner(self) -> str:
        """Name of the forecast with the lowest mean CRPS; of equal ones the first."""
        return next(iter(self.evaluations))

    @property
    def tied(self) -> tuple[str, ...]:
        """Names of the other forecasts whose difference to the winner chance explains."""
        return tuple(name for name, found in self.differences.items() if not found.clear)

    @property
    def limit(self) -> float:
        """Number of standard errors beyond which a difference is clear."""
        return next(iter(self.differences.values())).limit

    @property
    def conclusion(self) -> str:
        """Who wins, and how sure that is, in words."""
        if not math.isfinite(self.evaluations[self.winner].crps):
            return "No forecast has a finite CRPS, so that there is no winner."
        if all(found.mean == 0.0 for found in self.differences.values()):
            return "All forecasts have the same CRPS."
        start = f"{_quoted([self.winner])} has the lowest CRPS"
        if not math.isfinite(self.limit):
            return f"{start}, but there are too few rows to tell whether that is chance."
        clear = {name: found for name, found in self.differences.items() if found.clear}
        limit = f"{self.limit:.2g} standard errors"
        if self.tied:
            rest = f" Its lead over {_quoted(clear)} is clear." if clear else ""
            return (
                f"{start}, but chance explains its lead over {_quoted(self.tied)}: it explains "
                f"up to {limit}.{rest}"
            )
        others = _quoted(clear) if len(clear) == 1 else "every other forecast"
        # There is no ratio where the CRPS of the other forecast is infinite.
        ratios = [found.mean / found.error for found in clear.values() if found.error > 0.0]
        least = "at least " if len(ratios) > 1 else ""
        size = f": {least}{min(ratios):.2g} standard errors" if ratios else ""
        return f"{start}, and its lead over {others} is clear{size}. Chance explains up to {limit}."

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers, ready for JSON: those that are not finite are None.

        Examples
        --------
        >>> import trueline as tl
        >>> F, G = tl.Normal([0.0, 0.0], 1.0), tl.Normal([3.0, 3.0], 1.0)
        >>> found = tl.compare([0.0, 1.0], {"a": F, "b": G}).to_dict()
        >>> found["winner"], round(found["forecasts"]["b"]["difference"], 2)
        ('a', 1.53)
        """
        best = self.evaluations[self.winner]
        return {
            "n": best.n,
            "n_groups": self.n_groups,
            "coverage_target": best.coverage_target,
            "winner": self.winner,
            "tied": list(self.tied),
            "limit": _finite(self.limit),
            "forecasts": {
                name: {key: _finite(value) for key, value in self._numbers(name).items()}
                for name in self.evaluations
            },
        }

    def to_frame(self) -> Any:
        """Return a `pandas.DataFrame`: a row for each name, the diagnostics as columns.

        ``difference`` and ``standard_error`` are those to the winner, and ``clearly_worse`` says
        whether the difference is clear.

        Examples
        --------
        >>> import trueline as tl
        >>> F, G = tl.Normal([0.0, 0.0], 1.0), tl.Normal([3.0, 3.0], 1.0)
        >>> tl.compare([0.0, 1.0], {"a": F, "b": G}).to_frame()[["crps", "coverage"]].round(2)
           crps  coverage
        a  0.42       1.0
        b  1.94       0.0
        """
        pandas = library("pandas", "Comparison.to_frame")
        rows = [self._numbers(name) for name in self.evaluations]
        return pandas.DataFrame(rows, index=list(self.evaluations))

    def _numbers(self, name: str) -> dict[str, float]:
        own = self.differences.get(name, Difference(0.0, 0.0))
        found = self.evaluations[name].to_dict()
        first = {
            "crps": found.pop("crps"),
            "difference": own.mean,
            "standard_error": own.error,
            "clearly_worse": own.clear,
        }
        return first | {k: v for k, v in found.items() if k not in {"n", "coverage_target"}}

    def __repr__(self) -> str:
        """Return a table, and a sentence about the winner."""
        rows = [_HEADERS, *self._cells()]
        names = [shortened(printable(row[0]), _LONGEST_NAME) for row in rows]
        widths = [max(len(row[j]) for row in rows) for j in range(1, len(_HEADERS))]
        wide = max(map(len, names))
        lines = [
            f"  {name:<{wide}}"
            + "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths, strict=True))
            for name, row in zip(names, rows, strict=True)
        ]
        return "\n".join([self._title(), *map(str.rstrip, lines), self.conclusion])

    def _repr_html_(self) -> str:
        """Return the same as an HTML table."""
        return tag(
            "div",
            table(["forecast", *_HEADERS[1:]], self._cells(), self._title()),
            tag("p", self.conclusion),
            style="overflow-x: auto",
        )

    def _title(self) -> str:
        best = self.evaluations[self.winner]
        errors = "" if self.n_groups is None else f" in {count(self.n_groups, 'group')}"
        return (
            f"Comparison of {count(len(self.evaluations), 'forecast')} of {count(best.n, 'row')}"
            f"{errors}, {percent(best.coverage_target)} intervals"
        )

    def _cells(self) -> list[list[str]]:
        return [
            [
                name,
                _number(found.crps),
                _with_error(self.differences[name]) if name in self.differences else "",
                f"{found.coverage:.1%}",
                _number(found.interval_width),
                _number(found.interval_score),
                f"{found.calibration_error:.2g} / {found.calibration_floor:.2g}",
                _number(found.log_score),
            ]
            for name, found in self.evaluations.items()
        ]


def _quoted(names: Iterable[str]) -> str:
    return listed([f'"{shortened(printable(name), _LONGEST_NAME)}"' for name in names], 4)


def _number(value: float) -> str:
    """Return four digits, zeros at the end included, so that columns line up."""
    return f"{value:#.4g}".rstrip(".")


def _with_error(found: Difference) -> str:
    """Return a difference and its standard error with the digits that the error supports."""
    if not 0.0 < found.error < math.inf:
        return f"{found.mean:+.3g}" if found.mean == found.mean else "nan"
    digits = 1 - math.floor(math.log10(found.error))
    if not 0 <= digits <= 6:
        return f"{found.mean:+.3g} ± {found.error:.2g}"
    return f"{found.mean:+.{digits}f} ± {found.error:.{digits}f}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def compare(
    y: ArrayLike,
    forecasts: Mapping[str, Any],
    *,
    coverage: float = 0.9,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_fit: float | Mapping[str, float] | None = None,
    random_state: RandomState = 0,
) -> Comparison:
    """Compare forecasts of the same rows: which has the lowest CRPS, and is that more than chance?

    Every forecast is scored on the same rows, so differences are computed row by row, which cancels
    what is hard about a row for all of them. A difference is clear if it is more than two standard
    errors from 0, as it is for 5% of equally good forecasts. With few rows the limit is higher by
    Student's t law. With more than two forecasts it is higher because the winner is chosen among
    all pairs: by Bonferroni for k (k - 1) / 2 differences, the chance that any clear difference is
    between equally good forecasts stays at 5%. That is 2.4 standard errors for 3 forecasts, and 3.2
    for 8.

    Rows are taken as independent. Where they are not, such as in time series or several rows per
    customer, standard errors are too small and differences look clearer than they are: give
    ``groups``, such as the week or the customer of each row.

    Parameters
    ----------
    y : (n,) array-like
        Outcomes that neither the models nor a recalibrator has seen.
    forecasts : mapping of str to Distribution
        The n forecasts of each of at least two models, by name.
    coverage : float, default 0.9
        Probability of the central interval.
    sample_weight : (n,) array-like, optional
        Weights of the rows. Standard errors count them by Kish's effective number.
    groups : (n,) array-like, optional
        Group of each row. Rows of the same group may then depend on each other: standard errors
        are those of sums over groups (cluster-robust), with as many degrees of freedom as there
        are groups, minus 1.
    n_fit : float or mapping of names to float, optional
        Number of rows that a recalibrator was fitted on; by default as each forecast knows it.
    random_state : None, int or numpy.random.Generator, default 0
        Used if a forecast has steps; see `pit`.

    Returns
    -------
    Comparison
        ``winner``, ``tied``, ``differences`` and an `Evaluation` for each name; it prints as a
        table, also in notebooks, and `ComparisonDisplay` draws it.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=1000)
    >>> y = rng.normal(x, 1.0)
    >>> forecasts = {
    ...     "no features": tl.Normal(np.zeros(1000), 1.4),
    ...     "too narrow": tl.Normal(x, 0.5),
    ...     "right": tl.Normal(x, 1.0),
    ... }
    >>> found = tl.compare(y, forecasts)
    >>> found.to_frame()[["crps", "difference", "standard_error", "coverage"]].round(3)
                  crps  difference  standard_error  coverage
    right        0.580       0.000           0.000     0.894
    too narrow   0.632       0.052           0.004     0.574
    no features  0.822       0.242           0.017     0.884
    >>> found.winner, found.tied
    ('right', ())
    """
    outcomes, found, w = _check_rows(y, forecasts, sample_weight)
    codes = None if groups is None else _group_codes(groups, outcomes.size)
    fits = rows_of_fits(n_fit, found)
    evaluations: dict[str, Evaluation] = {}
    scores = {name: np.empty(outcomes.size) for name in found}
    for name, dist in found.items():

        def keep(rows: slice, block: dict[str, FloatArray], own: FloatArray = scores[name]) -> None:
            own[rows] = block["crps"]

        evaluations[name] = evaluate_rows(
            outcomes, dist, w, coverage, fits.get(name), random_state, look=keep
        )
    # A CRPS that is NaN comes last.
    order = sorted(found, key=lambda name: (math.isnan(s := evaluations[name].crps), s))
    best, *others = order
    pairs = len(order) * (len(order) - 1) // 2
    return Comparison(
        {name: evaluations[name] for name in order},
        {
            name: score_difference(scores[best], scores[name], w, groups=codes, pairs=pairs)
            for name in others
        },
        None if codes is None else int(codes.max()) + 1,
    )


def _check_rows(
    y: ArrayLike, forecasts: object, sample_weight: ArrayLike | None
) -> tuple[FloatArray, dict[str, Distribution], FloatArray | None]:
    """Check outcomes, forecasts and weights."""
    if isinstance(y, Distribution | Mapping):
        raise TypeError(
            f"y is of type {type(y).__name__}; expected outcomes, shape (n,). "
            f"Outcomes come first, then the forecasts: compare(y, {_EXAMPLE})."
        )
    named = _check_forecasts(forecasts)
    outcomes = vector(y, "y")
    for name, dist in named.items():
        check_labels(4, y=y, dist=dist, sample_weight=sample_weight)
        same_length(len(dist), outcomes, "y", f"the forecast {name!r}", dist._draw_count)
    return outcomes, named, weights(sample_weight, outcomes.size)


def _check_forecasts(forecasts: object) -> dict[str, Distribution]:
    if not isinstance(forecasts, Mapping):
        raise TypeError(
            f"forecasts is of type {type(forecasts).__name__}; expected two or more forecasts by "
            f"name: {_EXAMPLE}. A single one is scored by trueline.evaluate(y, dist)."
        )
    if len(forecasts) < 2:
        raise ValueError(
            f"forecasts holds {count(len(forecasts), 'forecast')}; expected two or more by name: "
            f"{_EXAMPLE}. A single one is scored by trueline.evaluate(y, dist)."
        )
    for name in forecasts:
        if not isinstance(name, str) or not name.strip():
            raise TypeError(f"forecasts has the name {name!r}; expected a text that is not empty.")
    return {name: check_forecast(dist, f"forecasts[{name!r}]") for name, dist in forecasts.items()}


def _group_codes(groups: ArrayLike, n: int) -> NDArray[np.intp]:
    """Return the index of each row's group; missing names are a group."""
    names = group_names(groups, n)
    if names.dtype == object:  # its names need not compare
        seen: dict[Any, int] = {}
        codes = np.array([seen.setdefault(name, len(seen)) for name in names], dtype=np.intp)
    else:
        codes = np.unique(names, return_inverse=True)[1]
    if not codes.any():
        raise ValueError(
            "groups holds one group; expected two or more, whose differences show what is chance."
        )
    return codes
