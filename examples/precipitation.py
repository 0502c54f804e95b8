"""Rain at Frankfurt airport: forecasts of 24-hour sums before and after recalibration.

    TRUELINE_DATA=folder python examples/precipitation.py --output results/precipitation.md

The folder holds ``precipitation/frankfurt_lead1.txt.gz`` and ``..._lead4.txt.gz``, from the public
repository evwalz/easyuq. The first 2,896 days calibrate and the last 721 days test, as in its
notebook. Nothing is chosen on the test days.
"""

from __future__ import annotations

import argparse
import gzip
import io
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from league import check_output, made_by

import trueline as tl
from trueline._files import write_text

LEADS = (1, 4)
N_TRAIN = 2896
CHECKSUMS = {
    1: "1cef54eda340721aa05a799e9d9093e190e7ea5f0953e5b651f5194e9c8f8eb1",
    4: "429d54d662b6545c7e82f2dae0d55c64c59deb462827dcb6df9ca8b819d751e2",
}
SOURCE = "those of the public repository evwalz/easyuq, folder precipitation"
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
SEED = 0

#: CRPS for lead 1 in the notebook of evwalz/easyuq.
PUBLISHED = {
    "EasyUQ": 0.732,
    "smooth EasyUQ, censored at 0": 0.745,
    "conformal predictive system": 0.886,
    "conformal predictive system, censored at 0": 0.85,
    "single Gaussian": 1.244,
    "ensemble as it is": 0.752,
}


@dataclass(frozen=True, eq=False)
class Rain:
    """Outcomes and forecasts of one lead time, one row per day."""

    y: np.ndarray
    high_resolution: np.ndarray
    members: np.ndarray

    def __getitem__(self, rows: slice) -> Rain:
        return Rain(self.y[rows], self.high_resolution[rows], self.members[rows])

    @property
    def point(self) -> tl.Point:
        """The high-resolution forecast."""
        return tl.Point(self.high_resolution)

    @property
    def ensemble(self) -> tl.Samples:
        """The high-resolution forecast and the 51 members."""
        return tl.Samples(np.column_stack([self.high_resolution, self.members]))

    @property
    def features(self) -> np.ndarray:
        """Mean, spread, quantiles and share of dry members."""
        return np.column_stack(
            [
                self.members.mean(axis=1),
                self.members.std(axis=1),
                np.quantile(self.members, QUANTILES, axis=1).T,
                (self.members == 0.0).mean(axis=1),
            ]
        )


@cache
def load(lead: int) -> tuple[Rain, Rain]:
    """Return the days to calibrate on and the days to test on."""
    content = tl.datasets.read_data_file(
        f"precipitation/frankfurt_lead{lead}.txt.gz",
        CHECKSUMS[lead],
        source=SOURCE,
        remedy="Clone that repository to get it",
    )
    table = np.loadtxt(io.BytesIO(gzip.decompress(content)))
    days = Rain(table[:, 0], table[:, 1], table[:, 2:])
    return days[:N_TRAIN], days[N_TRAIN:]


def point_isotonic(train: Rain, test: Rain, seed: int) -> tl.Distribution:
    return tl.Isotonic().fit(train.y, train.point).transform(test.point)


def point_conditional(train: Rain, test: Rain, seed: int) -> tl.Distribution:
    X, X_test = train.high_resolution[:, None], test.high_resolution[:, None]
    return (
        tl.Conditional(random_state=seed)
        .fit(train.y, train.point, X=X)
        .transform(test.point, X=X_test)
    )


def point_with_features(train: Rain, test: Rain, seed: int) -> tl.Distribution:
    R = tl.Conditional(random_state=seed).fit(train.y, train.point, X=train.features)
    return R.transform(test.point, X=test.features)


def point_idr(train: Rain, test: Rain, seed: int) -> tl.Distribution:
    return tl.IDR().fit(train.y, train.point).transform(test.point)


def point_idr_smooth(train: Rain, test: Rain, seed: int) -> tl.Distribution:
    return tl.IDR(smooth=True).fit(train.y, train.point).transform(test.point)


def point_idr_guarded(train: Rain, test: Rain, seed: int) -> tl.Distribution:
    """IDR of every other day, and a map of the days between."""
    R = tl.IDR().fit(train.y[::2], train.point[::2])
    guard = tl.Isotonic().fit(train.y[1::2], R.transform(train.point[1::2]))
    return guard.transform(R.transform(test.point))


def ensemble_as_it_is(train: Rain, test: Rain, seed: int) -> tl.Distribution:
    return test.ensemble


def ensemble_isotonic(train: Rain, test: Rain, seed: int) -> tl.Distribution:
    return tl.Isotonic().fit(train.y, train.ensemble).transform(test.ensemble)


def ensemble_idr(train: Rain, test: Rain, seed: int) -> tl.Distribution:
    return tl.IDR().fit(train.y, train.ensemble).transform(test.ensemble)


def ensemble_idr_smooth(train: Rain, test: Rain, seed: int) -> tl.Distribution:
    return tl.IDR(smooth=True).fit(train.y, train.ensemble).transform(test.ensemble)


def ensemble_with_features(train: Rain, test: Rain, seed: int) -> tl.Distribution:
    R = tl.Conditional(random_state=seed).fit(train.y, train.ensemble, X=train.features)
    return R.transform(test.ensemble, X=test.features)


Recipe = Callable[[Rain, Rain, int], tl.Distribution]

#: What is measured, by name.
RECIPES: dict[str, Recipe] = {
    "high-resolution forecast, `Isotonic`": point_isotonic,
    "high-resolution forecast, `Conditional`": point_conditional,
    "high-resolution forecast, `Conditional` with features of the ensemble": point_with_features,
    "high-resolution forecast, `IDR`": point_idr,
    "high-resolution forecast, `IDR(smooth=True)`": point_idr_smooth,
    "high-resolution forecast, `IDR` of half the days, then `Isotonic`": point_idr_guarded,
    "ensemble as it is": ensemble_as_it_is,
    "ensemble, `Isotonic`": ensemble_isotonic,
    "ensemble, `Conditional` with its features": ensemble_with_features,
    "ensemble, `IDR` of its mean": ensemble_idr,
    "ensemble, `IDR(smooth=True)` of its mean": ensemble_idr_smooth,
}
COLUMNS = ("CRPS", "90% hold", "mean width", "lower ends below 0", "Brier score of rain")


def scores(y: np.ndarray, dist: tl.Distribution) -> tuple[float, ...]:
    """Return the numbers of the columns."""
    lower, upper = dist.interval(0.9)
    wet = 1.0 - dist.cdf(0.0)
    return (
        tl.crps(y, dist),
        tl.coverage(y, dist, 0.9),
        float((upper - lower).mean()),
        float((lower < 0.0).mean()),
        float(((wet - (y > 0.0)) ** 2).mean()),
    )


def measure(recipe: Recipe, lead: int, seed: int = SEED) -> tuple[float, ...]:
    """Return the scores of one recipe on the test days."""
    train, test = load(lead)
    with warnings.catch_warnings():
        # The warning is about tied scores: half of the days are dry.
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        return scores(test.y, recipe(train, test, seed))


def table(lead: int) -> Iterator[str]:
    """Yield the table of one lead time, line by line."""
    yield f"| forecast | {' | '.join(COLUMNS)} |"
    yield f"|---|{'---|' * len(COLUMNS)}"
    for name, recipe in RECIPES.items():
        crps, held, width, below, brier = measure(recipe, lead)
        yield f"| {name} | {crps:.3f} | {held:.1%} | {width:.2f} | {below:.1%} | {brier:.3f} |"


def page(tables: Sequence[Sequence[str]], command: Sequence[str]) -> str:
    """Return the page with all tables and the published numbers."""
    lines = [
        "# Rain at Frankfurt airport",
        "",
        made_by(command) + f" Seed {SEED}.",
        "",
        "Forecasts of 24-hour sums of rain in mm, with data of the public repository",
        f"evwalz/easyuq. The first {N_TRAIN:,} days calibrate and the last 721 days test, as in",
        "its notebook. About half of the days are dry, with an outcome of exactly 0. The ensemble",
        "is the high-resolution forecast and 51 members; its features are the mean, the standard",
        f"deviation, the quantiles at {', '.join(map(str, QUANTILES))} and the share of dry",
        "members.",
        "The Brier score is that of the forecast probability of any rain.",
    ]
    for lead, rows in zip(LEADS, tables, strict=True):
        lines += ["", f"## {lead} {'day' if lead == 1 else 'days'} ahead", "", *rows]
    lines += [
        "",
        "## Published numbers",
        "",
        "CRPS one day ahead in the notebook of evwalz/easyuq, on the same test days. All but the",
        "last are made from the high-resolution forecast alone.",
        "",
        "| method | CRPS |",
        "|---|---|",
        *(f"| {name} | {value:.3f} |" for name, value in PUBLISHED.items()),
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print, as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, help="Markdown file to write the tables to")
    options = parser.parse_args(arguments)
    check_output(parser, options.output)
    try:
        tables = [list(table(lead)) for lead in LEADS]
    except tl.datasets.DatasetError as error:
        sys.exit(str(error))
    text = page(tables, ["python", "examples/precipitation.py"])
    print(text, end="")
    if options.output is not None:
        write_text(options.output, text)


if __name__ == "__main__":
    main()
