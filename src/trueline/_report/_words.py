"""The page's sentences about one forecast, or one before and after recalibration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from trueline._messages import percent as promise
from trueline._report._numbers import counted, measured, number, percent
from trueline.comparison import Difference
from trueline.metrics import Evaluation, Verdict

# Levels of the calibration error that can deviate: 0.1, ..., 0.9.
_INNER_LEVELS = 9
# Characters of a name in a sentence.
_LONGEST_NAME = 32


@dataclass(frozen=True)
class Facts:
    """Facts about one forecast that the sentences are made from.

    ``recalibrated`` says whether it is known to be the other forecast of the page after
    recalibration, ``rough`` whether its density is that of an isotonic map.
    """

    name: str
    evaluation: Evaluation
    recalibrated: bool = False
    rough: bool = False

    @property
    def quoted(self) -> str:
        """The name for sentences, in quotes and not too long."""
        return f"“{short(self.name)}”"

    @property
    def verdict(self) -> Verdict:
        """The verdict of its evaluation."""
        return self.evaluation.verdict

    @property
    def rows(self) -> float:
        """Number of rows; with weights the effective one."""
        return self.evaluation.n_effective

    @property
    def target(self) -> float:
        """Probability of the intervals."""
        return self.evaluation.coverage_target

    @property
    def width(self) -> float:
        """Mean width of the intervals."""
        return self.evaluation.interval_width

    @property
    def gap(self) -> float:
        """Distance of the coverage from what the forecast expects."""
        return self.verdict.coverage.gap

    @property
    def off(self) -> bool:
        """Whether the intervals are known not to hold."""
        return self.verdict.coverage.off

    @property
    def settled(self) -> bool:
        """Whether there is no calibration left to win that chance does not explain or matters."""
        return self.verdict.calibration.decision != "recalibrate"

    @property
    def fine(self) -> bool:
        """Whether there is nothing to recalibrate."""
        return self.settled and not self.off

    @property
    def share(self) -> str:
        """The coverage as text."""
        return percent(self.evaluation.coverage, self.rows)


def short(name: str) -> str:
    """Return a name for sentences and legends, without its middle if it is long.

    Tables and titles have the whole name. The two ends tell names of one kind apart.

    >>> short("a network with seven layers, week 12")
    'a network with … week 12'
    """
    half = _LONGEST_NAME // 2 - 1
    if len(name) <= _LONGEST_NAME:
        return name
    start, end = name[:half], name[-half:]
    # Whole words, where there are some.
    start = start.rpartition(" ")[0] or start
    end = end.partition(" ")[2] or end
    return f"{start} … {end}"


def headline(*facts: Facts) -> str:
    """Return the first sentence of the page."""
    first, last = facts[0], facts[-1]
    who, then = _subjects(facts)
    if first.width == 0:
        return _without_intervals(facts, then)
    start = f"{who} hold {first.share} of the time"
    if len(facts) == 1:
        return f"{start}: {first.verdict.coverage.words}."
    if not first.off:
        start += f" ({first.verdict.coverage.words})"
    if not last.off:
        return f"{start}; {then} {last.share}, and they are {_wider(facts)}."
    if last.gap < first.gap:
        decisions = [f.verdict.coverage.decision for f in facts]
        still = "still " if decisions[0] == decisions[1] else "now "
        better = f"better but {still}{decisions[1]}"
        return f"{start}; {then} {last.share}, {better}, and they are {_wider(facts)}."
    end = "no better" if last.gap == first.gap else "worse"
    return f"{start}; {then} {last.share}, which is {end}."


def explanations(facts: tuple[Facts, ...], crps: Difference | None = None) -> list[str]:
    """Return the sentences below the headline; `crps` is the difference of two forecasts."""
    found = [*reasons(facts, named=len(facts) > 1), chance(facts), all_levels(facts)]
    if crps is not None:
        found += [_score(facts, crps), _density(facts, crps)]
    found.append(_advice(facts, crps))
    return [sentence for sentence in found if sentence]


def is_recalibration(facts: tuple[Facts, ...]) -> bool:
    """Whether there are two forecasts, and the second seems to be the first one, recalibrated."""
    if len(facts) != 2:
        return False
    first, last = facts
    return _are_before_and_after(facts) or (last.recalibrated and not first.recalibrated)


def _are_before_and_after(facts: tuple[Facts, ...]) -> bool:
    return [f.name.lower() for f in facts] == ["before", "after"]


def _subjects(facts: tuple[Facts, ...]) -> tuple[str, str]:
    """Return the words for the intervals, and for those of the second forecast."""
    intervals = f"{promise(facts[0].target)} intervals"
    if len(facts) == 1 or _are_before_and_after(facts):
        return f"Your {intervals}", "after recalibration"
    return f"With {facts[0].quoted}, {intervals}", f"with {facts[1].quoted}"


def _without_intervals(facts: tuple[Facts, ...], then: str) -> str:
    """Return the headline where the first forecast has no uncertainty."""
    named = len(facts) > 1 and not _are_before_and_after(facts)
    start = f"{facts[0].quoted}" if named else "Your forecast"
    start += " is one number per row, without uncertainty"
    if len(facts) == 1:
        return f"{start}."
    last = facts[1]
    if last.width == 0:
        return f"{start}; {then} it still is."
    holding = f"{promise(last.target)} intervals that hold {last.share} of the time"
    has = "there are" if named else "it has"
    return f"{start}; {then} {has} {holding}: {last.verdict.coverage.words}."


def _wider(facts: tuple[Facts, ...]) -> str:
    ratio = facts[1].width / facts[0].width
    if not math.isfinite(ratio):
        return "infinitely wide"
    if ratio >= 1.5:
        return f"{number(ratio, 2)} times wider"
    if ratio >= 1.02:
        return f"{100 * (ratio - 1):.0f}% wider"
    if ratio > 0.98:
        return "as wide as before"
    return f"{percent(1 - ratio, 0)} narrower"


def reasons(facts: Sequence[Facts], *, named: bool) -> list[str]:
    """Return why a coverage other than the promised one is expected, where it is."""
    found = [(f.quoted, f.verdict.coverage.reason) for f in facts]
    return [f"{name}: {reason}" if named else reason for name, reason in found if reason]


def chance(facts: tuple[Facts, ...]) -> str:
    """Return what the number of rows can tell about the coverage."""
    first, last = facts[0], facts[-1]
    rows = counted(first.rows, "row")
    low, high = _range(first)
    if first.verdict.coverage.few_rows:
        return (
            f"On {rows} a perfect forecast would show anything from {low} to {high}, by chance "
            f"alone. A few hundred rows would tell more."
        )
    perfect = "a perfect forecast"
    if last.evaluation.n_fit is not None:
        low, high = _range(last)
        perfect = f"a forecast recalibrated on {counted(last.evaluation.n_fit, 'row')}"
    text = f"By chance alone, {perfect} would show between {low} and {high} on {rows}"
    near = [f for f in facts if not (f.off or f.verdict.coverage.by_chance)]
    if near:
        text += f"; {near[-1].share} is outside, but the gap is too small to matter"
    return f"{text}."


def _range(facts: Facts) -> tuple[str, str]:
    low, high = facts.verdict.coverage.low, facts.verdict.coverage.high
    return percent(low, facts.rows), percent(high, facts.rows)


def all_levels(facts: tuple[Facts, ...], *, named: bool = False) -> str:
    """Return how far the whole calibration curve is from the diagonal."""
    first, last = facts[0], facts[-1]
    errors = [f.evaluation.calibration_error for f in facts]
    text = f"Over all levels, from 10% to 90%, observed shares are off by {_points(errors[0])}"
    if named or (len(facts) > 1 and not _are_before_and_after(facts)):
        text += f" with {first.quoted}"
    if len(facts) > 1:
        worse = ", which is worse" if errors[-1] > errors[0] and not last.settled else ""
        text += f"; {_subjects(facts)[1]} by {_points(errors[-1])}{worse}"
    found = last.verdict.calibration
    text += f", and chance alone makes about {_points(found.floor)}"
    times = f"the calibration error, which squares them, is {number(found.error / found.floor, 2)}"
    few = "is" if round(last.rows) == 1 else "are"
    end = {
        "at the floor": "there is little or nothing left to win there",
        "explained by chance": f"more, but chance can explain it (p = {number(found.p_value, 2)})",
        "too few rows to tell": f"{counted(last.rows, 'row')} {few} too few to tell"
        f"{' more' if last.off else ''}",
        "too small to matter": f"{times} times its floor, but the gap is too small to matter",
        "recalibrate": f"{times} times its floor",
    }[found.decision]
    return f"{text}: {end}."


def _points(error: float) -> str:
    """Root mean square distance of a curve from the diagonal, in percent, from its Eq. 9."""
    points = 100 * math.sqrt(error / _INNER_LEVELS)
    text = number(points, 2 if points >= 1 else 1)
    return f"{text} {'point' if text == '1' else 'points'}"


def _score(facts: tuple[Facts, ...], crps: Difference) -> str:
    scores = [f.evaluation.crps for f in facts]
    before, after = (measured(score, crps.error) for score in scores)
    start = "CRPS, the score that weighs everything,"
    if before == after:
        return f"{start} stays at {after}."
    start = f"{start} goes from {before} to {after}"
    if not crps.clear:
        return f"{start}: no more than chance explains."
    change = scores[1] / scores[0] - 1 if scores[0] else math.inf
    share = f"{percent(abs(change), 0)} " if math.isfinite(crps.mean + change) else ""
    return f"{start}: {share}{'better' if crps.mean < 0 else 'worse'}."


def _density(facts: tuple[Facts, ...], crps: Difference) -> str:
    """Return why the log score got worse where CRPS did not, if an isotonic map is why."""
    first, last = (f.evaluation.log_score for f in facts)
    if not (facts[1].rough and crps.mean < 0 and last > first):
        return ""
    before, after = number(first), number(last)
    return (
        f"The log score goes from {before} to {after}, which is worse: it looks at the density "
        f"alone, and an isotonic map has a rough one. Where densities matter, recalibrate with "
        f"the method “smooth”."
    )


def _advice(facts: tuple[Facts, ...], crps: Difference | None) -> str:
    """Return the advice."""
    first, last = facts[0], facts[-1]
    if len(facts) == 1:
        if not last.fine:
            return "Recalibrate it on rows that the model has not seen, and report on both."
        few = last.verdict.coverage.few_rows
        return "" if few else "There is nothing to recalibrate."
    again = "ecalibrate on more rows, and on rows that are like these."
    if last.off and last.gap >= first.gap:
        return f"Keep the first, or r{again}" if first.fine else f"R{again}"
    if crps is not None and crps.clear and crps.mean > 0:
        return f"The score became worse nevertheless: r{again}"
    if first.fine and last.fine and not first.verdict.coverage.few_rows:
        return "There was nothing to recalibrate: the first was as good as the rows can tell."
    return "" if last.fine else f"To come closer, r{again}"
