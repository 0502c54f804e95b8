"""Train the network, recalibrate its forecasts of the depth of every pixel, write the results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from reproduce import Progress
from reproduce.depth.network import (
    FORECASTS,
    FULL,
    HELD_OUT,
    LONGEST,
    QUICK,
    SEED,
    Moments,
    Part,
    Size,
    Work,
    cost,
    forget,
    parts,
    train,
)
from reproduce.depth.page import csv_of, page_of, table
from reproduce.depth.pictures import Shown, draw_calibration, draw_images, typical
from reproduce.depth.results import Results
from reproduce.depth.scores import judge
from reproduce.journal import Journal
from reproduce.pages import command_line, folder, made_by
from reproduce.pictures import require_matplotlib
from reproduce.tasks import DECISIVE, check_counts, description, require_torch, versions
from trueline._files import write_text
from trueline.clusters import Batch, fit_batches
from trueline.distributions import Normal
from trueline.recalibration import Recalibrator


def run(
    *,
    quick: bool,
    fresh: bool,
    epochs: int | None,
    output: Path | None,
    progress: Progress,
) -> str:
    """Make the missing forecasts, recalibrate them, write the results, return the table."""
    require_matplotlib("reproduce depth")
    require_torch()
    size = QUICK if quick else FULL
    if epochs is not None:
        check_counts(epochs=epochs)
        size = size._replace(epochs=epochs)
    found = parts(size.every)
    target = folder(output or Path("results") / ("depth-quick" if quick else "depth"))
    journal = Journal(target / "runs.jsonl", settings(size), fresh=fresh)
    if fresh:
        forget(target)
    work = Work(progress, cost(size, found))
    network = train(target, size, found["train"], work)
    moments = Moments(target, journal)
    n_known = moments.make(network, found, work)
    fitted = {forecast: recalibrate(moments, found, forecast) for forecast in FORECASTS}
    results = {forecast: result for forecast, (result, _) in fitted.items()}
    write_text(target / "depth.csv", csv_of(results))
    draw_calibration(target / "calibration.png", results)
    chosen = typical(results["both"].test["before"])
    draw_images(
        target / "images.png", list(_shown(moments, found["test"], chosen, fitted["both"][1]))
    )
    command = command_line("depth", {"quick": quick, "epochs": epochs})
    numbers = {forecast: result.numbers for forecast, result in results.items()}
    made = made_by(command, [*DECISIVE, "matplotlib"])
    write_text(target / "depth.md", page_of(numbers, command, made))
    total = sum(map(len, found.values()))
    kept = f"{n_known} of {total} images were forecast already; --fresh starts again.\n"
    kept = kept if n_known else ""
    return f"{table(numbers)}\n{kept}The page, all numbers and the pictures are in {target}."


def settings(size: Size) -> dict[str, str]:
    """Return what the results depend on."""
    images = f"every {size.every}" if size.every > 1 else "all"
    split = f"runs of up to {LONGEST} with {HELD_OUT:g} of the images held out, seed {SEED}"
    return (
        {"experiment": "depth"}
        | versions()
        | {"network": description(size.network()), "images": images, "split": split}
    )


def recalibrate(
    moments: Moments, found: dict[str, Part], forecast: str
) -> tuple[Results, Recalibrator]:
    """Fit both maps of a forecast and score all pixels, one file at a time.

    Returns the scores and the map of the held-out images.
    """

    def batches(name: str) -> Iterator[Batch]:
        return moments.batches(name, found[name], forecast)

    training = fit_batches(batches("train"))
    held = fit_batches(batches("held"))
    maps: dict[str, Recalibrator | None] = {"before": None, "training": training, "held": held}
    test = judge(batches("test"), maps)
    # The floors depend on the variation between the images that the maps were fitted on.
    fitted = judge(batches("train"), {"training": training}) | judge(
        batches("held"), {"held": held}
    )
    runs = {"training": found["train"].runs, "held": found["held"].runs, "test": found["test"].runs}
    return Results(test, fitted, runs), held


def _shown(
    moments: Moments, part: Part, chosen: list[int], recalibrator: Recalibrator
) -> Iterator[Shown]:
    """Yield the panels of some images."""
    wanted = {place: rank for rank, place in enumerate(chosen)}
    shown: dict[int, Shown] = {}
    place = 0
    for batch in moments.batches("test", part, "both"):
        for y, mean, std in zip(batch.y, batch.mean, batch.std, strict=True):
            if place in wanted:
                dist = Normal(mean.ravel().astype(np.float64), std.ravel().astype(np.float64))
                shown[wanted[place]] = Shown.of(
                    y,
                    part.data.mask[place],
                    mean,
                    dist,
                    recalibrator.transform(dist),
                )
            place += 1
    yield from (shown[rank] for rank in sorted(shown))
