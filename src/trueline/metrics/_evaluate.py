"""All diagnostics of a forecast in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._html import table, tag
from trueline._messages import count
from trueline._validation import FloatArray, RandomState, generator, level
from trueline.distributions import Distribution
from trueline.interop import ForecastLike
from trueline.metrics._atoms import Atom, AtomSums
from trueline.metrics._calibration import check_levels, error_of, floor_of
from trueline.metrics._conditional import ConditionalCoverage, conditional_coverage
from trueline.metrics._pit import Ecdf, above_zero, randomised
from trueline.metrics._rows import (
    add,
    check_rows,
    effective_size,
    mean,
    rows_of_fit,
    size,
    total,
)
from trueline.metrics._scores import interval_misses
from trueline.metrics._spread import N_BINS, binned_error, squared_error_rows, variance_rows
from trueline.metrics._verdict import Verdict, chance_range, decide_calibration, decide_coverage

# Rows worked on at a time, few enough that intermediate results stay in the cache.
_BLOCK = 1 << 14
# The same for forecasts with one law per group: each law takes its rows, and is slow on few.
_STACK = 64 * _BLOCK
# Error of a mean of equal values.
_ROUNDING = 1e-12
# What the verdict needs beside the diagnostics.
_CONTEXT = ("n_effective", "n_fit", "ks_statistic", "draws", "atoms", "conditional")
# Number of atoms that a printed evaluation lists.
_MOST_ATOMS = 10


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Result of `evaluate`: every diagnostic of one forecast.

    Attributes
    ----------
    n : int
        Number of rows.
    calibration_error, calibration_floor : float
        Eq. 9 of the paper, and its value for a perfect forecaster.
    p_value : float
        P-value of `calibration_test`.
    coverage, coverage_target : float
        Share of outcomes inside the interval, and its probability.
    coverage_expected : float
        Share that the forecasts themselves expect inside: the target, unless they are given by few
        draws, whose intervals can hold less, or have atoms, which force intervals to hold more.
    interval_width, interval_score : float
        Means over these intervals.
    crps, log_score : float
    sharpness : float
        Mean variance.
    ence : float
    mae, rmse : float
        Errors of the predicted median and mean.
    n_effective : float
        Number of rows; with weights Kish's effective number.
    n_fit : float or None
        Number of rows that a recalibrator was fitted on.
    ks_statistic : float
        Statistic of `calibration_test`.
    draws : int or None
        Number of draws per row, if the forecasts are given by draws.
    atoms : tuple of Atom
        Values that outcomes are often equal to and that have a forecast probability, such as the
        values of a count, or 0 for rain: observed and forecast shares. Empty if there are none.
    conditional : ConditionalCoverage or None
        Whether the intervals hold given the features, if features were given.

    Examples
    --------
    >>> import trueline as tl
    >>> result = tl.evaluate([0.0, 1.0], tl.Normal([0.0, 0.0], 1.0))
    >>> result.n, result.mae
    (2, 0.5)
    """

    n: int
    calibration_error: float
    calibration_floor: float
    p_value: float
    coverage: float
    coverage_target: float
    coverage_expected: float
    interval_width: float
    interval_score: float
    crps: float
    log_score: float
    sharpness: float
    ence: float
    mae: float
    rmse: float
    n_effective: float
    n_fit: float | None
    ks_statistic: float
    draws: int | None = None
    atoms: tuple[Atom, ...] = ()
    conditional: ConditionalCoverage | None = None

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the intervals hold and the forecast is calibrated: a `Verdict`."""
        n, n_fit, expected = self.n_effective, self.n_fit, self.coverage_expected
        low, high = chance_range(n, self.coverage_target, n_fit, expected=expected)
        return Verdict(
            decide_coverage(
                self.coverage,
                self.coverage_target,
                float(low),
                float(high),
                width=self.interval_width,
                expected=expected,
                draws=self.draws,
            ),
            decide_calibration(
                self.calibration_error, self.calibration_floor, self.p_value, n, n_fit
            ),
        )

    def to_dict(self) -> dict[str, float]:
        """Return the diagnostics by name; with features also ERT and worst slab.

        Examples
        --------
        >>> import trueline as tl
        >>> tl.evaluate([0.0, 1.0], tl.Normal([0.0, 0.0], 1.0)).to_dict()["mae"]
        0.5
        """
        found = {name: value for name, value in asdict(self).items() if name not in _CONTEXT}
        if self.conditional is not None:
            found |= {"ert": self.conditional.ert, "worst_slab": self.conditional.worst_slab}
        return found

    def __repr__(self) -> str:
        """Return a table, then the verdict, the shares of atoms, and what holds given x."""
        scores = [
            f"  {name:<18}{value:>10.4g}   {note}".rstrip() for name, value, note in self._lines()
        ]
        atoms, more = self._shown_atoms()
        lines = [f"  {'outcome':>12}{'observed':>10}{'forecast':>10}   by chance"] if atoms else []
        lines += [
            f"  {a.value:>12.6g}{a.observed:>10.1%}{a.forecast:>10.1%}"
            f"   {a.low:.1%} to {a.high:.1%}"
            for a in atoms
        ]
        lines += [f"  {more}"] if more else []
        lines += [] if self.conditional is None else [repr(self.conditional)]
        return "\n".join([self._title(), *scores, str(self.verdict), *lines])

    def _repr_html_(self) -> str:
        """Return the same as HTML tables."""
        cells = [(name, f"{value:.4g}", note) for name, value, note in self._lines()]
        parts: list[str] = [table(["diagnostic", "value", "note"], cells, self._title())]
        parts.append(self.verdict._repr_html_())
        atoms, more = self._shown_atoms()
        if atoms:
            shares = [
                (f"{a.value:.6g}", *(f"{x:.1%}" for x in (a.observed, a.forecast, a.low, a.high)))
                for a in atoms
            ]
            parts.append(table(["outcome", "observed", "forecast", "by chance from", "to"], shares))
        parts += [tag("p", more)] if more else []
        parts += [] if self.conditional is None else [self.conditional._repr_html_()]
        return tag("div", *parts, style="overflow-x: auto")

    def _title(self) -> str:
        return f"Evaluation of {count(self.n, 'row')}"

    def _lines(self) -> list[tuple[str, float, str]]:
        """Return the diagnostics with a note on each."""
        test = "Kolmogorov-Smirnov test"
        if self.n_fit is not None:
            test = f"Kolmogorov-Smirnov and Klotz, with the {self.n_fit:,.0f} rows of the fit"
        goal = f"target {self.coverage_target:.4g}"
        if f"{self.coverage_expected:.4g}" != f"{self.coverage_target:.4g}":
            goal += f", expected {self.coverage_expected:.4g}"
        return [
            ("calibration error", self.calibration_error, f"floor {self.calibration_floor:.4g}"),
            ("p-value", self.p_value, test),
            ("coverage", self.coverage, goal),
            ("interval width", self.interval_width, ""),
            ("interval score", self.interval_score, ""),
            ("CRPS", self.crps, ""),
            ("log score", self.log_score, ""),
            ("sharpness", self.sharpness, "mean variance"),
            ("ENCE", self.ence, ""),
            ("MAE", self.mae, "of the median"),
            ("RMSE", self.rmse, "of the mean"),
        ]

    def _shown_atoms(self) -> tuple[list[Atom], str]:
        """Return the most frequent atoms, and a line about the others."""
        shown = sorted(self.atoms, key=lambda a: -max(a.observed, a.forecast))[:_MOST_ATOMS]
        more = len(self.atoms) - len(shown)
        line = f"and {count(more, 'rarer value')}" if more else ""
        return sorted(shown, key=lambda a: a.value), line


def evaluate(
    y: ArrayLike,
    dist: ForecastLike,
    *,
    coverage: float = 0.9,
    levels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_fit: float | None = None,
    random_state: RandomState = 0,
    X: Any = None,
) -> Evaluation:
    """Every diagnostic of a forecast at once.

    Each value is that of the function of the same name with its default settings; common work is
    done once, in blocks of rows.

    Parameters
    ----------
    y : (n,) array-like
        Outcomes that neither the model nor a recalibrator has seen.
    dist : Distribution, or what `as_distribution` takes
        The n forecasts.
    coverage : float, default 0.9
        Probability of the central interval.
    levels : (m,) array-like, optional
        Levels of the calibration error; 0, 0.1, ..., 1 by default.
    sample_weight : (n,) array-like, optional
        Weights of the rows.
    n_fit : float, optional
        Number of rows that a recalibrator was fitted on; by default as `dist` knows it. It raises
        the floor, and the p-value and the verdict take it into account.
    random_state : None, int or numpy.random.Generator, default 0
        Used if the forecast has steps, which are read by the randomised PIT; see `pit`.
    X : data frame, dict of columns, or array, (n,) or (n, k), optional
        Features. The result then has `conditional_coverage` as its ``conditional``.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> tl.evaluate(y, tl.Normal(np.zeros(1000), 0.5))
    Evaluation of 1,000 rows
      calibration error      0.113   floor 0.00165
      p-value            2.295e-26   Kolmogorov-Smirnov test
      coverage               0.612   target 0.9
      interval width         1.645
      interval score         5.964
      CRPS                  0.5907
      log score              2.138
      sharpness               0.25   mean variance
      ENCE                  0.9559
      MAE                   0.7772   of the median
      RMSE                  0.9779   of the mean
    90% intervals hold 61.2% of the time: too narrow.
    Calibration error 68.5 times its floor: recalibrate on held-out rows.
    """
    outcomes, forecast, w = check_rows(y, dist, sample_weight)
    given_x = None
    if X is not None:
        given_x = conditional_coverage(
            y, dist, X, coverage, sample_weight=w, n_fit=n_fit, random_state=random_state
        )
    found = evaluate_rows(outcomes, forecast, w, coverage, n_fit, random_state, levels=levels)
    return found if given_x is None else replace(found, conditional=given_x)


class Rows(NamedTuple):
    """Values per row for the diagnostics that sort; the PIT is randomised if there are steps."""

    pit: FloatArray
    variance: FloatArray
    squared_error: FloatArray


class Context(NamedTuple):
    """What an evaluation is about: levels of the curve, coverage, rows of the fit, and draws."""

    levels: FloatArray
    coverage: float
    n_fit: float | None
    draws: int | None


Sums = list[dict[str, float]]
# Called with each block of rows and its scores.
Look = Callable[[slice, dict[str, FloatArray]], None]


def evaluate_rows(
    y: FloatArray,
    dist: Distribution,
    w: FloatArray | None,
    coverage: float,
    n_fit: float | None,
    random_state: RandomState,
    *,
    levels: ArrayLike | None = None,
    look: Look | None = None,
) -> Evaluation:
    """Return `evaluate` of checked rows; ``look`` is called with each block and its scores.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> from trueline.metrics import evaluate_rows
    >>> evaluate_rows(np.zeros(2), tl.Point([1.0, 3.0]), None, 0.9, None, 0).crps
    2.0
    """
    p, c = check_levels(levels), level(coverage, "coverage")
    context = Context(p, c, rows_of_fit(n_fit, dist), dist._draw_count)
    rng = generator(random_state)
    dist._take(np.zeros(1, dtype=np.intp)).interval(c)  # warns where the levels lack support
    atoms = AtomSums()
    sums, rows = one_pass(y, dist, w, c, rng, atoms, look)
    return judge(sums, rows, w, atoms, context)


def one_pass(
    y: FloatArray,
    dist: Distribution,
    w: FloatArray | None,
    coverage: float,
    rng: np.random.Generator,
    atoms: AtomSums,
    look: Look | None = None,
) -> tuple[Sums, Rows]:
    """Return sums over blocks of rows, and the rows for the diagnostics that sort.

    Results of two parts can be joined; they are then those of all rows, to the last bit if the
    first part holds whole blocks. Rows on atoms are added to ``atoms``. ``look`` is called with
    each block and its scores.
    """
    # The allocator reuses one piece of memory from call to call more readily than three.
    pit, variance, squared_error = np.empty((3, y.size))
    sums = []
    for block, part in _blocks(dist, _STACK if dist._parts() else _BLOCK):
        outcomes = y[block]
        found = _scores(outcomes, part, coverage)
        pit[block] = found.pop("pit")
        variance[block], squared_error[block] = found.pop("variance"), found.pop("squared_error")
        if dist._may_have_atoms:
            pit[block] = randomised(outcomes, part, pit[block], rng)
            atoms.add(outcomes, part, None if w is None else w[block])
        for inner in _slices(len(part), _BLOCK):
            rows = slice(block.start + inner.start, block.start + inner.stop)
            scores = {name: values[inner] for name, values in found.items()}
            weight = None if w is None else w[rows]
            sums.append({name: total(values, weight) for name, values in scores.items()})
            if look is not None:
                look(rows, scores)
    return sums, Rows(pit, variance, squared_error)


def judge(
    sums: Sums, rows: Rows, w: FloatArray | None, atoms: AtomSums, context: Context
) -> Evaluation:
    """Return every diagnostic from the results of `one_pass`; the rows may be overwritten."""
    n = rows.pit.size
    whole = size(w, n)
    means = average(sums, whole)
    means["variance"], means["squared_error"] = mean(rows.variance, w), mean(rows.squared_error, w)
    ence = binned_error(rows.variance, rows.squared_error, N_BINS, w)
    curve = Ecdf(rows.pit, w)
    n_effective = effective_size(w, n)
    observed, test = curve.at(context.levels), curve.test(n_effective, context.n_fit)
    found = atoms.finish(whole, n_effective, context.n_fit)
    return conclude(n, n_effective, means, observed, test, ence, found, context)


def average(sums: Sums, whole: float) -> dict[str, float]:
    """Return means from the sums of blocks and the sum of all weights."""
    return {name: add([part[name] for part in sums]) / whole for name in sums[0]}


def conclude(
    n: int,
    n_effective: float,
    means: dict[str, float],
    observed: FloatArray,
    test: tuple[float, float],
    ence: float,
    atoms: tuple[Atom, ...],
    context: Context,
) -> Evaluation:
    """Return the evaluation from means, the curve at the levels, and what needed sorting."""
    p, coverage, n_fit, draws = context
    distance, p_value = test
    expected = means["expected"]
    if abs(expected - coverage) < _ROUNDING:
        expected = coverage
    ones = np.ones_like(p)
    return Evaluation(
        n=n,
        calibration_error=error_of(p, observed, ones),
        calibration_floor=floor_of(p, ones, n_effective, n_fit),
        p_value=p_value,
        coverage=means["inside"],
        coverage_target=coverage,
        coverage_expected=expected,
        interval_width=means["width"],
        interval_score=means["width"] + 2.0 / (1.0 - coverage) * means["miss"],
        crps=means["crps"],
        log_score=means["log_score"],
        sharpness=means["variance"],
        ence=ence,
        mae=means["absolute_error"],
        rmse=float(np.sqrt(means["squared_error"])),
        n_effective=n_effective,
        n_fit=n_fit,
        ks_statistic=distance,
        draws=draws,
        atoms=atoms,
    )


def _scores(y: FloatArray, dist: Distribution, coverage: float) -> dict[str, FloatArray]:
    """Return all scores per row."""
    if parts := dist._parts():
        return _scores_by_part(y, parts, coverage)
    lower, upper = dist._interval(np.array(coverage))
    miss = interval_misses(y, lower, upper)
    with np.errstate(over="ignore"):
        pit, crps, log_density = (rows[:, 0] for rows in dist._cdf_crps_logpdf(y[:, None]))
    return {
        "pit": above_zero(pit, y, dist),
        "variance": variance_rows(dist),
        "squared_error": squared_error_rows(y, dist),
        "miss": miss,
        "inside": (miss == 0.0).astype(np.float64),
        "expected": dist._interval_mass(coverage, lower, upper),
        "width": upper - lower,
        "crps": crps,
        "log_score": -log_density,
        "absolute_error": np.abs(y - dist.median()),
    }


def _scores_by_part(
    y: FloatArray, parts: list[tuple[Distribution, NDArray[np.intp]]], coverage: float
) -> dict[str, FloatArray]:
    """Return the scores of rows that belong to several forecasts."""
    found: dict[str, FloatArray] = {}
    for part, rows in parts:
        for block, piece in _blocks(part, _BLOCK):
            scores = _scores(y[rows[block]], piece, coverage)
            found = found or {name: np.empty(y.size) for name in scores}
            for name, values in scores.items():
                found[name][rows[block]] = values
    return found


def _blocks(dist: Distribution, size: int) -> Iterator[tuple[slice, Distribution]]:
    n = len(dist)
    if n <= size:
        yield slice(0, n), dist
        return
    for rows in _slices(n, size):
        yield rows, dist._take(np.arange(rows.start, rows.stop))


def _slices(n: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, n)) for start in range(0, n, size))
