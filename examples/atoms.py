"""Forecasts with and without atoms for a target with few values, the wine ratings 3 to 8.

    TRUELINE_DATA=folder python examples/atoms.py

The forecasts are those of the league table, unchanged and rounded to the nearest value of the
training targets. Calibration is measured with the randomised PIT, because a forecast with atoms is
never calibrated in the sense of the paper's Eq. 8, which uses P(Y <= y).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from league import LEVELS, MODELS, RECIPES, check_output, made_by, mean_pinball, split

import trueline as tl
from trueline._files import write_text

SEEDS = 5
DRAWS = (np.arange(199) + 0.5) / 199
COLUMNS = ("normalised CRPS", "90% hold", "width", "error / floor", "Eq. 9 / floor")


def rounded(dist: tl.Distribution, values: np.ndarray) -> tl.Samples:
    """Round forecasts to the nearest of these values."""
    edges = 0.5 * (values[1:] + values[:-1])
    return tl.Samples(values[np.searchsorted(edges, dist.ppf(DRAWS))])


def scores(y: np.ndarray, y_train: np.ndarray, dist: tl.Distribution) -> tuple[float, ...]:
    """Return the numbers of the columns."""
    climate = np.tile(np.quantile(y_train, LEVELS), (len(y), 1))
    floor = tl.calibration_floor(len(y), len(y_train))
    levels = np.arange(11) / 10
    observed = np.searchsorted(
        np.sort(tl.pit(y, dist, randomized=True, random_state=0)), levels, "right"
    ) / len(y)
    lower, upper = dist.interval(0.9)
    return (
        mean_pinball(y, dist.ppf(LEVELS)) / mean_pinball(y, climate),
        tl.coverage(y, dist, 0.9),
        float((upper - lower).mean()),
        float(((observed - levels) ** 2).sum()) / floor,
        tl.calibration_error(y, dist) / floor,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print, as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--seeds", type=int, default=SEEDS, help="splits to average over")
    parser.add_argument("--output", type=Path, help="Markdown file to write the table to")
    options = parser.parse_args(arguments)
    check_output(parser, options.output)
    lines = [f"| model | recipe | forecast | {' | '.join(COLUMNS)} |", f"|---|---|---|{'---|' * 5}"]
    for model in options.models:
        for recipe, make in RECIPES.items():
            found: dict[str, list[tuple[float, ...]]] = {"as it is": [], "rounded": []}
            for seed in range(options.seeds):
                X_train, X_test, y_train, y = split("wine", seed)
                dist = make(MODELS[model](seed), seed).fit(X_train, y_train).predict_dist(X_test)
                found["as it is"].append(scores(y, y_train, dist))
                found["rounded"].append(scores(y, y_train, rounded(dist, np.unique(y_train))))
            for form, rows in found.items():
                cells = " | ".join(f"{value:.3f}" for value in np.mean(rows, axis=0))
                name = recipe.removeprefix("trueline, ")
                lines.append(f"| {model} | {name} | {form} | {cells} |")
                print(lines[-1], flush=True)
    command = ["python", "examples/atoms.py"]
    command += [] if options.models == list(MODELS) else ["--models", *options.models]
    command += [] if options.seeds == SEEDS else ["--seeds", str(options.seeds)]
    text = "\n".join(
        [
            "# Atoms for the wine ratings",
            "",
            made_by(command),
            "",
            f"Means over {options.seeds} splits. Errors are calibration errors divided by their",
            "floor: of the randomised PIT, and of the paper's Eq. 9.",
            "",
            *lines,
            "",
        ]
    )
    print(f"\n{text}", end="")
    if options.output is not None:
        write_text(options.output, text)


if __name__ == "__main__":
    main()
