"""Recalibrating the pixels of images: memory, and time beside the network's own.

    python benchmarks/depth.py            # 100, 400 and 795 images of 72 x 96; 654 are scored
    python benchmarks/depth.py --quick    # a tenth of them, and two sizes

Memory is the peak of a fresh process that has loaded torch, as in ``make reproduce ARGS=depth``:
maps are fitted on all images but a tenth and on that tenth, and both and the forecasts as they are
judged on all. The ratio is of the network's passes over 654 images, from some of them, to fitting
both maps and scoring all three forecasts, in one process and on one thread. ``want`` is the bound
that the project holds itself to.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))  # for `reproduce`

IMAGES = (100, 400, 795)
TEST = 654
WANT_MB = 1024.0
WANT_RATIO = 10.0
SHAPE = (72, 96)
CHUNK = 32
# The time per image hardly varies, so the passes over all images are estimated from these.
PASSES = 8


def batches(first: int, stop: int) -> Iterator[object]:
    """Yield images that are off together, forecast ten times too surely, made as they are asked."""
    from trueline.clusters import Batch

    for start in range(first, stop, CHUNK):
        rng = np.random.default_rng([7, start])
        shape = (min(CHUNK, stop - start), *SHAPE)
        mean = rng.uniform(1.0, 6.0, shape).astype(np.float32)
        std = rng.gamma(4.0, 0.015, shape).astype(np.float32) + np.float32(0.005)
        off = 0.4 * rng.normal(size=(shape[0], 1, 1)) + 0.4 * rng.normal(size=shape)
        yield Batch((mean + off).astype(np.float32), mean, std)


def recalibrate(n_fit: int, n_test: int) -> dict[str, object]:
    """Fit the two maps and judge the three forecasts."""
    from reproduce.depth.scores import judge
    from trueline.clusters import fit_batches

    cut = n_fit - n_fit // 10
    training = fit_batches(batches(0, cut))
    held = fit_batches(batches(cut, n_fit))
    maps = {"before": None, "training": training, "held": held}
    return dict(judge(batches(1000, 1000 + n_test), maps))


def peak(images: int) -> tuple[float, float, float]:
    """Peak of a process in MB, what of it was there before the pixels, and seconds."""
    code = (
        "import resource, sys, time, torch; sys.path.insert(0, sys.argv[1]); import depth\n"
        "import reproduce.depth.network\n"
        "torch.set_num_threads(1)\n"
        "def mb(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "depth.recalibrate(20, 2)\n"
        "before, started = mb(), time.perf_counter()\n"
        f"depth.recalibrate({images}, {images})\n"
        "print(mb(), before, time.perf_counter() - started)\n"
    )
    folder = __file__.rpartition("/")[0] or "."
    command = [sys.executable, "-c", code, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    whole, before, seconds = map(float, done.stdout.split())
    return whole, before, seconds


def ratio(n_fit: int, n_test: int, *, quick: bool) -> tuple[float, float, int]:
    """Seconds of the network's passes, those of recalibrating and scoring, and samples."""
    import torch

    from reproduce.depth.network import FULL

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(PASSES, *SHAPE, 3), dtype=np.uint8)
    network = FULL._replace(epochs=1).network()
    network.fit(images, rng.uniform(1.0, 6.0, (PASSES, *SHAPE)))
    some = images[: 1 if quick else PASSES]
    network.predict_moments(some[:1])
    started = time.perf_counter()
    network.predict_moments(some)
    passes = (time.perf_counter() - started) / len(some) * n_test
    recalibrate(20, 2)
    # What it takes to make the pixels up is none of it.
    started = time.perf_counter()
    for _ in batches(0, n_fit + n_test):
        pass
    made = time.perf_counter() - started
    started = time.perf_counter()
    recalibrate(n_fit, n_test)
    return passes, time.perf_counter() - started - made, FULL.samples


def main() -> int:
    """Print the tables; 1 if a bound does not hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the images")
    quick = parser.parse_args().quick
    share = 10 if quick else 1
    good = True
    print(f"{'images':<10}{'pixels':>12}{'peak MB':>10}{'before':>9}{'want':>8}{'seconds':>9}")
    for images in (n // share for n in IMAGES[:: 2 if quick else 1]):
        whole, before, seconds = peak(images)
        good &= whole < WANT_MB
        print(
            f"{images:<10}{images * SHAPE[0] * SHAPE[1]:>12,}{whole:>10.0f}{before:>9.0f}"
            f"{'<' + format(WANT_MB, '.0f'):>8}{seconds:>9.1f}"
            f"{'' if whole < WANT_MB else '  TOO MUCH'}",
            flush=True,
        )
    passes, ours, samples = ratio(IMAGES[-1] // share, TEST // share, quick=quick)
    enough = passes / ours >= WANT_RATIO
    good &= enough
    print(
        f"{TEST // share} images: {samples} passes of the network {passes:.0f} s, recalibrating "
        f"and scoring {ours:.1f} s, {passes / ours:.0f} times less (want {WANT_RATIO:.0f})"
        f"{'' if enough else '  TOO SLOW'}"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
