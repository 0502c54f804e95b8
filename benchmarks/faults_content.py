"""Damaged, hostile and enormous content of files; see `faults`."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv, parquet as arrow_parquet

import trueline as tl
from fuzz import make_maps
from trueline.files import Columns, FileError

if TYPE_CHECKING:
    from faults import Tries

LEVELS = [0.05, 0.5, 0.95]
# The largest file of the promise on memory, and the promise, in MB.
LARGEST, MOST_MEMORY = 100, 500


def damaged(rng: np.random.Generator, data: bytes) -> bytes:
    """Return bytes with one bit flipped, or for one in ten, cut off."""
    changed = bytearray(data)
    at = int(rng.integers(len(changed)))
    if rng.random() < 0.1:
        del changed[at:]
    else:
        changed[at] ^= 1 << int(rng.integers(8))
    return bytes(changed)


# ---- maps and networks -------------------------------------------------------------------


def forecast_of(R: tl.Recalibrator) -> np.ndarray[Any, Any]:
    """Return quantiles of forecasts that a map of any kind recalibrates."""
    loc = np.linspace(-2.0, 2.0, 5)
    F: tl.Distribution = {
        "residual": lambda: tl.Point(loc),
        "normal score": lambda: tl.Quantiles([0.1, 0.5, 0.9], loc[:, None] + [[-1.0, 0.0, 1.0]]),
    }.get(R.score_kind_, lambda: tl.Normal(loc, 1.5))()
    groups = None if R.groups_ is None else [R.groups_[i % len(R.groups_)] for i in range(len(loc))]
    return np.asarray(R.transform(F, groups).ppf(LEVELS))


def try_map(tries: Tries, data: bytes, right: Any, load: Callable[[bytes], Any]) -> None:
    """Load a damaged map or network, and compare its forecasts if it loads."""
    try:
        found = load(data)
    except ValueError as error:
        named = "is not" in str(error) or "expected" in str(error)
        tries.expect(named, "refused", f"the error does not say what is wrong: {error}")
    except Exception as error:  # noqa: BLE001  # that is what is counted
        tries.failed(f"{type(error).__name__} instead of an error about the file")
    else:
        same = np.array_equal(found, right)
        tries.expect(same, "the same forecasts", "other forecasts without an error")


def json_maps(tries: Tries) -> None:
    def load(data: bytes) -> Any:
        path.write_bytes(data)
        return forecast_of(tl.load(path))

    path = tries.folder / "map.json"
    _maps(tries, lambda R: R.to_json().encode(), load)


def byte_maps(tries: Tries) -> None:
    _maps(tries, lambda R: R.to_bytes(), lambda data: forecast_of(tl.load(data)))


def _maps(tries: Tries, write: Callable[[Any], bytes], load: Callable[[bytes], Any]) -> None:
    rng = np.random.default_rng(tries.seed)
    maps = [(write(R), forecast_of(R)) for R in make_maps()]
    with np.errstate(all="ignore"):
        for i in range(tries.number):
            data, right = maps[i % len(maps)]
            try_map(tries, damaged(rng, data), right, load)


def networks(tries: Tries) -> None:
    try:
        import torch

        from trueline import models
    except ImportError:
        tries.notes.append("not tried, because torch is not installed")
        return
    torch.set_num_threads(1)
    rng = np.random.default_rng(tries.seed)
    X = rng.normal(size=(40, 2))
    model = models.DeepEnsembleRegressor(hidden=(4,), n_members=2, max_epochs=2, random_state=0)
    path = tries.folder / "net.safetensors"
    model.fit(X, X[:, 0]).save(path)
    data, new = path.read_bytes(), X[:3]

    def load(content: bytes) -> Any:
        path.write_bytes(content)
        return models.load(path).predict_dist(new).ppf(LEVELS)

    right = load(data)
    with np.errstate(all="ignore"):
        for _ in range(tries.number):
            try_map(tries, damaged(rng, data), right, load)


# ---- tables ------------------------------------------------------------------------------


def table(rows: int = 60) -> Any:
    """Return forecasts with outcomes, and groups as text and as a dictionary."""
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=rows) for name in ("y", "mean")}
    names = pa.array(["nord", "süd"] * (rows // 2))
    more = {"std": rng.uniform(0.5, 2.0, rows), "g": names, "h": names.dictionary_encode()}
    return pa.table({**columns, **more})


def as_text() -> bytes:
    out = io.BytesIO()
    arrow_csv.write_csv(table(), out)
    return out.getvalue()


def as_parquet(compression: str) -> bytes:
    out = io.BytesIO()
    arrow_parquet.write_table(
        table(), out, compression=compression, row_group_size=20, write_page_checksum=True
    )
    return out.getvalue()


def as_arrow(new: Any, compression: str | None) -> bytes:
    out = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with new(out, table().schema, options=options) as writer:
        writer.write_table(table(), 20)
    return out.getvalue()


def text(tries: Tries) -> None:
    _tables(tries, {"a.csv": as_text()}, exact=False)


def packed(tries: Tries) -> None:
    plain = as_text()
    # The last has no checksum of its own, so that another result is no fault of the reader.
    zstd = pa.compress(plain, "zstd", asbytes=True)
    files = {"a.csv.gz": gzip.compress(plain), "a.csv.bz2": bz2.compress(plain)}
    third = tries.number // 3
    tries.number -= third
    _tables(tries, files, exact=True)
    tries.number = third
    _tables(tries, {"a.csv.zst": zstd}, exact=False)


def parquet(tries: Tries) -> None:
    files = {f"{c}.parquet": as_parquet(c) for c in ("none", "snappy", "zstd")}
    _tables(tries, files, exact=False)


def arrow(tries: Tries) -> None:
    new = {"file": pa.ipc.new_file, "stream": pa.ipc.new_stream}
    files = {
        f"{name}-{compression}.arrow": as_arrow(made, compression)
        for name, made in new.items()
        for compression in (None, "lz4", "zstd")
    }
    _tables(tries, files, exact=False)


def _tables(tries: Tries, files: dict[str, bytes], *, exact: bool) -> None:
    """Fit and apply maps on damaged tables.

    Formats without checksums may hold another valid table after damage. With ``exact``, they may
    not, because their checksums say so.
    """
    rng = np.random.default_rng(tries.seed)
    R = tl.Isotonic().fit([0.3, -0.1, 2.0], tl.Normal([0.0, 0.0, 0.0], 1.0))

    def read(path: Path) -> tuple[str, bytes]:
        fitted = tl.files.fit(path, columns=Columns(group="g"), n_jobs=1)
        tl.files.apply(R, path, out, force=True)
        return fitted.to_json(), out.read_bytes()

    out, right = tries.folder / "out.csv", {}
    for name, data in files.items():
        (tries.folder / name).write_bytes(data)
        right[name] = read(tries.folder / name)
    for i in range(tries.number):
        name = list(files)[i % len(files)]
        path = tries.folder / name
        path.write_bytes(damaged(rng, files[name]))
        try:
            found = read(path)
        except FileError as error:
            tries.expect(name in str(error), "refused", f"the error names no file: {error}")
        except Exception as error:  # noqa: BLE001  # that is what is counted
            tries.failed(f"{type(error).__name__} for {path.suffix}: {str(error)[:80]}")
        else:
            if found == right[name]:
                tries.survived("the same result")
            else:
                tries.expect(not exact, "read as another table", f"{name}: another result")
    left = [p.name for p in tries.folder.iterdir() if p.name.startswith(".")]
    if left:
        tries.failed(f"left {left}")


# ---- size --------------------------------------------------------------------------------

# The peak of the memory is that of the command itself, not of the process that starts it.
MEASURED = """
import atexit, sys
def tell():
    status = open("/proc/self/status").read()
    print(status.split("VmHWM:")[1].split()[0], file=sys.stderr)
atexit.register(tell)
from trueline.cli import main
sys.argv = ["trueline", *sys.argv[1:]]
main()
"""


def measured(folder: Path, *arguments: str) -> tuple[int, str, float]:
    """Run a command; return its exit code, what it printed and its peak of memory in MB."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    *said, peak = done.stderr.splitlines()
    return done.returncode, "\n".join(said), int(peak) / 1e3


def repeated(piece: bytes, size: int, start: bytes = b"") -> bytes:
    return (start + piece * (size // len(piece)))[:size]


def large_files(size: int) -> dict[str, Callable[[], bytes]]:
    """Return files that must be refused, by name."""
    rng = np.random.default_rng(0)
    head = b"y,mean,std\n1,2,3\n"
    same = partial(repeated, size=size)
    array = b'{"format": "trueline-recalibrator", "version": 1, "state": ['
    texts = {
        "zeros": lambda: same(b"\0"),
        "blank": lambda: same(b"\n"),
        "commas": lambda: same(b","),
        "one-line": lambda: same(b"x"),
        "quote": lambda: same(b"1,2,3\n", start=head + b'1,2,"3\n'),
        "bad-end": lambda: same(b"1,2,3\n", start=head)[:-20] + b"\n1,2,abc\n",
        "columns": lambda: ",".join(["y", *(f"sample_{i}" for i in range(size // 14))]).encode(),
        "random": lambda: rng.bytes(size),
    }
    maps = {
        "empty-objects": lambda: b"[" + same(b"{},") + b"{}]",
        "lists": lambda: same(b"["),
        "listed-objects": lambda: same(b"{},", start=array),
        "listed-numbers": lambda: same(b"1.5,", start=array),
        "listed-texts": lambda: same(b'"ab",', start=array),
        "text": lambda: same(b"x", start=b'"'),
        "random": lambda: rng.bytes(size),
    }
    tables = {
        "random": lambda: rng.bytes(size),
        "parquet": lambda: b"PAR1" + same(b"\0") + b"\xff\xff\xff\x00PAR1",
        "arrow": lambda: b"ARROW1\0\0" + same(b"\xff") + b"\xff\xff\xff\x00ARROW1",
    }
    bombs = {
        "bomb-line": lambda: gzip.compress(bytes(30 * size), 1),
        "bomb-rows": lambda: gzip.compress(repeated(b"1,2,3\n", 30 * size, head), 1),
    }
    files = {f"{name}.csv": made for name, made in texts.items()}
    files |= {f"{name}.csv.gz": made for name, made in bombs.items()}
    files |= {f"{name}.json": made for name, made in maps.items()}
    files["map.bin"] = lambda: b"TRUELINE" + rng.bytes(size)
    files |= {f"{n}{e}": made for n, made in tables.items() for e in (".parquet", ".arrow")}
    return files


def limits(tries: Tries) -> None:
    """Refuse files of up to 100 MB, each in a process of its own."""
    if not Path("/proc/self/status").exists():
        tries.notes.append("not tried, because there is no /proc")
        return
    size = (5 if tries.quick else LARGEST) * 1_000_000
    files = large_files(size)
    names = ["columns.csv", "bomb-line.csv.gz"] if tries.quick else list(files)
    (tries.folder / "good.csv").write_bytes(as_text())
    highest = 0.0
    for name in names:
        (tries.folder / name).write_bytes(files[name]())
        command = ["evaluate", name]
        if name.endswith((".json", ".bin")):
            command = ["apply", name, "good.csv", "-o", "out.csv"]
        code, said, peak = measured(tries.folder, *command)
        (tries.folder / name).unlink()
        highest = max(highest, peak)
        if code != 2 or "error: " not in said or "Traceback" in said:
            tries.failed(f"{name}: exit code {code}, {said[-150:]!r}")
        else:
            fits = peak <= MOST_MEMORY
            tries.expect(fits, "refused", f"{name}: refused at the cost of {peak:.0f} MB")
    tries.notes.append(f"at most {highest:.0f} MB")


def wide(tries: Tries) -> None:
    """Read rows of many columns and long cells; refuse a million columns."""
    rng = np.random.default_rng(tries.seed)
    for columns in (3_000,) if tries.quick else (3_000, 30_000, 99_000):
        draws = rng.normal(size=(3, columns)).round(9)
        path = tries.folder / f"{columns}.csv"
        names = ",".join(["y", *(f"sample_{i}" for i in range(columns))])
        rows = [",".join(map(str, [y, *row])) for y, row in enumerate(draws.tolist())]
        path.write_text("\n".join([names, *rows, ""]))
        found = tl.files.evaluate(path).overall.crps
        right = tl.evaluate([0.0, 1.0, 2.0], tl.Samples(draws)).crps
        tries.expect(found == right, "read", f"{columns} draws: {found} instead of {right}")
    for length in (200_000, 2_000_000, 16_000_000):
        path = tries.folder / "cell.csv"
        path.write_text("y,mean,note\n" + "1,2,\n" * 9 + "3,4," + "x" * length + "\n5,6,\n")
        n = tl.files.evaluate(path).overall.n
        tries.expect(n == 11, "read", f"{n} rows beside a cell of {length} characters")
    (tries.folder / "many.csv").write_text(",".join(f"c{i}" for i in range(1_000_000)))
    try:
        tl.files.evaluate(tries.folder / "many.csv")
    except FileError as error:
        named = "100,000 columns, the limit" in str(error)
        tries.expect(named, "refused", f"a million columns: {error}")
    else:
        tries.failed("a million columns were read")


# ---- numbers and indexes -----------------------------------------------------------------


def numbers(tries: Tries) -> None:
    """Fit on forecasts whose scores float64 cannot carry, and load a score near its end."""
    methods = [tl.Isotonic, tl.Scaling, tl.Smooth, tl.BetaCalibration, tl.Auto, tl.Grouped]
    y = np.linspace(-1.0, 1.0, 60)
    for method in methods:
        for scale in (1e-300, 1e-320, 5e-324, 1e300, 1e308):
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                groups = np.arange(60) % 2 if method is tl.Grouped else None
                _try_numbers(tries, method(), y, tl.Normal(np.zeros(60), scale), groups)
    document = json.loads(tl.Smooth().fit(y, tl.Normal(np.zeros(60), 1.0)).to_json())
    document["state"]["scores"]["values"][0] = -1e308
    path = tries.folder / "edited.json"
    path.write_text(json.dumps(document))
    try:
        from trueline.recalibration import sign  # type: ignore[attr-defined,unused-ignore]

        sign(path)
    except ImportError:
        pass
    try:
        law = tl.load(path).transform(tl.Normal(0.0, 1.0))
        inside = law.cdf(np.array([[-3.0, 0.0, 3.0]]))
        good = bool(((inside >= 0) & (inside <= 1)).all())
        tries.expect(good, "finite", "a loaded score of -1e308: probabilities beyond [0, 1]")
    except ValueError:
        tries.survived("refused")


def _try_numbers(tries: Tries, R: Any, y: Any, F: Any, groups: Any) -> None:
    name = f"{type(R).__name__} at a scale of {F.scale[0]:g}"
    try:
        ends = R.fit(y, F, groups=groups).transform(F, groups).interval(0.9)
    except ValueError as error:
        ours = "expected" in str(error) or "scale" in str(error)
        tries.expect(ours, "refused", f"{name}: {error}")
    except Exception as error:  # noqa: BLE001  # that is what is counted
        tries.failed(f"{name}: {type(error).__name__}: {error}")
    else:
        good = bool(np.isfinite(ends).all())
        tries.expect(good, "finite", f"{name}: infinite intervals without an error")


def indexes(tries: Tries) -> None:
    """Pair outcomes and features whose labels are in another order, or differ."""
    try:
        import pandas as pd
    except ImportError:
        tries.notes.append("not tried, because pandas is not installed")
        return
    from sklearn.linear_model import BayesianRidge

    rng = np.random.default_rng(tries.seed)
    days = pd.date_range("2026-01-01", periods=60)
    X = pd.DataFrame({"a": rng.normal(size=60)}, index=days)
    y = X["a"] + rng.normal(size=60)
    new = X.reset_index(drop=True), y.reset_index(drop=True)[::-1]
    cases = {"another order": (X, y[::-1]), "another order of a new frame": new}
    cases["other labels"] = X, y.set_axis(days + pd.Timedelta(days=7))
    for name, (features, outcomes) in cases.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                tl.CalibratedRegressor(BayesianRidge(), cv=3).fit(features, outcomes)
            except ValueError as error:
                tries.expect("index" in str(error), "refused", f"{name}: {error}")
                continue
        warned = name == "other labels" and any("index" in str(w.message) for w in caught)
        tries.expect(warned, "warned", f"{name} of labels: paired by position without a word")
