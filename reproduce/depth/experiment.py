"""Train the networks, recalibrate their forecasts of the depth of pixels, write the results."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from reproduce import Progress
from reproduce.depth.moments import Files, Moments, forget
from reproduce.depth.network import (
    FORECASTS,
    FULL,
    HELD_OUT,
    LONGEST,
    QUICK,
    QUICK_SEEDS,
    SEED,
    SEEDS,
    Size,
    Training,
    cost,
    parts,
    training_seconds,
)
from reproduce.depth.page import csv_of, numbers_of, page_of, table
from reproduce.depth.pictures import Shown, draw_calibration, draw_images, typical
from reproduce.depth.results import Results, Scores
from reproduce.depth.scores import judge
from reproduce.depth.work import Work, in_processes
from reproduce.journal import Journal
from reproduce.pages import command_line, folder, made_by
from reproduce.pictures import require_matplotlib
from reproduce.tasks import DECISIVE, check_counts, description, require_torch, versions
from trueline._files import write_text
from trueline.clusters import fit_batches
from trueline.distributions import Normal
from trueline.recalibration import Recalibrator


def run(
    *,
    quick: bool,
    fresh: bool,
    epochs: int | None,
    seeds: int | None,
    jobs: int,
    output: Path | None,
    progress: Progress,
) -> str:
    """Make the missing forecasts, recalibrate them, write the results, return the table."""
    require_matplotlib("reproduce depth")
    require_torch()
    size = QUICK if quick else FULL
    usual = QUICK_SEEDS if quick else SEEDS
    wanted = usual if seeds is None else seeds
    size = size if epochs is None else size._replace(epochs=epochs)
    check_counts(epochs=size.epochs, seeds=wanted, jobs=jobs)
    found = parts(size.every)
    target = folder(output or Path("results") / ("depth-quick" if quick else "depth"))
    journal = Journal(target / "runs.jsonl", settings(size), fresh=fresh)
    if fresh:
        forget(target)
    # Processes that are used again may be in another folder.
    kept_in = target.resolve()
    moments = Moments(kept_in, journal, found)
    # Earlier networks stay in: a run with fewer must not leave a smaller table.
    networks = range(max(wanted, 1 + max(moments.seeds(), default=0)))
    work = Work(progress, len(networks) * cost(size, found))
    training = Training(kept_in, size, networks, found["train"], work)
    n_known = moments.make(training.run(journal, jobs), work, jobs)
    files = [moments.files(seed) for seed in networks]
    results, after = recalibrate(files, jobs)
    times = [(training_seconds(journal, seed), moments.seconds(seed)) for seed in networks]
    text = csv_of(results, times)
    write_text(target / "depth.csv", text)
    draw_calibration(target / "calibration.png", results)
    chosen = typical(results["both"].test("before")[0])
    draw_images(target / "images.png", list(_shown(files[0], chosen, after)))
    count = None if len(networks) == usual else len(networks)
    command = command_line("depth", {"quick": quick, "epochs": epochs, "seeds": count})
    numbers = numbers_of(list(csv.DictReader(text.splitlines())))
    made = made_by(command, [*DECISIVE, "matplotlib"])
    write_text(target / "depth.md", page_of(numbers, command, made))
    total = len(networks) * sum(map(len, found.values()))
    kept = f"{n_known} of {total} forecasts existed already; --fresh starts again.\n"
    kept = kept if n_known else ""
    return f"{table(numbers)}\n{kept}The page, all numbers and the pictures are in {target}."


def settings(size: Size) -> dict[str, str]:
    """Return what the results depend on, apart from the seed of a network."""
    images = f"every {size.every}" if size.every > 1 else "all"
    split = f"runs of up to {LONGEST} with {HELD_OUT:g} of the images held out, seed {SEED}"
    return (
        {"experiment": "depth"}
        | versions()
        | {"network": description(size.network(0)), "images": images, "split": split}
    )


def recalibrate(files: Sequence[Files], jobs: int) -> tuple[dict[str, Results], Recalibrator]:
    """Fit both maps of both forecasts of all networks, and score all pixels.

    Returns the scores by forecast, and the map of the held-out images for the first network.
    """
    tasks = [(one, forecast, seed) for forecast in FORECASTS for seed, one in enumerate(files)]
    done = {(forecast, seed): rest for forecast, seed, *rest in in_processes(_judged, tasks, jobs)}
    found = files[0].found
    runs = {"training": found["train"].runs, "held": found["held"].runs, "test": found["test"].runs}
    results = {
        forecast: Results([done[forecast, seed][0] for seed in range(len(files))], runs)
        for forecast in FORECASTS
    }
    return results, done["both", 0][1]


def _judged(files: Files, forecast: str, seed: int) -> tuple[str, int, Scores, Recalibrator]:
    """Fit both maps of a forecast of a network and score all pixels, one file at a time."""
    training = fit_batches(files.batches("train", forecast))
    held = fit_batches(files.batches("held", forecast))
    maps: dict[str, Recalibrator | None] = {"before": None, "training": training, "held": held}
    test = judge(files.batches("test", forecast), maps)
    # The floors depend on the variation between the images that the maps were fitted on.
    fitted = judge(files.batches("train", forecast), {"training": training})
    fitted |= judge(files.batches("held", forecast), {"held": held})
    return forecast, seed, Scores(test, fitted), held


def _shown(files: Files, chosen: list[int], recalibrator: Recalibrator) -> Iterator[Shown]:
    """Yield the panels of some images."""
    wanted = {place: rank for rank, place in enumerate(chosen)}
    mask = files.found["test"].data.mask
    shown: dict[int, Shown] = {}
    place = 0
    for batch in files.batches("test", "both"):
        for y, mean, std in zip(batch.y, batch.mean, batch.std, strict=True):
            if place in wanted:
                dist = Normal(mean.ravel().astype(np.float64), std.ravel().astype(np.float64))
                after = recalibrator.transform(dist)
                shown[wanted[place]] = Shown.of(y, mask[place], mean, dist, after)
            place += 1
    yield from (shown[rank] for rank in sorted(shown))
