"""Whether intervals hold given the features, and not only on average."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._html import table, tag
from trueline._labels import check_labels
from trueline._messages import InputError, count, percent
from trueline._validation import FloatArray, RandomState, Rows, generator, level
from trueline.features import EVERYWHERE, FEWEST_ROWS, Mean, Table, chance_given_x
from trueline.interop import ForecastLike
from trueline.metrics._pit import uniform_rows
from trueline.metrics._rows import check_rows, effective_size, rows_of_fit
from trueline.metrics._verdict import LEVEL, CoverageVerdict, chance_range, decide_coverage

# Standard errors of ERT that are clear, and of the coverage of a map that are its noise.
_CLEAR, _NOISE = 3.0, 2.0
# Number of regions of a kind that the sentence names.
_MOST_NAMED = 2


@dataclass(frozen=True)
class Region:
    """A part of the feature space, found in one half of the rows and judged on the other.

    Attributes
    ----------
    rule : str
        Which rows are in it, such as "x0 <= 3.2 and place is 'north'".
    n : int
        Number of the judged rows that are in it.
    standard_error : float
        Of the coverage.
    verdict : CoverageVerdict
        Coverage, whether the intervals hold, and the range that chance explains, which is that of
        all regions together.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> x = rng.integers(100, size=4000) / 100
    >>> y = rng.normal(size=4000) * np.where(x <= 0.75, 1.0, 2.0)
    >>> found = tl.conditional_coverage(y, tl.Normal(np.zeros(4000), 1.0), {"x": x})
    >>> found.regions[0].rule, found.regions[0].verdict.decision
    ('x > 0.75', 'too narrow')
    """

    rule: str
    n: int
    standard_error: float
    verdict: CoverageVerdict

    @property
    def coverage(self) -> float:
        """Share of the outcomes inside their interval."""
        return self.verdict.coverage


@dataclass(frozen=True, repr=False)
class ConditionalCoverage:
    """Result of `conditional_coverage`.

    Attributes
    ----------
    n : int
        Number of rows.
    coverage, coverage_target : float
        Share of outcomes inside the interval, and its probability.
    ert : float
        Excess risk of the target coverage for the absolute loss, L1-ERT: the mean distance of the
        coverage given x from its target, as far as it can be learned. A perfect forecast has 0 up
        to chance; a negative value is chance.
    ert_l2, ert_kl : float
        The same for the squared loss and the log loss: the mean of the squared distance, and of
        the Kullback-Leibler divergence of the coverage given x from its target.
    worst_slab : float
        Coverage in the slab of the feature space where it was lowest in one half of the rows, of
        the rows of the other half. A slab is the part between two parallel planes, and this one
        held a tenth of the rows at least.
    ert_error, ert_l2_error, ert_kl_error, worst_slab_error : float
        Standard errors, of independent rows.
    worst_slab_rows : int
        Number of rows that `worst_slab` is the coverage of.
    regions : tuple of Region
        Regions that together hold all rows, the lowest coverage first.
    n_fit : float or None
        Number of rows that a recalibrator was fitted on.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=500)
    >>> found = tl.conditional_coverage(y, tl.Normal(np.zeros(500), 1.0), rng.normal(size=500))
    >>> found.holds, bool(abs(found.ert) < 3 * found.ert_error)
    (True, True)
    """

    n: int
    coverage: float
    coverage_target: float
    ert: float
    ert_error: float
    ert_l2: float
    ert_l2_error: float
    ert_kl: float
    ert_kl_error: float
    worst_slab: float
    worst_slab_error: float
    worst_slab_rows: int
    regions: tuple[Region, ...]
    n_fit: float | None = None

    @property
    def off(self) -> tuple[Region, ...]:
        """Regions in which the intervals are known not to hold."""
        return tuple(region for region in self.regions if region.verdict.off)

    @property
    def holds(self) -> bool:
        """Whether no region is known in which the intervals do not hold."""
        return not self.off

    @property
    def _excess(self) -> float:
        """ERT above what the sampling noise of a map explains, in standard errors."""
        c, k = self.coverage_target, self.n_fit
        noise = 0.0 if k is None else _NOISE * math.sqrt(c * (1.0 - c) / (k + 2.0))
        excess = self.ert - noise
        return math.inf if excess > self.ert_error == 0.0 else excess / (self.ert_error or 1.0)

    @property
    def sentence(self) -> str:
        """The regions in which the intervals do not hold, in words."""
        intervals = f"{percent(self.coverage_target)} intervals"
        if self.n < FEWEST_ROWS:
            return (
                f"{count(self.n, 'row')} are too few to tell where {intervals} hold; at least "
                f"{FEWEST_ROWS} are needed."
            )
        if self.holds:
            text = f"No region was found in which {intervals} do not hold"
            if self._excess > _CLEAR:
                text += f", but they do not hold for every x: ERT is {self._excess:.2g} standard "
                text += "errors above what chance explains"
            return f"{text}."
        if self.regions[0].rule == EVERYWHERE:
            return f"{intervals} are {self.off[0].verdict.words} in all regions alike."
        parts = []
        for words in dict.fromkeys(r.verdict.words for r in self.off):
            found = [r for r in self.off if r.verdict.words == words]
            # Of those that are too wide, the last ones cover most.
            worst = found if found[0].coverage < self.coverage_target else found[::-1]
            where = [f"where {r.rule} ({r.coverage:.1%})" for r in worst[:_MOST_NAMED]]
            more = len(found) - _MOST_NAMED
            where += [f"in {count(more, 'more region')}"] if more > 0 else []
            parts.append(f"{words} {', and '.join(where)}")
        return f"{intervals} are {'; '.join(parts)}."

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers, with the regions as a list of dicts.

        Examples
        --------
        >>> import trueline as tl
        >>> found = tl.conditional_coverage([0.0, 1.0], tl.Normal([0.0, 0.0], 1.0), [1.0, 2.0])
        >>> found.to_dict()["regions"][0]["rule"]
        'all rows'
        """
        regions = [
            {
                "rule": r.rule,
                "n": r.n,
                "coverage": r.coverage,
                "standard_error": r.standard_error,
                "decision": r.verdict.decision,
                "low": r.verdict.low,
                "high": r.verdict.high,
            }
            for r in self.regions
        ]
        return {**asdict(self), "regions": regions}

    def __repr__(self) -> str:
        """Return the numbers, a table of the regions, and a sentence."""
        numbers = [f"  {name:<13}{value:<17}{note}" for name, value, note in self._lines()]
        lines = [f"  {'rows':>8}{'coverage':>10}   by chance"]
        for rule, rows, share, by_chance, decision in self._cells():
            word = "" if decision == "holds" else f"{decision}: "
            lines.append(f"  {rows:>8}{share:>10}   {by_chance:<14}   {word}{rule}")
        return "\n".join([self._title(), *numbers, *lines, self.sentence])

    def _repr_html_(self) -> str:
        """Return the same as HTML tables."""
        return tag(
            "div",
            table(["", "value", "note"], self._lines(), self._title()),
            table(["region", "rows", "coverage", "by chance", "intervals"], self._cells()),
            tag("p", self.sentence),
            style="overflow-x: auto",
        )

    def _cells(self) -> list[tuple[str, ...]]:
        """Return the regions as text: rule, rows, coverage, range of chance, decision."""
        found = [(r, r.verdict) for r in self.regions]
        return [
            (r.rule, f"{r.n:,}", f"{r.coverage:.1%}", f"{v.low:.1%} to {v.high:.1%}", v.decision)
            for r, v in found
        ]

    def _title(self) -> str:
        target = percent(self.coverage_target)
        return f"Conditional coverage of {count(self.n, 'row')}, {target} intervals"

    def _lines(self) -> list[tuple[str, str, str]]:
        """Return the numbers with their standard errors, and a note on each."""
        lines = [("coverage", f"{self.coverage:.1%}", "on average")]
        if not math.isnan(self.ert):
            ert = f"{self.ert:.4f} ± {self.ert_error:.4f}"
            slab = f"{self.worst_slab:.1%} ± {self.worst_slab_error:.1%}"
            rows = f"of {count(self.worst_slab_rows, 'row')} that did not choose the slab"
            target = percent(self.coverage_target)
            lines.append(("ERT", ert, f"mean distance from {target} given x"))
            lines.append(("worst slab", slab, rows))
        return lines


def conditional_coverage(
    y: ArrayLike,
    dist: ForecastLike,
    X: Any,
    coverage: float = 0.9,
    *,
    sample_weight: ArrayLike | None = None,
    n_fit: float | None = None,
    random_state: RandomState = 0,
) -> ConditionalCoverage:
    """Whether intervals hold given x: for these customers, in that place, and not only on average.

    Three views of the coverage given x, P(Y in interval | X = x), which a true forecast has at its
    target for every x:

    - ERT, the excess risk of the target coverage (Braun, Holzmüller, Jordan and Bach, 2025,
      arXiv:2512.11779). A classifier learns from the other folds whether an outcome is inside.
      The constant target cannot be beaten if the coverage given x is equal to it, and the risk
      by which the classifier beats it is a lower bound of the mean distance.
    - The worst slab (Cauchois, Gupta and Duchi, 2021, JMLR 22): a random half of the rows chooses
      among slabs in 500 random directions and along each axis, and the other half gives the
      coverage. The features are replaced by their ranks first.
    - Regions: a tree of at most six leaves is grown on one half, and its leaves are judged on the
      other. In each, chance explains a range of coverages, by the law of the counts that
      `evaluate` uses, corrected for the number of regions (Bonferroni). If the coverage given x
      is right everywhere, some region is called off with probability 5% at most.

    Parameters
    ----------
    y : (n,) array-like
        Outcomes that neither the model nor a recalibrator has seen.
    dist : Distribution, or what `as_distribution` takes
        The n forecasts. Outcomes on an atom of their forecast, such as counts, are placed within
        its step at random, as in `pit` with ``randomized=True``, so that the target is met exactly.
    X : data frame, dict of columns, or array, (n,) or (n, k)
        Features. Text, categories and booleans are read as categories; values may be missing.
    coverage : float, default 0.9
        Probability of the central interval.
    sample_weight : (n,) array-like, optional
        Weights of the rows. Rows of weight 0 are left out.
    n_fit : float, optional
        Number of rows that a recalibrator was fitted on; by default as `dist` knows it. It widens
        the ranges that chance explains, not the standard errors.
    random_state : None, int or numpy.random.Generator, default 0
        For halves, folds and directions.

    Returns
    -------
    ConditionalCoverage
        With fewer than 100 rows nothing is learned: ERT and worst slab are NaN, and all rows are
        the only region.

    Examples
    --------
    A forecast of one width, where a quarter of the rows is twice as noisy:

    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> x = rng.integers(100, size=4000) / 100
    >>> y = rng.normal(size=4000) * np.where(x < 0.75, 1.0, 2.0)
    >>> tl.conditional_coverage(y, tl.Normal(np.zeros(4000), 1.33), {"x": x})
    Conditional coverage of 4,000 rows, 90% intervals
      coverage     90.7%            on average
      ERT          0.1046 ± 0.0043  mean distance from 90% given x
      worst slab   70.7% ± 2.7%     of 276 rows that did not choose the slab
          rows  coverage   by chance
           522     68.0%   87.0% to 92.9%   too narrow: x > 0.74
         1,478     97.4%   88.2% to 91.7%   too wide: x <= 0.74
    90% intervals are too narrow where x > 0.74 (68.0%); too wide where x <= 0.74 (97.4%).
    """
    c = level(coverage, "coverage")
    outcomes, forecast, w = check_rows(y, dist, sample_weight)
    check_labels(y=y, dist=dist, X=X)
    features = Table.read(X, outcomes.size)
    if not forecast._has_spread:
        raise InputError(
            "the forecasts are points, which have no intervals; expected forecasts with a spread. "
            "Fit a map on other rows first, and give the forecasts after it."
        )
    fit, rng = rows_of_fit(n_fit, forecast), generator(random_state)
    if w is not None and not w.min() > 0:
        kept = np.flatnonzero(w > 0)
        outcomes, forecast, w = outcomes[kept], forecast._take(kept), w[kept]
        features = features.take(kept)
    u = uniform_rows(outcomes, forecast, rng)
    inside = np.abs(u - 0.5) <= 0.5 * c
    found = chance_given_x(inside, features, w, c, rng)
    return ConditionalCoverage(
        outcomes.size,
        float(np.average(inside, weights=w)),
        c,
        *found.l1,
        *found.l2,
        *found.kl,
        *found.slab,
        found.slab_rows,
        _judged(found.regions, inside, w, c, fit),
        fit,
    )


def _judged(
    found: list[tuple[str, Rows]],
    inside: NDArray[np.bool_],
    w: FloatArray | None,
    c: float,
    n_fit: float | None,
) -> tuple[Region, ...]:
    """Return the regions with the coverage of the judged rows, the lowest first."""
    regions = []
    for rule, rows in found:
        weight = None if w is None else w[rows]
        share, error = Mean.of(inside[rows], weight)
        n = effective_size(weight, len(rows))
        low, high = chance_range(n, c, n_fit, LEVEL / len(found))
        verdict = decide_coverage(share, c, float(low), float(high))
        regions.append(Region(rule, len(rows), error, verdict))
    return tuple(sorted(regions, key=lambda region: region.coverage))
