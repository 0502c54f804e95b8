"""Streams: electricity prices and simulated streams, forecast row by row.

    TRUELINE_DATA=folder python examples/streams.py --output results/streams.md   # 15 minutes
    TRUELINE_DATA=folder python examples/streams.py --quick                       # half a minute

The folder holds ``streams/prices.csv.gz`` and ``streams/prices_hour0_2019_aci.csv``. Pictures go
to the folder ``streams`` beside the output. ``--cache`` names a folder that keeps the forests'
forecasts for the next run; they are made from licensed data, so keep it out of the repository.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from league import check_output, made_by
from streams_electricity import ALL_HOURS, HOUR_0, PUBLISHED, QUICK, Judged, all_hours, hour_0
from streams_simulated import (
    ADVERSARY,
    BOUND,
    DEVIATIONS,
    EVERY,
    FIRST,
    JUMP,
    MARGIN,
    ROWS,
    SEASON,
    WINDOW,
    Game,
    games,
)

import trueline as tl
from trueline._files import write_text

SEED = 0
ONLINE = "`Online()`"
#: The fixed memories that `Online()` is compared with in hindsight.
MEMORIES = tuple(f"`Online(half_life={h})`" for h in (15, 30, 60, 120, "math.inf"))


def electricity_table(judged: dict[str, Judged]) -> Iterator[str]:
    """Yield the table of hour 0."""
    yield "| method | coverage | mean width | interval score | CRPS |"
    yield "|---|---|---|---|---|"
    for name, one in judged.items():
        error = one.crps.mean()
        shown = "-" if np.isnan(error) else f"{error:.3f}"
        row = f"{one.held.mean():.1%} | {one.width.mean():.2f} | {one.score.mean():.2f} | {shown}"
        yield f"| {name} | {row} |"


def hours_table(judged: dict[str, list[Judged]]) -> Iterator[str]:
    """Yield the table of all hours: means over hours, and the lowest and highest coverage."""
    yield "| method | coverage | of single hours | mean width | interval score | CRPS |"
    yield "|---|---|---|---|---|---|"
    for name, hours in judged.items():
        held = [one.held.mean() for one in hours]
        width, score, error = (
            np.mean([getattr(one, of).mean() for one in hours]) for of in ("width", "score", "crps")
        )
        spread = f"{min(held):.1%} to {max(held):.1%}"
        yield (
            f"| {name} | {np.mean(held):.1%} | {spread} | {width:.2f} | {score:.2f} | {error:.3f} |"
        )


def simulated_table(played: Sequence[Game], kind: str) -> Iterator[str]:
    """Yield the table of one kind of stream."""
    mine = {game.player: game for game in played if game.kind == kind}
    ends = range(WINDOW, ROWS + 1, WINDOW)
    windows = " | ".join(f"{end - WINDOW + 1} to {end}" for end in ends)
    yield f"| method | streams | {windows} | ± | mean width | CRPS | over the oracle |"
    yield f"|---|{'---|' * (len(ends) + 5)}"
    for name, game in mine.items():
        coverage = " | ".join(f"{c:.1%}" for c in game.coverage)
        excess = "-" if kind == ADVERSARY else f"{game.excess:+.1%}"
        numbers = f"{game.error:.1%} | {game.width:.2f} | {game.crps:.4f} | {excess}"
        yield f"| {name} | {game.streams} | {coverage} | {numbers} |"


def beside_best(hours: dict[str, list[Judged]], of: str) -> str:
    """Compare `Online()` with the best fixed memory in hindsight, by mean scores over all days."""
    daily = {name: np.mean([getattr(one, of) for one in hours[name]], axis=0) for name in hours}
    best = min(MEMORIES, key=lambda name: daily[name].mean())
    mean, least = daily[ONLINE].mean(), daily[best].mean()
    error = np.std(daily[ONLINE] - daily[best], ddof=1) / np.sqrt(len(daily[best])) / least
    return f"{mean:.3g} and {least:.3g} ({best}): {mean / least - 1.0:+.1%} ± {error:.1%}"


def verdict(
    judged: dict[str, Judged], hours: dict[str, list[Judged]], played: Sequence[Game]
) -> Iterator[str]:
    """Yield sentences with the numbers that were asked for."""
    yield (
        f"- {ONLINE} beside the best fixed memory in hindsight, with the standard error of the "
        f"difference over days:"
    )
    for place, group in (
        ("hour 0", {name: [one] for name, one in judged.items()}),
        ("all hours", hours),
    ):
        held = np.mean([one.held.mean() for one in group[ONLINE]])
        yield f"  - {place}, interval score: {beside_best(group, 'score')};"
        yield f"  - {place}, CRPS: {beside_best(group, 'crps')}; its 90% intervals hold {held:.1%}."
    by = {(game.kind, game.player): game for game in played}
    for kind in dict.fromkeys(kind for kind, _ in by if kind != ADVERSARY):
        after = JUMP // WINDOW + 1 if kind == "jump" else 0
        held = by[kind, ONLINE].coverage[after:]
        since = f", from the {WINDOW}th row after it on" if after else ""
        yield (
            f"- {kind.capitalize()}{since}: the 90% intervals of {ONLINE} hold {min(held):.1%} to "
            f"{max(held):.1%} by window."
        )
    excess = {name: 1.0 + by["stationary", name].excess for name in (ONLINE, MEMORIES[-1])}
    still = excess[ONLINE] / excess[MEMORIES[-1]] - 1.0
    yield (
        f"- On stationary streams the CRPS of {ONLINE} is {still:+.2%} relative to that of "
        f"{MEMORIES[-1]}, which remembers everything; both relative to the oracle on their streams."
    )
    last = ", ".join(
        f"{name} {by[ADVERSARY, name].coverage[-1]:.1%}"
        for name in (ONLINE, "`Online(coverage=0.9)`", "DtACI")
        if (ADVERSARY, name) in by
    )
    if last:
        yield f"- Against the adversary, the last {WINDOW} intervals hold: {last}."


ABOUT_ELECTRICITY = f"""\
French spot prices of 2016 to 2019 and the random forest of Zaffran et al. (ICML 2022): 1,000 trees,
6 features per split, one forest per hour of the day. It is refitted every {HOUR_0.every} days on
the three years before, and forecasts the mean and the standard deviation of its trees. All rows
but the last share these forecasts. Maps have learned from the forecasts of 2018, made in the same
way, before 2019 begins, and from every day of 2019 once it is over. The last row is the published
one, with a forest fitted on half of the days. The CRPS is computed from 15 central intervals.
The data and anything from which they could be computed are not part of this repository."""

ABOUT_HOURS = f"""\
One forest and one map per hour of the day. For speed these forests have {ALL_HOURS.trees} trees and
are refitted every {ALL_HOURS.every} days, from July 2018 on."""

ABOUT_SIMULATED = f"""\
Every forecast is a standard normal distribution, and outcomes are normal with mean 0. Their
standard deviation is 1 (stationary); 1 and, from row {JUMP + 1} on, 3 (jump); rises from 1 to 3
(slow drift); swings between 1/2 and 2 with a period of {SEASON} rows (season). The adversary sees
the 90% interval and puts the outcome {MARGIN} outside its nearer end, or at 0 if that is beyond
{BOUND:g}. Methods learn from {FIRST} rows before the first one, and from every row once it is
forecast. Windows are columns with the coverage of 90% intervals, ± is their largest standard error.
The CRPS is computed from 15 central intervals in every {EVERY}th row, and that of the oracle, which
knows the variance, on the same rows. ACI (Gibbs and Candes, 2021) and DtACI (Gibbs and Candes,
2024) use the absolute score and its quantiles over the last {FIRST} rows, with one instance for
each of the 15 coverages; their infinite intervals count as wide as the largest score so far."""


def page(
    judged: dict[str, Judged],
    hours: dict[str, list[Judged]],
    played: Sequence[Game],
    command: Sequence[str],
) -> str:
    """Return the page with the verdict, the tables and the pictures."""
    lines = [
        "# Streams",
        "",
        made_by(command) + f" Seed {SEED}.",
        "",
        "Does `Online()` as it comes keep 90% intervals at 90% while the stream changes, and what",
        "does that cost in sharpness? No setting was chosen on these rows.",
        "",
        *verdict(judged, hours, played),
        "",
        "## Electricity, hour 0 of every day of 2019",
        "",
        ABOUT_ELECTRICITY,
        "",
        *electricity_table(judged),
        "",
        "![Width of the intervals and share of outcomes held](streams/electricity.png)",
        "",
        f"## Electricity, {len(hours[ONLINE])} hours of every day of 2019",
        "",
        ABOUT_HOURS,
        "",
        *hours_table(hours),
        "",
        "## Simulated streams",
        "",
        ABOUT_SIMULATED,
        "",
        "![Coverage by window](streams/simulated.png)",
    ]
    for kind in dict.fromkeys(game.kind for game in played):
        lines += ["", f"### {kind.capitalize()}", "", *simulated_table(played, kind)]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, and write the page and its pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small forests, one hour, few streams")
    parser.add_argument("--cache", type=Path, help="folder that keeps forecasts for the next run")
    parser.add_argument("--output", type=Path, help="Markdown file to write the page to")
    options = parser.parse_args(arguments)
    check_output(parser, options.output)
    if options.cache is not None:
        options.cache.mkdir(parents=True, exist_ok=True)
    quick = options.quick
    kinds = ("stationary", "jump") if quick else tuple(DEVIATIONS)
    with warnings.catch_warnings():
        # The outermost of 15 intervals lie in the tails of a map that forgets fast.
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        try:
            data, judged = hour_0(QUICK if quick else HOUR_0, options.cache)
            hours = {name: [one] for name, one in judged.items() if name != PUBLISHED}
            hours = hours if quick else all_hours(24, ALL_HOURS, options.cache)
        except tl.datasets.DatasetError as error:
            sys.exit(str(error))
        played = games(kinds, 2 if quick else 200, SEED)
    command = ["python", "examples/streams.py", *(["--quick"] if quick else [])]
    text = page(judged, hours, played, command)
    print(text, end="")
    if options.output is not None:
        import streams_pictures

        folder = options.output.parent / "streams"
        streams_pictures.electricity(judged, data.days[data.test :], folder / "electricity.png")
        streams_pictures.simulated(played, folder / "simulated.png")
        write_text(options.output, text)


if __name__ == "__main__":
    main()
