"""How Table 1 is written down: a page, a table for the terminal, and a CSV file.

What the page says is computed from the records, one a set, model and split.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from reproduce.paper import SMALLEST, chance_to_reach
from reproduce.prose import (
    bullet,
    change,
    count,
    four_figures,
    listed,
    number,
    paragraph,
    plain,
)
from reproduce.record import comma_separated, markdown
from reproduce.table1_cells import (
    HONEST,
    MEASURES,
    TITLES,
    VARIANTS,
    Cell,
    by_model,
    cells,
    standard_error,
)
from trueline.datasets import info, names

#: What the second tables of a model show.
_ALSO = {
    "crps": "CRPS",
    "sharpness": "Sharpness (mean variance, Eq. 10)",
    "coverage": "Coverage of 90% intervals",
    "width": "Width of 90% intervals",
}
#: What was done, and how to read it.
_METHODS = """\
- `before`: the model, fitted on all training rows, as it is.
- `training set`: the same model, recalibrated by isotonic regression on the rows that it was
  trained on. That is the paper's protocol.
- `refitted`: the same model, recalibrated on the scores of five others, each fitted on four fifths
  of the training rows, on the fifth that it has not seen.
  `CalibratedRegressor(model, cv=5, scale_estimator=None)`.
- `averaged`: the forecasts of those five models, averaged and not recalibrated. It shows what
  averaging alone gives.
- `cross-fitted`: those five, each recalibrated on the fifth that it has not seen, then averaged, as
  the paper has it in section 3.
  `CalibratedRegressor(model, cv=5, scale_estimator=None, ensemble=True)`.

A map that is fitted on other models' scores, as in `refitted`, cannot know what is peculiar to one
fit. Where fits of a network differ, in how far they stray to one side or in how sure they are, by
more than the noise in the test rows, it is off by as much; `cross-fitted` has a map for each.

The calibration error is Eq. 9 with the levels 0, 0.1, ..., 1. The floor is what a perfect
forecaster would expect there: 1.65 / T on T test rows, and 1.65 (1 / T + 1 / n) for a forecast
that was recalibrated on n rows. CRPS and calibration error: lower is better. In `table1.csv`
is every mean and standard error.

The curves in the pictures are means over the splits too: where fits stray to one side in one split
and to the other in the next, that cancels in the curve and not in the error. Grey is where the
whole curve of a perfect forecaster would lie with 95% probability, by chance in the test rows. A
row that several splits test counts as often but tells no more, so that S splits of T rows out of N
are worth T / (T / N + (1 - T / N) / S) independent rows: the band is that of so many. A map fitted
on n rows adds chance of its own, which the band leaves out. The numbers in the panels are
calibration errors over their floors.
"""
COVERAGE = 0.9
#: Above so many times its floor chance no longer explains a calibration error.
LIMIT = 3.0


def csv_of(records: Sequence[dict[str, Any]]) -> str:
    """Return every mean and standard error, a line a set, model and variant."""
    columns = [name for measure in MEASURES for name in (measure, f"{measure}_se")]
    sizes, paper = ("n_train", "n_test"), ("mape", "before", "recalibrated")
    heads = ["dataset", "model", "variant", "splits", *sizes, "zero_targets", *columns]
    rows = [
        [
            *(cell.dataset, cell.model, variant, cell.splits, *map(cell.size, sizes)),
            sum(record["zero_targets"] for record in cell.records),
            *(
                plain(value)
                for measure in MEASURES
                for value in (cell.mean(variant, measure), cell.error(variant, measure))
            ),
            *(plain(cell.paper[name]) for name in paper),
        ]
        for cell in cells(records)
        for variant in VARIANTS
    ]
    return comma_separated([*heads, *(f"paper_{name}" for name in paper)], rows)


def table(records: Sequence[dict[str, Any]]) -> str:
    """Return what comes of all sets: a line a model and variant."""
    heads = (
        "",
        "error / floor",
        "of the means",
        "worst set",
        "CRPS / before",
        "abs(coverage - 90%)",
    )
    rows = [
        (f"{TITLES[model]}, {VARIANTS[variant]}", *_overall(group, variant))
        for model, group in by_model(records).items()
        for variant in VARIANTS
    ]
    return markdown(heads, rows)


def _overall(group: list[Cell], variant: str) -> tuple[str, ...]:
    worst = max(group, key=lambda cell: cell.ratio(variant))
    crps = _mean(cell.crps_to(variant, "before") for cell in group)
    off = _mean(abs(cell.mean(variant, "coverage") - COVERAGE) for cell in group)
    error, floor = (
        _mean(cell.mean(variant, f"calibration_{name}") for cell in group)
        for name in ("error", "floor")
    )
    return (
        f"{_mean(cell.ratio(variant) for cell in group):.2f}",
        f"{error / floor:.2f}",
        f"{worst.dataset} {worst.ratio(variant):.2f}",
        f"{crps:.3f}",
        f"{100.0 * off:.1f}%",
    )


def page(records: Sequence[dict[str, Any]], made: str) -> str:
    """Return the page: what was done, what it shows, and the tables of each model."""
    groups = by_model(records)
    everything = [cell for group in groups.values() for cell in group]
    parts = [
        "# Table 1: calibrated regression on the paper's data sets\n",
        f"{made} {_seeds(records)}\n",
        _what_was_done(everything),
        "## All sets\n",
        table(records),
        paragraph(
            "Error / floor is the mean over the sets of each set's calibration error over its "
            "floor. Of the means: the mean error over the mean floor, which small sets decide. The "
            "worst set is the one where the ratio is largest. CRPS / before is the "
            "mean over the sets of the CRPS over that of `before`. The last column is the mean "
            "over the sets of how far the coverage of 90% intervals, a mean over splits, is from "
            "90%."
        ),
        "## What it shows\n",
        *(_of_model(model, group) for model, group in groups.items()),
        _crps_on_average(groups),
        *(_above_the_limit(everything, variant) for variant in HONEST),
        *(_crps_where_it_matters(everything, variant) for variant in HONEST),
        _about_mape(records),
        *_beside_the_paper(everything),
        "",
    ]
    for model, group in groups.items():
        parts += _section(model, group)
    return "\n".join(parts)


def _seeds(records: Sequence[dict[str, Any]]) -> str:
    seeds = sorted({record["split"] for record in records})
    if len(seeds) == 1:
        return f"Seed {seeds[0]}."
    if seeds == list(range(seeds[0], seeds[-1] + 1)):
        return f"Seeds {seeds[0]} to {seeds[-1]}, one a split."
    return f"Seeds {listed(map(str, seeds))}, one a split."


def _what_was_done(everything: list[Cell]) -> str:
    sets = len({cell.dataset for cell in everything})
    counts = sorted({cell.splits for cell in everything})
    many = f"{counts[0]} to {counts[-1]} times" if len(counts) > 1 else _times(counts[0])
    told = "One split has no standard error."
    if counts[-1] > 1:
        told = (
            "Numbers are means over the splits ± their standard errors; the splits share rows, so "
            "that these are a rough guide."
        )
    how = paragraph(
        f"Each of {count(sets, 'data set')} is split {many} at random, three quarters of its "
        f"rows to train on and a quarter to test on. {told} Every number is of test rows, which "
        f"neither a model nor a map has seen."
    )
    return f"{how}\n{_METHODS}"


def _of_model(model: str, group: list[Cell]) -> str:
    ratios = listed(
        f"{_mean(cell.ratio(variant) for cell in group):.2f} {name}"
        for variant, name in (
            ("before", "before"),
            ("training", "on the training set"),
            ("refit", "refitted"),
            ("crossfit", "cross-fitted"),
        )
    )
    refit, rule, averaging, rest = (
        _mean(cell.crps_to(*pair) for cell in group)
        for pair in (
            ("refit", "before"),
            ("crossfit", "before"),
            ("averaged", "before"),
            ("crossfit", "averaged"),
        )
    )
    return bullet(
        f"{TITLES[model]}: the calibration error is, on average over {count(len(group), 'set')}, "
        f"{ratios}, in units of its floor. The CRPS is {change(refit)} than before refitted, and "
        f"{change(rule)} cross-fitted. Of the latter, averaging five models alone makes it "
        f"{change(averaging)}, and recalibrating those five {change(rest)} than averaged."
    )


def _crps_on_average(groups: dict[str, list[Cell]]) -> str:
    worse = [
        f"{TITLES[model]}, {VARIANTS[variant]} ({ratio:.3f})"
        for model, group in groups.items()
        for variant in HONEST
        if (ratio := _mean(cell.crps_to(variant, "before") for cell in group)) > 1.0
    ]
    claim = "On average over the sets the CRPS, relative to before, is above 1 for"
    return bullet(f"{claim} {listed(worse) if worse else 'no model'}.")


def _above_the_limit(everything: list[Cell], variant: str) -> str:
    above = [cell for cell in everything if cell.ratio(variant) > LIMIT]
    claim = (
        f"After recalibration ({VARIANTS[variant]}), the error is above {LIMIT:g} times its floor"
    )
    if not above:
        return bullet(f"{claim} in none of {count(len(everything), 'cell')}.")
    named = listed(
        f"{cell} ({_calibration(cell, variant)}, {cell.ratio(variant):.2f} times the floor "
        f"of {cell.mean(variant, 'calibration_floor'):.4f})"
        for cell in above
    )
    return bullet(f"{claim} in {len(above)} of {count(len(everything), 'cell')}: {named}.")


def _crps_where_it_matters(everything: list[Cell], variant: str) -> str:
    poor = [cell for cell in everything if cell.ratio("before") > LIMIT]
    worse = [cell for cell in poor if not cell.crps_to(variant, "before") < 1.0]
    if not poor:
        return bullet(f"No model as it is has an error above {LIMIT:g} times its floor.")
    claim = (
        f"As it is, a model has an error above {LIMIT:g} times its floor in {len(poor)} of "
        f"{count(len(everything), 'cell')}. Recalibration ({VARIANTS[variant]}) lowers the CRPS in"
    )
    if not worse:
        return bullet(f"{claim} all of these.")
    named = listed(
        f"{cell} (from {number(cell.mean('before', 'crps'))} to "
        f"{number(cell.mean(variant, 'crps'))}, a difference of {_crps_difference(cell, variant)})"
        for cell in worse
    )
    return bullet(f"{claim} {len(poor) - len(worse)} of these, and not in {named}.")


def _crps_difference(cell: Cell, variant: str) -> str:
    """How much the CRPS rises, from the differences in each split."""
    rise = cell.values(variant, "crps") - cell.values("before", "crps")
    decimals = four_figures(cell.mean("before", "crps"))
    return number(float(rise.mean()), standard_error(rise), decimals)


def _beside_the_paper(everything: list[Cell]) -> list[str]:
    there = [
        (cell, limit) for cell in everything if (limit := cell.paper["recalibrated"]) is not None
    ]
    if not there:
        return []
    missed = [
        (cell, limit)
        for cell, limit in there
        # A mean of numbers that are the paper's may be off by a rounding error.
        if cell.mean("crossfit", "calibration_error") > limit * (1.0 + 1e-12)
    ]
    expected = sum(_chance(cell, limit, fitted=True) for cell, limit in there)
    reached = bullet(
        f"The paper has a recalibrated error in {len(there)} of these cells. Ours, cross-fitted, "
        f"is at or below it in {len(there) - len(missed)} of {len(there)}. A perfect forecaster "
        f"whose map is fitted on as many rows could expect to be so in {expected:.1f}."
    )
    rows = [
        (
            str(cell),
            _calibration(cell, "crossfit"),
            f"{limit:.3f}",
            f"{cell.mean('crossfit', 'calibration_floor'):.4f}",
            _percent(_chance(cell, limit, fitted=True)),
            _percent(_chance(cell, limit, fitted=False)),
        )
        for cell, limit in missed
    ]
    if not rows:
        return [reached]
    heads = ("not reached", "ours", "paper", "floor", "chance, fitted map", "chance, truth known")
    return [
        reached,
        "",
        markdown(heads, rows),
        paragraph(
            "The chances are those of a perfect forecaster to have a mean error at or below the "
            "paper's over as many splits: one whose map is fitted on as many rows as ours, and "
            "one that knows the truth and fits nothing. They come of 20,000 draws of "
            "independent splits. Real splits share rows, so that their mean varies more."
        ).rstrip(),
    ]


def _chance(cell: Cell, limit: float, *, fitted: bool) -> float:
    n_fit = cell.size("n_train") if fitted else None
    return chance_to_reach(limit, cell.size("n_test"), n_fit, cell.splits)


def _about_mape(records: Sequence[dict[str, Any]]) -> str:
    # Models share their splits.
    zeros = {(r["dataset"], r["split"]): int(r["zero_targets"]) for r in records}
    sums = {
        name: total
        for name in names()
        if (total := sum(count for (of, _), count in zeros.items() if of == name))
    }
    told = "none here"
    if sums:
        left = listed(f"{count(total, 'row')} of {name}" for name, total in sums.items())
        told = f"{left}, summed over the splits"
    ours = min(known.rows for known in info())
    return bullet(
        f"MAPE leaves out test rows whose target is 0: {told}. The paper does not say which "
        f"variants of its sets it took (its smallest has {SMALLEST} rows, ours {ours}), so that "
        f"its MAPE and ours are not comparable row by row."
    )


def _section(model: str, group: list[Cell]) -> list[str]:
    heads = (
        "calibration error",
        "before",
        "training set",
        "refitted",
        "cross-fitted",
        "floor before",
        "floor after",
        "paper before",
        "paper after",
        "MAPE before",
        "paper MAPE",
    )
    rows = [
        (
            cell.dataset,
            *(_calibration(cell, v) for v in ("before", "training", *HONEST)),
            *(f"{cell.mean(v, 'calibration_floor'):.4f}" for v in ("before", "crossfit")),
            *(_shown(cell.paper[name]) for name in ("before", "recalibrated")),
            number(cell.mean("before", "mape"), cell.error("before", "mape"), 3),
            _shown(cell.paper["mape"]),
        )
        for cell in group
    ]
    parts = [
        f"## {TITLES[model]}\n",
        markdown(heads, rows),
        f"![Calibration curves of {TITLES[model]}, a panel a set]({model}.png)\n",
    ]
    for measure, title in _ALSO.items():
        rows = [(cell.dataset, *(_of(cell, v, measure) for v in VARIANTS)) for cell in group]
        parts += [f"{title}:\n", markdown(("", *VARIANTS.values()), rows)]
    return parts


def _of(cell: Cell, variant: str, measure: str) -> str:
    decimals = 3 if measure == "coverage" else None
    return number(cell.mean(variant, measure), cell.error(variant, measure), decimals)


def _calibration(cell: Cell, variant: str) -> str:
    measure = "calibration_error"
    return number(cell.mean(variant, measure), cell.error(variant, measure), 4)


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _percent(chance: float) -> str:
    """Write a chance as exactly as 20,000 draws tell it."""
    if chance < 0.0001:
        return "below 0.01%"
    if chance > 0.999:
        return "above 99.9%"
    return f"{100.0 * chance:.{1 if chance >= 0.01 else 2}f}%"


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"
