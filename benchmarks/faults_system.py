"""Signals, kills, races, disks, links and terminals; see `faults`."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pyarrow import csv as arrow_csv, parquet as arrow_parquet

import trueline as tl
from faults_content import as_text, forecast_of, table
from trueline import _partial
from trueline._files import FileError, write_text
from trueline._partial import LeftoverWarning
from trueline.files._whole_folder import whole_folder

if TYPE_CHECKING:
    from faults import Tries

ROOT = Path(__file__).resolve().parent.parent
NOBODY = 65_534


def a_map(n: int = 60, seed: int = 0) -> tl.Recalibrator:
    y = np.random.default_rng(seed).normal(size=n)
    return tl.Isotonic().fit(y, tl.Normal(np.zeros(n), 1.0))


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".*.tmp")]


def swept(path: Path) -> int:
    """Write a file as the next run does; return the number of leftovers that it announced."""
    _partial._searched.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        write_text(path, "next")
    return sum(issubclass(warning.category, LeftoverWarning) for warning in caught)


# ---- signals and kills -------------------------------------------------------------------


def signals(tries: Tries) -> None:
    """Stop commands while they write; each is a process of its own."""
    rng = np.random.default_rng(tries.seed)
    folder = tries.folder
    a_map().to_json(folder / "map.json")
    rows = 40_000 if tries.quick else 200_000
    arrow_csv.write_csv(table(rows), folder / "new.csv")
    (folder / "parts").mkdir()
    for i in range(4):
        arrow_parquet.write_table(table(rows // 4), folder / "parts" / f"{i}.parquet")
    jobs = [("new.csv", "out.csv"), ("parts", "out"), ("new.csv", "out.parquet")]
    right = {}
    for source, out in jobs:
        tl.files.apply(a_map(), folder / source, folder / out)
        right[out] = content(folder / out)
    for i in range(tries.number):
        # Each signal meets every job, new and already there.
        wanted = (signal.SIGTERM, signal.SIGKILL, signal.SIGHUP, signal.SIGINT)[i % 4]
        source, out = jobs[i // 4 % len(jobs)]
        there = i // 12 % 2 == 1
        remove(folder / out)
        if there:
            tl.files.apply(a_map(seed=1), folder / source, folder / out)
        _stop(tries, [source, out], wanted, right[out], there, float(rng.uniform(0.0, 0.4)))


def _stop(
    tries: Tries, job: list[str], wanted: signal.Signals, right: Any, there: bool, wait: float
) -> None:
    folder, out = tries.folder, tries.folder / job[1]
    before = content(out) if there else None
    command = [sys.executable, "-m", "trueline", "apply", "map.json", job[0], "-o", job[1]]
    child = subprocess.Popen(
        [*command, "--force"], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    while child.poll() is None and not hidden(folder):
        time.sleep(0.001)
    time.sleep(wait)
    child.send_signal(wanted)
    said = child.communicate()[1].decode()
    code, left = child.returncode, hidden(folder)
    name = f"{wanted.name} to {job[1]}"
    # Python gives up its handlers when it exits, after the work is done.
    if code == 0 or (code == -wanted and not left and content(out) == right):
        done = content(out) == right
        tries.expect(done and not left, "finished first", f"{name}: finished, but not whole")
        return
    now = content(out) if out.exists() else None
    if now not in (before, right):
        tries.failed(f"{name}: neither the old nor the new output is there")
    elif wanted == signal.SIGKILL:
        announced = swept(folder / "other.txt")
        good = announced == len(left) and not hidden(folder)
        tries.expect(good, "killed, cleaned by the next run", f"{name}: left {hidden(folder)}")
    else:
        good = code == 128 + wanted and not left and "stopped; nothing was left behind." in said
        tries.expect(good, "stopped, clean", f"{name}: exit code {code}, left {left}, {said!r}")


def content(path: Path) -> Any:
    """Return all bytes of a file or of the files of a folder."""
    if path.is_dir():
        return {str(f.relative_to(path)): f.read_bytes() for f in path.rglob("*") if f.is_file()}
    return path.read_bytes()


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def kills(tries: Tries) -> None:
    """Kill writers of files and folders at random moments, in forked processes."""
    rng = np.random.default_rng(tries.seed)
    file, folder = tries.folder / "a.txt", tries.folder / "out"
    texts = [letter * 200_000 for letter in "ab"]
    write_text(file, texts[0])
    write_folder(folder, texts[0])
    for i in range(tries.number):
        whole = i % 2 == 0
        _partial._searched.clear()
        begun, child_begins = os.pipe()
        child = os.fork()
        if child == 0:  # no more than files are written here, until it is killed
            with contextlib.suppress(BaseException):
                os.write(child_begins, b"x")
                for text in itertools.cycle(texts):
                    _ = write_text(file, text) if whole else write_folder(folder, text)
            os._exit(1)
        os.read(begun, 1)
        time.sleep(float(rng.uniform(0.0, 0.01)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(begun)
        os.close(child_begins)
        left = hidden(tries.folder)
        announced = swept(tries.folder / "other.txt")
        if whole:
            good = file.read_text() in texts
        else:
            good = folder.is_dir() and set(content(folder).values()) <= {t.encode() for t in texts}
            good = good and len(set(content(folder).values())) == 1
        name = "file" if whole else "folder"
        if not good:
            tries.failed(f"a {name} is neither the old nor the new one")
        else:
            cleaned = not hidden(tries.folder) and announced >= len(left)
            how = "old or new, leftover removed" if left else "old or new"
            tries.expect(cleaned, how, f"left {hidden(tries.folder)}, announced {announced}")


NAMES = [Path("a.csv"), Path("b.csv")]


def write_folder(path: Path, text: str, *, force: bool = True) -> None:
    with whole_folder(path, NAMES, force=force) as new:
        for name in NAMES:
            (new / name).write_text(text)


# ---- races and threads -------------------------------------------------------------------


def races(tries: Tries) -> None:
    """Let two writers and a stranger race for a name that only one may have."""
    rng = np.random.default_rng(tries.seed)
    writers: list[Callable[[Path, str], None]] = [
        partial(write_text, force=False),
        partial(write_folder, force=False),
    ]
    for i in range(tries.number):
        path, write = tries.folder / f"{i}", writers[i % 2]
        texts = ["x" * 50_000, "y" * 50_000, "stranger"]
        waits = rng.uniform(0.0, 0.003, size=3)
        won: list[str] = []
        lost: list[BaseException] = []

        def enter(k: int, act: Callable[[Path, str], None], path: Path = path) -> None:
            time.sleep(waits[k])  # noqa: B023  # the threads end within this round
            try:
                act(path, texts[k])  # noqa: B023
                won.append(texts[k])  # noqa: B023
            except Exception as error:  # noqa: BLE001  # judged below
                lost.append(error)  # noqa: B023

        acts = [write, write, _stranger]
        threads = [threading.Thread(target=enter, args=(k, act)) for k, act in enumerate(acts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        kind = "file" if i % 2 == 0 else "folder"
        found = content(path)
        found = set(found.values()) if isinstance(found, dict) else {found}
        good = [text.encode() for text in won] == list(found) and len(won) == 1
        spoken = all(isinstance(error, FileError | FileExistsError) for error in lost)
        if not good or hidden(tries.folder):
            tries.failed(f"{kind}: {len(won)} of 3 won, {len(found)} texts are there")
        else:
            tries.expect(spoken, f"one {kind}, errors for others", f"{kind}: {lost}")
    _late_files(tries)


def _stranger(path: Path, text: str) -> None:
    with path.open("x") as file:
        file.write(text)


def _late_files(tries: Tries) -> None:
    """Apply a map without ``force`` while another program writes the output."""
    (tries.folder / "new.csv").write_bytes(as_text())
    for ending in (".csv", ".parquet", ".arrow"):
        out = tries.folder / f"late{ending}"
        try:
            tl.files.apply(
                a_map(),
                tries.folder / "new.csv",
                out,
                progress=lambda *_, out=out: out.write_text("precious"),  # type: ignore[misc]
            )
        except FileError as error:
            kept = out.read_text() == "precious" and "meanwhile" in str(error)
            tries.expect(kept, "late file kept", f"apply to {out.name}: {error}")
        else:
            tries.failed(f"apply to {out.name} replaced a file that appeared meanwhile")


def threads(tries: Tries) -> None:
    """Read a map while four threads replace it."""
    path = tries.folder / "map.json"
    maps = [a_map(seed=seed) for seed in range(4)]
    right = [forecast_of(R).tobytes() for R in maps]
    maps[0].to_json(path)
    stop = threading.Event()
    faults: list[BaseException] = []

    def write(R: tl.Recalibrator) -> None:
        try:
            while not stop.is_set():
                R.to_json(path)
        except Exception as error:  # noqa: BLE001  # judged below
            faults.append(error)

    writers = [threading.Thread(target=write, args=(R,)) for R in maps]
    for writer in writers:
        writer.start()
    for _ in range(tries.number):
        try:
            found = forecast_of(tl.load(path)).tobytes()
            tries.expect(found in right, "whole", "a mixture of two maps")
        except Exception as error:  # noqa: BLE001  # that is what is counted
            tries.failed(f"{type(error).__name__}: {error}")
    stop.set()
    for writer in writers:
        writer.join()
    left = [p.name for p in tries.folder.iterdir()]
    if faults or left != ["map.json"]:
        tries.failed(f"errors of writers: {faults[:1]}, left: {left}")


# ---- disks -------------------------------------------------------------------------------


@contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """Mount a disk of 512 KB; yield None if that is not permitted."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        done = False
    try:
        yield folder if done else None
    finally:
        if done:
            subprocess.run(["umount", str(folder)], check=True)


def writers_to(disk: Path, source: Path) -> dict[str, Callable[[], Any]]:
    """Return ways to write, each to a name of its own, of which some are there already."""
    large = a_map(20_000)
    parts = source.parent / "parts"
    y, F = np.zeros(100), tl.Normal(np.zeros(100), 1.0)
    return {
        "map.json": lambda: large.to_json(disk / "map.json"),
        "map.bin": lambda: large.to_bytes(disk / "map.bin"),
        "out.csv": lambda: tl.files.apply(a_map(), source, disk / "out.csv", force=True),
        "out.parquet": lambda: tl.files.apply(a_map(), source, disk / "out.parquet", force=True),
        "out.arrow": lambda: tl.files.apply(a_map(), source, disk / "out.arrow", force=True),
        "folder": lambda: tl.files.apply(a_map(), parts, disk / "folder", force=True),
        "page.html": lambda: tl.report(y, F, disk / "page.html"),
    }


def source_of(folder: Path) -> Path:
    """Write forecasts of a few hundred kilobytes, as a file and as a folder."""
    (folder / "parts").mkdir()
    arrow_csv.write_csv(table(6_000), folder / "new.csv")
    arrow_csv.write_csv(table(6_000), folder / "parts" / "0.csv")
    return folder / "new.csv"


def full_disk(tries: Tries) -> None:
    """Write to a disk without room, or with too little."""
    source = source_of(tries.folder)
    with small_disk(tries.folder / "disk") as disk:
        if disk is None:
            tries.notes.append("by a limit on the size of files, because no disk can be mounted")
            _in_child(tries, lambda: _limited(tries, source))
            return
        _write_all(tries, source, disk, _fill)


def _fill(disk: Path, room: int) -> None:
    """Leave about this number of bytes."""
    with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    os.truncate(disk / "filler", max((disk / "filler").stat().st_size - room, 0))


def _limited(tries: Tries, source: Path) -> None:
    disk = tries.folder / "disk"
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(_: Path, room: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, most))

    _write_all(tries, source, disk, limit)


def _write_all(
    tries: Tries, source: Path, disk: Path, full: Callable[[Path, int], None] | None
) -> None:
    """Write in every way where there was nothing and where there was something."""
    for name, write in writers_to(disk, source).items():
        for room in (0, 4_096, 20_000) if full else (0,):
            for there in (False, True):
                if full:
                    for path in disk.iterdir():
                        remove(path)
                    if there:
                        _old(disk / name)
                    full(disk, room)
                before = tree(disk)
                try:
                    write()
                except OSError as error:
                    said = str(error)
                except FileError as error:
                    said = str(error)
                else:
                    tries.failed(f"{name}: written where it cannot be")
                    continue
                kept = tree(disk) == before
                if not kept:
                    tries.failed(f"{name}: the folder has changed")
                else:
                    named = "cannot write" in said and name.partition(".")[0] in said
                    tries.expect(named, "refused, all kept", f"{name}: {said}")


def _old(path: Path) -> None:
    """Make what is to be replaced."""
    if path.name == "folder":
        path.mkdir()
        (path / "0.csv").write_text("old")
    else:
        path.write_text("old")


def tree(folder: Path) -> dict[str, Any]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def read_only(tries: Tries) -> None:
    """Write to a disk that is mounted read-only; without one, to a folder of another user."""
    source = source_of(tries.folder)
    with small_disk(tries.folder / "disk") as disk:
        folder = tries.folder / "disk"
        for name in ("map.json", "out.csv", "folder"):
            _old(folder / name)
        if disk is not None:
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
            _write_all(tries, source, disk, None)
            return
        tries.notes.append("by modes, because no disk can be mounted")
        for path in (folder, folder / "folder"):
            path.chmod(0o555)
        for path in (tries.folder, *tries.folder.parents[:1]):
            path.chmod(0o755)
        _in_child(tries, lambda: _as_nobody(tries, source, folder))
        for path in (folder, folder / "folder"):
            path.chmod(0o755)


def _as_nobody(tries: Tries, source: Path, folder: Path) -> None:
    if os.geteuid() == 0:
        os.setuid(NOBODY)
    _write_all(tries, source, folder, None)


def _in_child(tries: Tries, act: Callable[[], None]) -> None:
    """Run in a forked process, whose limits and rights end with it, and count its tries."""
    report, child_reports = os.pipe()
    if os.fork() == 0:
        try:
            act()
            lines = [f"+{how}\n" * n for how, n in tries.outcomes.items()]
            lines += [f"-{why!r}\n" for why in tries.failures]
        except BaseException as error:  # noqa: BLE001  # reported to the parent
            lines = [f"-{error!r}\n"]
        resource.setrlimit(resource.RLIMIT_FSIZE, resource.getrlimit(resource.RLIMIT_FSIZE))
        os.write(child_reports, "".join(lines).encode())
        os._exit(0)
    os.close(child_reports)
    with os.fdopen(report) as file:
        for line in file:
            (tries.survived if line.startswith("+") else tries.failed)(line[1:].strip())
    os.wait()


# ---- links and modes ---------------------------------------------------------------------


def links(tries: Tries) -> None:
    """Replace files with every mode, of other owners, and through links."""
    folder = tries.folder
    for bits in range(0o1000):
        path = folder / "a.txt"
        path.write_text("old")
        path.chmod(bits)
        write_text(path, "new")
        kept = stat.S_IMODE(path.stat().st_mode) == bits
        tries.expect(kept, "mode kept", f"{bits:o} became {path.stat().st_mode:o}")
        path.unlink()
    (folder / "disk").mkdir()
    for i, target in enumerate(("disk/a", str(folder / "disk" / "b"), "chain")):
        (folder / "chain").unlink(missing_ok=True)
        (folder / "chain").symlink_to("disk/c")
        link = folder / f"link{i}"
        link.symlink_to(target)
        for force in (False, True):  # the first makes the file
            write_text(link, "text", force=force)
            kept = link.is_symlink() and (folder / "disk" / "abc"[i]).read_text() == "text"
            tries.expect(kept, "link kept", f"a link to {target} became a file")
        try:
            write_text(link, "other", force=False)
        except FileError:
            tries.survived("refused")
        else:
            tries.failed("a file behind a link was replaced without force")
    for R in (a_map(), tl.Online(window=20).fit(np.zeros(9), tl.Normal(np.zeros(9), 1.0))):
        (folder / "disk" / "state").write_text("old")
        (folder / "disk" / "state").chmod(0o600)
        link = folder / f"state-{type(R).__name__}"
        link.symlink_to("disk/state")
        R.to_json(link)
        mode = stat.S_IMODE((folder / "disk" / "state").stat().st_mode)
        kept = link.is_symlink() and mode == 0o600 and bool(tl.load(link))
        tries.expect(kept, "state on its disk", "a state left its disk")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        path = folder / "owned"
        path.write_text("old")
        os.chown(path, NOBODY, NOBODY)
        write_text(path, "new")
        tries.expect(path.stat().st_uid == NOBODY, "owner kept", "the owner changed")


# ---- terminals ---------------------------------------------------------------------------

ESCAPES = [
    *("\x1b]52;c;cHduZWQ=\x07", "\x1b]0;title\x1b\\", "\x1b]8;;http://a.b\x1b\\c", "\x1b[2J"),
    *("\x1b[31m", "\x1b[6n", "\x1bc", "\x1bP1$r\x1b\\", "\x9b2J", "\x9d52;c;YQ==\x9c", "\x84"),
    *("a\rb", "a\bb", "\x07", "\x0b", "\x0c", "\x0e", "\x7f", "\x85", "\nerror: forged"),
    *("\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"),
    *("\u2028", "\u2029", "\u200b", "\u200e", "\u200f", "\ufeff", "\U000e0041", "\x1b[1;5H[b]"),
]
PLACES = {
    "group": ("a.csv", 'y,mean,std,g\n1,2,3,"{0}"\n4,5,6,"{0}"\n', "evaluate a.csv --group g"),
    "column": ("a.csv", '"{0}",mean,std\n1,2,3\n', "evaluate a.csv"),
    "columns": ("a.csv", 'y,"{0}",std\n1,2,3\n', "evaluate a.csv --mean {0}"),
    "value": ("a.csv", 'y,mean,std\n1,2,3\n1,"q{0}",4\n', "evaluate a.csv"),
    "file": ("{0}.csv", "y,mean,std\n1,2,3\n4,5,6\n", "evaluate {0}.csv"),
    "output": ("a.csv", "y,mean,std\n1,2,3\n4,5,6\n", "fit a.csv -o {0}.json"),
    "missing": ("a.csv", "", "evaluate {0}.csv"),
    "map": ("{0}.json", '{{"format": "{0}"}}', "apply {0}.json a.csv -o b.csv"),
    "folder": ("g={0}/a.csv", "y,mean,std\n1,2,3\n4,5,6\n", "evaluate . --group g"),
    "argument": ("a.csv", "", "evaluate a.csv {0}.csv"),
}


def escapes(tries: Tries) -> None:
    """Put escapes into names and content, and look at all that is printed."""
    names = ESCAPES[:3] if tries.quick else ESCAPES
    for (place, (name, text, command)), escape in itertools.product(PLACES.items(), names):
        if "/" in escape and place in ("file", "output", "map", "folder"):
            continue
        folder = tries.folder / "here"
        folder.mkdir()
        path = folder / name.format(escape)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.format(escape), newline="")
        for more in ([], ["--json"]):
            said = printed(folder, [*(w.format(escape) for w in command.split()), *more])
            raw = {c for c in said if not (c.isprintable() or c == "\n")}
            forged = re.search(r"^error: forged", said, re.MULTILINE)
            good = not raw and not forged and "Traceback" not in said and bool(said)
            tries.expect(good, "escaped", f"{place}, {escape!r}: {said[:200]!r}")
        shutil.rmtree(folder)


def printed(folder: Path, arguments: list[str]) -> str:
    """Return all that a command prints."""
    from trueline.cli import main

    out, before, here = io.StringIO(), sys.argv, Path.cwd()
    os.chdir(folder)
    sys.argv = ["trueline", *arguments, *(["--force"] if "fit" in arguments else [])]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            main()
    except SystemExit:
        pass
    finally:
        sys.argv = before
        os.chdir(here)
    return out.getvalue()


# ---- clusters ------------------------------------------------------------------------------

BAD_VALUES = {
    "y": [np.nan, np.inf, -np.inf],
    "mean": [np.nan, np.inf, -np.inf],
    "std": [np.nan, np.inf, 0.0, -1.0],
    "g": [None],
}


def clusters(tries: Tries) -> None:
    """Put bad values into frames of Dask and Spark; the error must name the row and the column."""
    for name, cluster in {"Dask": dask_cluster, "Spark": spark_cluster}.items():
        try:
            with cluster() as (module, frame_of, partitions):
                _bad_rows(tries, name, module, frame_of, partitions)
        except ImportError:
            tries.notes.append(f"{name} is not installed here")


def _bad_rows(
    tries: Tries, name: str, module: Any, frame_of: Callable[[Any], Any], partitions: int
) -> None:
    import pandas as pd

    rng = np.random.default_rng(tries.seed)
    length = 40 // partitions
    numbers = {"y": rng.normal(size=40), "mean": np.zeros(40), "std": np.ones(40)}
    bad = [(column, value) for column, values in BAD_VALUES.items() for value in values]
    for i in range(tries.number):
        column, value = bad[i % len(bad)]
        row = int(rng.integers(40))
        rows = pd.DataFrame({**numbers, "g": ["a", "b"] * 20})
        rows.loc[row, column] = value
        do = (module.fit, module.evaluate)[i // len(bad) % 2]
        place = f"partition {row // length}, row {row % length + 1}"
        what = f"{name}: {value} as {column} in {place}"
        try:
            do(frame_of(rows), columns=tl.files.Columns(group="g"))
        except FileError as error:
            named = re.match(rf"{place}[, ].*column '{column}': ", str(error))
            good = bool(named) and "Traceback" not in str(error)
            tries.expect(good, f"named by {name}", f"{what}: {error}")
        except Exception as error:  # noqa: BLE001  # that is what is counted
            tries.failed(f"{what}: {type(error).__name__}: {str(error)[:200]}")
        else:
            tries.failed(f"{what}: no error")


@contextmanager
def dask_cluster() -> Iterator[tuple[Any, Callable[[Any], Any], int]]:
    """Yield trueline's module, a function that makes frames, and the number of partitions."""
    import dask.dataframe as dd
    import distributed

    from trueline.clusters import dask as module

    with (
        distributed.LocalCluster(n_workers=1, dashboard_address=":0", memory_limit=0) as cluster,
        distributed.Client(cluster),
    ):
        yield module, partial(dd.from_pandas, npartitions=4), 4


@contextmanager
def spark_cluster() -> Iterator[tuple[Any, Callable[[Any], Any], int]]:
    """Yield the same for Spark, which needs Java."""
    from pyspark.sql import SparkSession

    from trueline.clusters import spark as module

    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise ImportError("there is no Java")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield module, lambda rows: session.createDataFrame(rows).coalesce(1), 1
    finally:
        session.stop()


# ---- the audit -----------------------------------------------------------------------------


def audit(tries: Tries) -> None:
    """State what the audit found that is no fault at run time."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [line for extra in extras["optional-dependencies"].values() for line in extra]
    bounds = sorted({line for line in lines if re.match(r"(typer|dask)\b", line)})
    tries.notes.append(f"declared: {', '.join(bounds)}")
    page = (ROOT / "results" / "depth" / "depth.md").read_text()
    named = "Silberman" in page or not (ROOT / "results" / "depth" / "images.png").exists()
    tries.expect(named, "attributed", "results/depth/images.png has no attribution beside it")
