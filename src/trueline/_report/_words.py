"""What the numbers say, in plain words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from trueline._report._numbers import counted, number, percent, promise

Verdict = Literal["holds", "seldom", "often"]

_NEGLIGIBLE_GAP = 0.01
_NEGLIGIBLE_SHARE_OF_MISSES = 0.1
# Where chance alone moves the share by more than this, the rows are few.
_FEW_ROWS_SPAN = 0.15
# Inner levels of the calibration error: nothing can go wrong at 0 and 1.
_INNER_LEVELS = 9


@dataclass(frozen=True)
class Facts:
    """What is said of one forecast.

    Attributes
    ----------
    name : str
    rows : float
        Number of rows; with weights the effective one.
    n_fit : float or None
        Rows that it was recalibrated on, if known.
    coverage, target : float
        Share of outcomes inside the intervals, and what it should be.
    low, high : float
        Where chance alone would put the share of a perfect forecast.
    width : float
        Mean width of the intervals.
    error, floor : float
        Calibration error, and that of a perfect forecast.
    in_band : bool
        Whether the calibration curve lies in its band.
    crps, log_score : float
    recalibrated : bool
        Whether it is known to have been recalibrated.
    rough : bool
        Whether its density is that of an isotonic map.
    """

    name: str
    rows: float
    n_fit: float | None
    coverage: float
    target: float
    low: float
    high: float
    width: float
    error: float
    floor: float
    in_band: bool
    crps: float
    log_score: float = math.nan
    recalibrated: bool = False
    rough: bool = False

    @property
    def gap(self) -> float:
        """Distance of the share from its target."""
        return abs(self.coverage - self.target)

    @property
    def by_chance(self) -> bool:
        """Whether chance explains the gap."""
        return self.low <= self.coverage <= self.high

    @property
    def verdict(self) -> Verdict:
        """Whether the intervals keep their promise, as far as anyone can tell or would care."""
        if self.by_chance or self.gap <= negligible_gap(self.target):
            return "holds"
        return "seldom" if self.coverage < self.target else "often"

    @property
    def at_the_floor(self) -> bool:
        """Whether there is no calibration left to win that could be told from noise."""
        return self.in_band or self.error <= 2.0 * self.floor

    @property
    def settled(self) -> bool:
        """Whether what is left to win could not be seen or would not matter."""
        return self.at_the_floor or self.small

    @property
    def small(self) -> bool:
        """Whether the curve is so near to the diagonal that nobody would act on it."""
        return _points_off(self.error) <= 100 * _NEGLIGIBLE_GAP

    @property
    def few_rows(self) -> bool:
        """Whether chance alone moves the share too far to say much."""
        return self.high - self.low > _FEW_ROWS_SPAN

    @property
    def fine(self) -> bool:
        """Whether there is nothing to recalibrate."""
        return self.verdict == "holds" and self.settled

    @property
    def share(self) -> str:
        """The coverage in words."""
        return percent(self.coverage, self.rows)


@dataclass(frozen=True)
class Difference:
    """A mean difference between two forecasts, second minus first, with its standard error.

    It is infinite where one of them is, and NaN where both are.
    """

    mean: float
    error: float

    @property
    def clear(self) -> bool:
        """Whether it is more than two standard errors from 0."""
        return math.isinf(self.mean) or abs(self.mean) > 2.0 * self.error


def negligible_gap(target: float) -> float:
    """Distance of a share from its target that nobody would act on, however many rows tell it."""
    return min(_NEGLIGIBLE_GAP, _NEGLIGIBLE_SHARE_OF_MISSES * (1.0 - target))


def headline(*facts: Facts) -> str:
    """Return the one sentence to read first."""
    first, last = facts[0], facts[-1]
    who, then = _subjects(facts)
    if first.width == 0:
        return _without_intervals(facts, then)
    start = f"{who} hold {first.share} of the time"
    if len(facts) == 1:
        return f"{start}{_judgement(first)}."
    if first.verdict == "holds":
        start += _judgement(first)
    if last.verdict == "holds":
        return f"{start}; {then} {last.share}, and they are {_wider(facts)}."
    if last.gap < first.gap:
        still = "still " if last.verdict == first.verdict else "now "
        better = f"better but {still if is_mended(facts) else ''}too {last.verdict}"
        return f"{start}; {then} {last.share}, {better}, and they are {_wider(facts)}."
    end = "no better" if last.gap == first.gap else "worse"
    return f"{start}; {then} {last.share}, which is {end}."


def explanations(facts: tuple[Facts, ...], crps: Difference | None) -> list[str]:
    """Return what to know beside the headline; `crps` is the difference of two forecasts."""
    found = [_chance(facts), _all_levels(facts)]
    if crps is not None:
        found += [_score(facts, crps), _density(facts, crps)]
    alone = len(facts) == 1
    found.append(_advice(facts, crps) if alone or is_mended(facts) else _comparison(facts))
    return [sentence for sentence in found if sentence]


def is_mended(facts: tuple[Facts, ...]) -> bool:
    """Whether the second forecast is the first after recalibration, as far as anyone can tell."""
    if len(facts) == 1:
        return False
    first, last = facts
    return _says_so(facts) or (last.recalibrated and not first.recalibrated)


def _says_so(facts: tuple[Facts, ...]) -> bool:
    return [f.name.lower() for f in facts] == ["before", "after"]


def _subjects(facts: tuple[Facts, ...]) -> tuple[str, str]:
    """Return how to speak of the intervals, and of those of the second forecast."""
    intervals = f"{promise(facts[0].target)} intervals"
    if len(facts) == 1 or _says_so(facts):
        return f"Your {intervals}", "after recalibration"
    return f"With “{facts[0].name}”, {intervals}", f"with “{facts[1].name}”"


def _judgement(facts: Facts) -> str:
    if facts.few_rows and facts.verdict == "holds":
        return f", which {counted(facts.rows, 'row')} cannot tell from {promise(facts.target)}"
    return {
        "holds": ", as they should",
        "seldom": ", less often than they promise",
        "often": ", more often than they promise: they are wider than they need be",
    }[facts.verdict]


def _without_intervals(facts: tuple[Facts, ...], then: str) -> str:
    """Return the headline where the first forecast has no uncertainty."""
    named = len(facts) > 1 and not _says_so(facts)
    start = f"“{facts[0].name}”" if named else "Your forecast"
    start += " is one number a row and does not say how sure it is"
    if len(facts) == 1:
        return f"{start}."
    last = facts[1]
    if last.width == 0:
        return f"{start}; {then} it does not either."
    holding = f"{promise(last.target)} intervals that hold {last.share} of the time"
    has = "there are" if named else "it has"
    return f"{start}; {then} {has} {holding}{_judgement(last)}."


def _wider(facts: tuple[Facts, ...]) -> str:
    ratio = facts[1].width / facts[0].width
    if not math.isfinite(ratio):
        return "endlessly wide"
    if ratio >= 1.5:
        return f"{number(ratio, 2)} times wider"
    if ratio >= 1.02:
        return f"{100 * (ratio - 1):.0f}% wider"
    if ratio > 0.98:
        return "as wide as before" if is_mended(facts) else "as wide"
    return f"{percent(1 - ratio, 0)} narrower"


def _chance(facts: tuple[Facts, ...]) -> str:
    """Return what the number of rows can tell about the share."""
    first, last = facts[0], facts[-1]
    rows = counted(first.rows, "row")
    low, high = (percent(share, first.rows) for share in (first.low, first.high))
    if first.few_rows:
        return (
            f"Only {rows}: by chance alone even a perfect forecast would show anything from {low} "
            f"to {high}. A few hundred rows would tell more."
        )
    perfect = "a perfect forecast"
    if last.n_fit is not None:
        low, high = (percent(share, last.rows) for share in (last.low, last.high))
        perfect = f"a forecast recalibrated on {counted(last.n_fit, 'row')}"
    text = f"By chance alone, {perfect} would show between {low} and {high} on {rows}"
    near = [f for f in facts if f.verdict == "holds" and not f.by_chance]
    if near:
        aim = promise(near[-1].target)
        text += f"; {near[-1].share} is outside, but so near to {aim} that it hardly matters"
    return f"{text}."


def _all_levels(facts: tuple[Facts, ...]) -> str:
    """Return how far the whole calibration curve is from the diagonal."""
    first, last = facts[0], facts[-1]
    text = f"Over all levels, from 10% to 90%, observed shares are off by {_points(first.error)}"
    if len(facts) > 1:
        text += "" if _says_so(facts) else f" with “{first.name}”"
        worse = ", which is worse" if last.error > first.error and not last.settled else ""
        text += f"; {_subjects(facts)[1]} by {_points(last.error)}{worse}"
    text += f", and chance alone makes about {_points(last.floor)}"
    if last.at_the_floor:
        if last.few_rows:
            few = "is" if round(last.rows) == 1 else "are"
            more = "" if last.verdict == "holds" else " more"
            return f"{text}: {counted(last.rows, 'row')} {few} too few to tell{more}."
        if last.error <= 2.0 * last.floor:
            return f"{text}: there is little or nothing left to win there."
        return f"{text}: more, but the curve stays where chance alone would keep it."
    times = f"the calibration error, which squares them, is {_times(last)} its floor"
    return f"{text}: {times}{', but small' if last.settled else ''}."


def _times(facts: Facts) -> str:
    return f"{number(facts.error / facts.floor, 2)} times"


def _points_off(error: float) -> float:
    """Root mean square distance of a curve from the diagonal, in percent, from its Eq. 9."""
    return 100 * math.sqrt(error / _INNER_LEVELS)


def _points(error: float) -> str:
    points = _points_off(error)
    text = number(points, 2 if points >= 1 else 1)
    return f"{text} {'point' if text == '1' else 'points'}"


def _score(facts: tuple[Facts, ...], crps: Difference) -> str:
    before, after = (number(f.crps) for f in facts)
    start = "CRPS, the score that weighs everything,"
    mended, (first, last) = is_mended(facts), (f"“{f.name}”" for f in facts)
    if before == after:
        return f"{start} stays at {after}." if mended else f"{start} is {after} with both."
    if mended:
        start = f"{start} goes from {before} to {after}"
    else:
        start = f"{start} is {before} with {first} and {after} with {last}"
    if not crps.clear:
        return f"{start}: no more than chance explains."
    change = facts[1].crps / facts[0].crps - 1 if facts[0].crps else math.inf
    share = f"{percent(abs(change), 0)} " if math.isfinite(crps.mean + change) else ""
    who = "" if mended else f"{last} is "
    return f"{start}: {who}{share}{'better' if crps.mean < 0 else 'worse'}."


def _density(facts: tuple[Facts, ...], crps: Difference) -> str:
    """Return why the log score got worse where CRPS did not, if an isotonic map is why."""
    first, last = facts
    if not (is_mended(facts) and last.rough and crps.mean < 0 and last.log_score > first.log_score):
        return ""
    before, after = (number(f.log_score) for f in facts)
    return (
        f"The log score goes from {before} to {after}, which is worse: it looks at the density "
        f"alone, and an isotonic map has a rough one. Where densities matter, recalibrate with "
        f"the method “smooth”."
    )


def _comparison(facts: tuple[Facts, ...]) -> str:
    """Return which of two forecasts keeps its promise, where neither is the other mended."""
    if any(f.width == 0 for f in facts):  # it promises nothing
        return ""
    first, last = (f"“{f.name}”" for f in facts)
    holds = [f.verdict == "holds" for f in facts]
    if not any(holds):
        return f"Neither {first} nor {last} keeps its promise of {promise(facts[0].target)}."
    few = facts[0].few_rows or facts[1].few_rows
    if all(holds):
        if few:
            return f"The rows are too few to tell which of {first} and {last} keeps its promise."
        return f"Both {first} and {last} keep their promise of {promise(facts[0].target)}."
    good, bad = (first, last) if holds[0] else (last, first)
    if few:
        return f"{bad} does not keep its promise; for {good} the rows are too few to tell."
    return f"{good} keeps its promise of {promise(facts[0].target)}, {bad} does not."


def _advice(facts: tuple[Facts, ...], crps: Difference | None) -> str:
    """Return what to do next."""
    first, last = facts[0], facts[-1]
    if len(facts) == 1:
        if not last.fine:
            return "Recalibrate it on rows that the model has not seen, and look at both here."
        # Where rows are few, that nothing shows says little.
        return "" if last.few_rows else "There is nothing to recalibrate."
    again = "ecalibrate on more rows, and on rows that are like these."
    if last.verdict != "holds" and last.gap >= first.gap:
        return f"Keep the first, or r{again}" if first.fine else f"R{again}"
    if crps is not None and crps.clear and crps.mean > 0:
        return f"The score got worse all the same: r{again}"
    if first.fine and last.fine and not first.few_rows:
        return "There was nothing to recalibrate: the first was as good as chance lets anyone see."
    return "" if last.fine else f"To come closer, r{again}"
