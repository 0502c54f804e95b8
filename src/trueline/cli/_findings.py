"""What `fit` found: how far off the forecasts were, and what the map does about it."""

from __future__ import annotations

import shlex
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from trueline._messages import count, percent
from trueline.cli._reading import TextFormat
from trueline.files import Columns, Forecasts, Layout
from trueline.metrics import CoverageVerdict, chance_range, decide_coverage
from trueline.recalibration import Preparation, Recalibrator

# Widths that differ by less are nearly the same.
_NEARLY = 0.02
# A share above the median this close to one half is too small to matter, and the probability that
# chance moves it out of its range.
_NEGLIGIBLE = 0.01
_LEVEL = 0.01
# Values of outcomes that are named.
_MOST_VALUES = 3


@dataclass(frozen=True)
class Findings:
    """Facts about the rows of a fit, which are not those that the map will be used on.

    Attributes
    ----------
    verdict : CoverageVerdict
        Whether the intervals held, before the map.
    width, new_width : float
        Mean widths before and after the map, over a few rows from all over the file.
    above : float
        Share of the outcomes above the median of their forecasts.
    biased : bool
        Whether chance does not explain that share.
    shift : float
        Mean of what the map adds to the median, over the same rows.
    groups : Counter or None
        Number of groups for each decision on their coverage.
    preparation : Preparation
    """

    verdict: CoverageVerdict
    width: float
    new_width: float
    above: float
    biased: bool
    shift: float
    groups: Counter[str] | None
    preparation: Preparation

    @classmethod
    def of(cls, recalibrator: Recalibrator, forecasts: Forecasts) -> Self:
        """Return what a pass over the forecasts and the map say."""
        tally = forecasts.tally
        if tally is None:
            raise ValueError("the rows were not counted; expected a tally.")
        target, rows = tally.coverage, tally.effective_rows
        before, names = tally.some_rows()
        with warnings.catch_warnings():
            # Notes on the map were made when it was fitted.
            warnings.simplefilter("ignore")
            after = recalibrator.transform(before, names)
            width, new_width = (
                float(np.mean(np.subtract(*d.interval(target)[::-1]))) for d in (before, after)
            )
            shift = float(np.mean(after.median() - before.median()))
        low, high = (float(end) for end in chance_range(rows, 0.5, level=_LEVEL))
        biased = not low <= tally.above <= high and abs(tally.above - 0.5) > _NEGLIGIBLE
        by_group = None
        if recalibrator.groups_ is not None:
            by_group = Counter[str](
                _verdict(held, target, n, width).decision
                for held, n in tally.held_by_group().values()
            )
        return cls(
            _verdict(tally.held, target, rows, width),
            width,
            new_width,
            tally.above,
            biased,
            shift,
            by_group,
            recalibrator._preparation,
        )

    def in_words(self) -> list[str]:
        """Return the facts as lines."""
        return [
            self._about_width(),
            *self._about_middle(),
            *self._about_groups(),
            *self._prepared(),
        ]

    def _about_width(self) -> str:
        found = self.verdict
        target = percent(found.target)
        if found.decision == "no intervals":
            return (
                f"Point forecasts have no intervals. The map gives them some: {target} intervals "
                f"are {self.new_width:.4g} wide on average."
            )
        held = f"{target} intervals held {found.coverage:.1%} of these rows: {found.words}."
        if found.decision == "too few rows to tell":
            return held
        ratio = self.new_width / self.width
        times = f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.2g}"
        change = f"The map makes them about {times} times as wide."
        if abs(ratio - 1.0) < _NEARLY:
            change = "The map hardly changes their width."
        return f"{held} {change}"

    def _about_middle(self) -> list[str]:
        if not self.biased:
            return []
        direction = "up" if self.shift > 0 else "down"
        moves = f"The map moves it {direction} by about {abs(self.shift):.3g}."
        return [
            f"{self.above:.1%} of the outcomes were above the median of their forecast. {moves}"
        ]

    def _about_groups(self) -> list[str]:
        if self.groups is None:
            return []
        several = count(sum(self.groups.values()), "group")
        has = "has its own map" if self.groups.total() == 1 else "have a map each"
        words = {"holds": "as they should be"}
        parts = ", ".join(f"{words.get(d, d)} in {n:,}" for d, n in self.groups.most_common())
        if "no intervals" in self.groups:
            return [f"{several} {has}."]
        return [f"{several} {has}. By group, the intervals were: {parts}."]

    def _prepared(self) -> list[str]:
        width, atoms = self.preparation.least_width, self.preparation.atoms
        lines = []
        if width:
            lines.append(
                f"Some forecasts were so narrow that they would spoil the map of the others. All "
                f"get a least width of {width:.3g} first."
            )
        if atoms is not None:
            values = ", ".join(f"{value:g}" for value in atoms.values[:_MOST_VALUES])
            values += ", ..." if len(atoms.values) > _MOST_VALUES else ""
            lines.append(
                f"Outcomes repeat values ({values}): recalibrated forecasts give each of them a "
                f"probability of its own."
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the facts for JSON."""
        found = self.verdict
        no_intervals = found.decision == "no intervals"
        facts = {
            "coverage_target": found.target,
            "coverage": None if no_intervals else found.coverage,
            "verdict": found.decision,
            "interval_width": self.width,
            "interval_width_after": self.new_width,
            "share_above_median": self.above,
            "biased": self.biased,
            "median_shift": self.shift,
        }
        return facts if self.groups is None else {**facts, "verdict_of_groups": dict(self.groups)}


def _verdict(held: float, target: float, rows: float, width: float) -> CoverageVerdict:
    low, high = (float(end) for end in chance_range(rows, target))
    return decide_coverage(held, target, low, high, width=width)


def map_in_words(recalibrator: Recalibrator) -> str:
    """Return the kind of map and its size."""
    best = recalibrator.best_
    what = recalibrator._call()
    if best is not recalibrator:
        what += f" chose {best._call()}"
    if recalibrator.groups_ is not None:
        what += f", {count(len(recalibrator.groups_), 'group')}"
    off = recalibrator.compression_error_
    bound = f", rank error below {off:.2g}" if off else ""
    return f"{what}, {count(_scores(recalibrator), 'score')}{bound}"


def map_as_dict(recalibrator: Recalibrator) -> dict[str, Any]:
    """Return what is known of the map for JSON."""
    best = recalibrator.best_
    document: dict[str, Any] = {
        "knots": _scores(recalibrator),
        "compression_error": recalibrator.compression_error_,
        **recalibrator._preparation.to_json(),
    }
    if recalibrator.groups_ is not None:
        document["groups"] = [str(group) for group in recalibrator.groups_]
    if best is not recalibrator:
        document["chosen"] = best._call()
    return document


def _scores(recalibrator: Recalibrator) -> int:
    """Return the number of scores of a map; groups share them."""
    return len(recalibrator.scores_) if recalibrator.is_exportable else 0


def next_commands(out: Path, columns: Columns, text: TextFormat, layout: Layout) -> list[str]:
    """Return what to do with the map, as lines of shell with the same options."""
    options: dict[str, Any] = {
        name: getattr(columns, name)
        for name in ("mean", "std", "quantile_columns", "sample_columns", "kind", "lower", "upper")
    }
    options["coverage"] = f"{layout.coverage:g}" if layout.is_stated_interval else None
    options["group"] = columns.group
    options |= {"separator": text.separator, "decimal": text.decimal}
    given = " ".join(
        f"--{name.replace('_', '-')} {shlex.quote(value)}"
        for name, value in options.items()
        if value is not None
    )
    judged = " ".join(
        f"--{name} {shlex.quote(value)}"
        for name, value in (("y", columns.y), ("weight", columns.weight))
        if value is not None
    )
    name = shlex.quote(str(out))
    judge = " ".join(filter(None, [f"trueline evaluate other.csv --map {name}", judged, given]))
    use = " ".join(filter(None, [f"trueline apply {name} new.csv", given, "-o calibrated.csv"]))
    return [f"judge it on other rows:    {judge}", f"recalibrate new forecasts: {use}"]
