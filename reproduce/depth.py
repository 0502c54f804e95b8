"""Figure 5 of the paper: the depth of every pixel, forecast by a DenseNet and recalibrated."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from reproduce import Progress
from reproduce.depth_images import judge
from reproduce.depth_network import (
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
from reproduce.depth_page import Findings, csv_of, page, table
from reproduce.depth_plots import Shown, draw_calibration, draw_images, typical
from reproduce.journal import Journal
from reproduce.record import folder, made_by
from reproduce.tasks import DECISIVE, check_counts, versions
from trueline._files import write_text
from trueline.clusters import Batch, fit_batches
from trueline.displays import _style
from trueline.distributions import Normal
from trueline.models._torch import require_torch
from trueline.recalibration import Recalibrator


def run(
    *,
    quick: bool,
    fresh: bool,
    epochs: int | None,
    output: Path | None,
    progress: Progress,
) -> str:
    """Train and forecast what is not there yet, recalibrate, write it down, return the table."""
    _style.require_matplotlib("reproduce depth")
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
    there = moments.make(network, found, work)
    results = {forecast: recalibrate(moments, found, forecast) for forecast in FORECASTS}
    findings = {forecast: result[0] for forecast, result in results.items()}
    write_text(target / "depth.csv", csv_of(findings))
    draw_calibration(target / "calibration.png", findings)
    chosen = typical(findings["both"].test["before"])
    shown = _shown(moments, found["test"], chosen, results["both"][1])
    draw_images(target / "images.png", list(shown))
    options = {"quick": quick, "epochs": epochs}
    made = made_by("depth", options, [*DECISIVE, "matplotlib"]) + f" Seed {SEED}."
    write_text(target / "depth.md", page(findings, size, made))
    total = sum(map(len, found.values()))
    kept = f"{there} of {total} images were forecast already; --fresh begins again.\n"
    told = kept if there else ""
    return f"{table(findings)}\n{told}The page, all numbers and the pictures are in {target}."


def settings(size: Size) -> dict[str, str]:
    """What the results depend on."""
    from sklearn import config_context

    with config_context(print_changed_only=False):  # defaults may change
        network = " ".join(repr(size.network()).split())
    images = f"every {size.every}" if size.every > 1 else "all"
    split = f"runs of up to {LONGEST} with {HELD_OUT:g} of the images held out, seed {SEED}"
    return (
        {"experiment": "depth"}
        | versions()
        | {
            "network": network,
            "images": images,
            "split": split,
        }
    )


def recalibrate(
    moments: Moments, found: dict[str, Part], forecast: str
) -> tuple[Findings, Recalibrator]:
    """Fit both maps of a forecast and judge all; pixels go through memory a file at a time.

    Returns what was found, and the map of the held-out images.
    """

    def batches(name: str) -> Iterator[Batch]:
        return moments.batches(name, found[name], forecast)

    started = time.perf_counter()
    training = fit_batches(batches("train"))
    held = fit_batches(batches("held"))
    maps: dict[str, Recalibrator | None] = {"before": None, "training": training, "held": held}
    test = judge(batches("test"), maps)
    seconds = _first_time(moments, forecast, time.perf_counter() - started)
    # For the floors: how much the images differ that the maps were fitted on.
    fitted = {
        "training": judge(batches("train"), {"training": training})["training"],
        "held": judge(batches("held"), {"held": held})["held"],
    }
    passes = moments.seconds("test")
    runs = {"training": found["train"].runs, "held": found["held"].runs, "test": found["test"].runs}
    return Findings(test, fitted, runs, passes, seconds), held


def _first_time(moments: Moments, forecast: str, seconds: float) -> float:
    """How long it took the first time, so that the page stays as it is."""
    for record in moments.journal.records:
        if record.get("kind") == "recalibrated" and record.get("forecast") == forecast:
            return float(record["seconds"])
    record = {"kind": "recalibrated", "forecast": forecast, "seconds": round(seconds, 2)}
    moments.journal.append(record)
    return round(seconds, 2)


def _shown(
    moments: Moments, part: Part, chosen: list[int], recalibrator: Recalibrator
) -> Iterator[Shown]:
    """Yield what is drawn of some images."""
    wanted = {place: rank for rank, place in enumerate(chosen)}
    shown: dict[int, Shown] = {}
    place = 0
    for batch in moments.batches("test", part, "both"):
        for y, mean, std in zip(batch.y, batch.mean, batch.std, strict=True):
            if place in wanted:
                dist = Normal(mean.ravel().astype(np.float64), std.ravel().astype(np.float64))
                shown[wanted[place]] = Shown.of(
                    part.data.images[place],
                    y,
                    part.data.mask[place],
                    mean,
                    dist,
                    recalibrator.transform(dist),
                )
            place += 1
    yield from (shown[rank] for rank in sorted(shown))
