"""Mutated maps: every one is refused with a clear error, or is a valid map.

    python benchmarks/fuzz.py                    # 20,000 inputs
    python benchmarks/fuzz.py --inputs 1000000   # the million; some minutes on one core
    python benchmarks/fuzz.py --flips 10000      # one flipped bit each: JSON, bytes, a network

Half of the inputs get a right checksum after they were changed, so that what lies behind it is
reached. An error that is not a ValueError, a map that cannot be used, or an input that takes more
than a second of the processor ends the run; by how much the memory grew is printed.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import struct
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import trueline as tl
from trueline import documents

_BEGIN = struct.calcsize("<8sH32s")


def make_maps() -> list[tl.Recalibrator]:
    """Small maps of every kind."""
    rng = np.random.default_rng(0)
    y, F = rng.normal(size=60), tl.Normal(np.zeros(60), 1.0)
    w = rng.integers(1, 4, size=60).astype(float)
    groups = np.where(np.arange(60) % 3 == 0, "north", "south")
    rounded = tl.Isotonic().fit(y, F)
    rounded._learn(rounded.scores_.round())
    return [
        tl.Isotonic().fit(y, F),
        tl.Isotonic(finite_sample=False).fit(y.round(2), F, w),
        tl.Isotonic().fit(y, F).compress(20),
        rounded,
        tl.Smooth().fit(y, F),
        tl.BetaCalibration().fit(y, F, w),
        tl.Scaling().fit(y, tl.Point(np.zeros(60))),
        tl.Auto().fit(y, F),
        tl.Grouped().fit(y, F, groups=groups),
        tl.Online(window=20).fit(y, F),
        tl.Online(coverage=0.9, half_life=10.0).fit(y, F),
        tl.Grouped(tl.Scaling(), shrinkage=3.0).fit(y, F, groups=np.arange(60) % 2),
    ]


def mutate(inputs: int, seed: int) -> Counter[str]:
    """Change maps at random and load them; count what came of it."""
    rng = np.random.default_rng(seed)
    maps = make_maps()
    for R in maps:  # what is loaded once takes time
        try_out(R)
    originals = [R.to_bytes() for R in maps]
    counts: Counter[str] = Counter()
    for _ in range(inputs):
        data = changed(rng, originals)
        started = time.process_time()
        try:
            R = tl.load(data)
        except ValueError as error:
            if "is not a valid trueline map: " not in str(error):
                raise
            counts["refused"] += 1
        else:
            try_out(R)
            counts["valid"] += 1
        if time.process_time() - started > 1.0:
            raise AssertionError(f"slow: {data!r}")
    return counts


def changed(rng: np.random.Generator, originals: list[bytes]) -> bytes:
    """One of the maps with some bytes changed, left out, doubled, cut off or swapped."""
    data = bytearray(originals[rng.integers(len(originals))])
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(data)))
        length = int(rng.integers(1, 9))
        match rng.integers(6):
            case 0:
                data[at] ^= 1 << int(rng.integers(8))
            case 1:
                data[at : at + length] = rng.bytes(length)
            case 2:
                del data[at : at + length]
            case 3:
                data[at:at] = data[at : at + length]
            case 4:
                del data[max(at, 1) :]
            case 5:
                other = originals[rng.integers(len(originals))]
                data[at:] = other[at:]
        if not data:
            return b""
    if rng.random() < 0.5 and len(data) > _BEGIN:
        data[:10] = struct.pack("<8sH", documents.MAGIC, documents.VERSION)
        data[10:_BEGIN] = hashlib.sha256(data[_BEGIN:]).digest()
    return bytes(data)


def flip(inputs: int, seed: int) -> dict[str, Counter[str]]:
    """Flip one bit of maps and of a network; count what loads the same, differently or not."""
    from trueline.models import DropoutRegressor, load

    rng = np.random.default_rng(seed)
    maps = make_maps()
    found: dict[str, Counter[str]] = {"JSON": Counter(), "bytes": Counter(), "network": Counter()}
    forms = {"JSON": [R.to_json().encode() for R in maps], "bytes": [R.to_bytes() for R in maps]}
    for name, contents in forms.items():
        for i in range(inputs):
            which = i % len(maps)
            try:
                R = tl.load(flipped(rng, contents[which]))
            except ValueError:
                found[name]["refused"] += 1
            else:
                same = R.to_bytes() == maps[which].to_bytes()
                found[name]["same" if same else "DIFFERENT"] += 1
    X = rng.normal(size=(60, 3))
    model = DropoutRegressor(hidden=(8,), max_epochs=3, random_state=0).fit(X, X[:, 0])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "network.safetensors"
        model.save(file)
        content, expected = file.read_bytes(), load(file).predict(X)
        for _ in range(inputs):
            file.write_bytes(flipped(rng, content))
            try:
                loaded = load(file)
            except ValueError:
                found["network"]["refused"] += 1
            else:
                same = np.array_equal(loaded.predict(X), expected)
                found["network"]["same" if same else "DIFFERENT"] += 1
    return found


def flipped(rng: np.random.Generator, content: bytes) -> bytes:
    """Return the content with one bit flipped."""
    data = bytearray(content)
    bit = int(rng.integers(8 * len(data)))
    data[bit // 8] ^= 1 << bit % 8
    return bytes(data)


def try_out(R: tl.Recalibrator) -> None:
    """Use a map that was read."""
    kind = R.scores_.kind  # type: ignore[attr-defined]
    F: tl.Distribution = tl.Point([0.0, 1.0]) if kind == "residual" else tl.Normal([0.0, 1.0], 1.0)
    if kind == "normal score":
        F = tl.Mixture([F])
    groups = ["north", "south"] if isinstance(R, tl.Grouped) else None
    if isinstance(R, tl.Grouped) and not isinstance(R.groups_[0], str):
        groups = [R.groups_[0]] * 2
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        lower, upper = R.transform(F, groups).interval(0.5)
    if not (lower <= upper).all():
        raise AssertionError(f"{R!r} read from mutated bytes has intervals that cross")


def main() -> None:
    """Read the options, run, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--flips", type=int, default=0)
    options = parser.parse_args()
    if options.flips:
        for name, counts in flip(options.flips, options.seed).items():
            print(f"{name}: {options.flips:,} flips, seed {options.seed}: {dict(counts)}")
        return
    mutate(100, options.seed)  # what is loaded once
    before = peak_memory()
    counts = mutate(options.inputs, options.seed)
    grown = peak_memory() - before
    print(f"{options.inputs:,} inputs, seed {options.seed}: {dict(counts)}, memory +{grown:,} KiB")


def peak_memory() -> int:
    """Largest memory of this process so far, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
