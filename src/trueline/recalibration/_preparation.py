"""What is done to forecasts before they are scored: a least width, and the atoms of outcomes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._validation import FloatArray
from trueline.distributions import Cut, Distribution, Support, is_continuous, learn_support
from trueline.distributions._atoms import Atoms
from trueline.recalibration._least_width import LawOf, has_outlying, in_order, least_width
from trueline.scores import (
    ScoreRows,
    Scores,
    check_outcomes,
    empirical_law,
    sorted_are_in_range,
)

#: Number of rows that a preparation is learned from, at least, if rows come in parts.
FIRST_ROWS = 10_000
# Rows from which cuts are learned: their number times that of cuts, and the fewest.
_ENOUGH = 1 << 17
_FEWEST = 2000
# Times that cuts and map are learned from each other, and shares of the way to cuts that match the
# forecasts before recalibration.
_ROUNDS = 3
_STEPS = (0.25, 0.5, 0.75, 1.0)
# Steps that halve the range of a cut, and digits of the share of that range that are kept.
_HALVINGS = 16
_DIGITS = 4


@dataclass(frozen=True)
class Preparation:
    """Forecasts are widened by `least_width` and cut at `atoms`, in this order.

    Examples
    --------
    >>> import trueline as tl
    >>> from trueline.recalibration import Preparation
    >>> Preparation(0.5)(tl.Normal([0.0], 1.0)).std()
    array([1.5])
    """

    least_width: float = 0.0
    atoms: Atoms | None = None

    def __call__(self, dist: Distribution) -> Distribution:
        """Return the prepared forecasts."""
        wide = dist._widened(self.least_width)
        return wide if self.atoms is None else Cut(wide._uncut(), self.atoms)

    def excludes(self, y: FloatArray) -> NDArray[np.bool_]:
        """Whether the prepared forecasts give each outcome neither mass nor density, (n,)."""
        if self.atoms is None:
            return np.zeros(len(y), dtype=bool)
        on_atom = self.atoms.upper(y) > self.atoms.lower(y)
        return ~(on_atom | (self.atoms.log_slope(y) > -np.inf))

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON types."""
        atoms = None if self.atoms is None else self.atoms.to_json()
        return {"least_width": self.least_width, "atoms": atoms}

    def __str__(self) -> str:
        """Describe the preparation in a message."""
        parts = [f"a least width of {self.least_width:g}"] if self.least_width else []
        if self.atoms is not None:
            values, cuts = (
                ", ".join(f"{v:g}" for v in a[:3]) + (", ..." if len(a) > 3 else "")
                for a in (self.atoms.values, self.atoms.cuts)
            )
            parts.append(f"atoms at {values} (cuts at {cuts})")
        return " and ".join(parts) or "no least width and no atoms"


def check_same_preparation(one: Preparation, other: Preparation) -> None:
    """Raise if the scores of two sets of rows cannot be merged."""
    if one != other:
        raise ValueError(
            f"the maps were fitted with {one} and with {other}; expected the same. Fit one of "
            f"them on all rows, or with partial_fit."
        )


def check_support(support: object) -> None:
    """Raise unless the parameter is "auto", "counts", a `Support` or None."""
    if support is None or isinstance(support, Support):
        return
    if not (isinstance(support, str) and support in {"auto", "counts"}):
        raise ValueError(
            f'support is {support!r}; expected "auto", "counts", None for outcomes without atoms, '
            f"or a Support such as Support(low=0)."
        )


def stated_support(support: Support | str | None) -> Support | None:
    """Return the support that the parameter states; None if it is to be learned or there is none.

    Examples
    --------
    >>> from trueline.recalibration._preparation import stated_support
    >>> stated_support("counts"), stated_support("auto")
    (Support(low=0.0, step=1.0), None)
    """
    if isinstance(support, str):
        return Support(low=0, step=1) if support == "counts" else None
    return support


def find_support(support: Support | str | None, y: FloatArray) -> Support | None:
    """Return the support that the parameter asks for, given outcomes; they are checked."""
    if isinstance(support, str) and support == "auto":
        return learn_support(y)
    stated = stated_support(support)
    if stated is not None:
        stated.check(y)
    return stated


def prepare(
    support: Support | str | None,
    y: ArrayLike,
    dist: Distribution,
    sample_weight: ArrayLike | None,
    law_of: LawOf = empirical_law,
) -> Preparation:
    """Learn how forecasts are prepared from outcomes, their forecasts and weights.

    `law_of` is the map, as a function from sorted scores to the law of the score.
    """
    outcomes, w = check_outcomes(y, dist, sample_weight)
    if w is not None and not w.min() > 0:
        kept = np.flatnonzero(w > 0)
        outcomes, dist, w = outcomes[kept], dist._take(kept), w[kept]
    if not np.isfinite(outcomes).all():
        return Preparation()  # the scores raise an error that names the row
    width = least_width(outcomes, dist, w, law_of)
    found = find_support(support, outcomes)
    atoms = None if found is None else found.atoms(outcomes)
    return with_learned_cuts(Preparation(width, atoms), outcomes, dist, w)


def unprepared_scores(
    support: Support | str | None, y: ArrayLike, dist: Distribution
) -> Scores | None:
    """Return the sorted scores of rows that need no preparation; None if `prepare` has to decide.

    Most rows need none: outcomes are continuous and no score is outlying, which sorted scores show
    at once. This spares a second pass over the forecasts.
    """
    rows = ScoreRows.of_outcomes(y, dist)
    learned = isinstance(support, str) and support == "auto"
    if rows.are_intervals or rows.outcomes is None or not (learned or support is None):
        return None
    if learned and not is_continuous(rows.outcomes):
        return None
    s = rows.lower
    s.sort()
    if not sorted_are_in_range(s) or has_outlying(s, in_order=True):
        return None
    return Scores.of_sorted(rows.kind, s, None)


def with_learned_cuts(
    preparation: Preparation, y: FloatArray, dist: Distribution, w: FloatArray | None
) -> Preparation:
    """Move the cuts to where recalibrated forecasts have the lowest CRPS.

    A forecast of rain is hardly ever exactly 0, and one of ratings stays away from the extremes,
    so that a cut at 0, or halfway between ratings, gives some atoms too little. Cuts at which the
    mean forecast, before or after recalibration, gives each atom its share in y are candidates.
    The cuts stay where they are unless a candidate is better by more than one standard error.
    """
    atoms = preparation.atoms
    if atoms is None:
        return preparation
    share = np.full(len(y), 1.0 / len(y)) if w is None else w / w.sum()
    below = atoms.values_below_cuts()
    places = np.searchsorted(below, y, side="left")
    wanted = np.cumsum(np.bincount(places, share, len(below) + 1), dtype=np.float64)[:-1]
    some = np.arange(places.min(), places.max())  # cuts with outcomes on both sides
    limits = tuple(ends[some] for ends in atoms.cut_ranges(y))
    most = max(_ENOUGH // max(len(some), 1), _FEWEST)
    if len(y) > most:
        few = in_order(y, dist, w)[:: -(-len(y) // most)]
        y, dist, w = y[few], dist._take(few), None if w is None else w[few]
        share = share[few] / share[few].sum()
    wide = dist._widened(preparation.least_width)._uncut()
    rows = _Rows(y, wide, w, share)

    def matched(start: Atoms, recalibrated: Distribution) -> Atoms:
        cuts = start.cuts.copy()
        cuts[some] = _solve(recalibrated, share, wanted[some], limits)
        return start.with_cuts(cuts)

    raw = matched(atoms, wide)
    candidates = [atoms.with_cuts(atoms.cuts + t * (raw.cuts - atoms.cuts)) for t in _STEPS]
    after = atoms
    for _ in range(_ROUNDS):
        after = matched(after, rows.recalibrated(after)._uncut())
    best, loss = atoms, rows.losses(atoms)
    for candidate in dict.fromkeys([*candidates, after]):
        found = rows.losses(candidate)
        gain = loss - found
        mean = float(share @ gain)
        if mean > np.sqrt(share**2 @ (gain - mean) ** 2):
            best, loss = candidate, found
    return replace(preparation, atoms=best)


@dataclass(frozen=True)
class _Rows:
    """Rows that cuts are learned from."""

    y: FloatArray
    dist: Distribution
    w: FloatArray | None
    share: FloatArray

    def recalibrated(self, atoms: Atoms) -> Distribution:
        """Return the forecasts, cut at these atoms and recalibrated on the rows themselves."""
        cut = Cut(self.dist, atoms)
        return cut._recalibrate(empirical_law(ScoreRows.of_outcomes(self.y, cut, self.w).sort()))

    def losses(self, atoms: Atoms) -> FloatArray:
        """Return the CRPS of each row."""
        return self.recalibrated(atoms)._crps(self.y[:, None])[:, 0]


def _solve(
    dist: Distribution,
    share: FloatArray,
    wanted: FloatArray,
    limits: tuple[FloatArray, ...],
) -> FloatArray:
    """Return the cuts at which the mean CDF has the wanted values, within their limits."""
    low, high = limits
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        below = share @ np.broadcast_to(dist._cdf(middle[None, :]), (len(dist), len(low))) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    # Rounded, so that the order of rows cannot change a cut.
    unit = (limits[1] - limits[0]) * 10.0**-_DIGITS
    steps = np.round((0.5 * (low + high) - limits[0]) / np.where(unit > 0, unit, 1.0))
    return limits[0] + steps * unit
