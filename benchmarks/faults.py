"""Faults that were tried, and what became of them: nothing is lost, nothing is wrong in silence.

    python benchmarks/faults.py            # everything: more than 40,000 tries
    python benchmarks/faults.py --quick    # a few of each kind, in 20 seconds
    python benchmarks/faults.py --only signals --only races

A try survives if the result is right, or an error says what is wrong and everything that was there
before is still there. It fails if something is lost, a result is wrong without an error, partial
output is left behind, or the error is a traceback. The exit code is 1 if one fails.

Files are damaged in `faults_content`; disks, signals, races, links and terminals are in
`faults_system`. Faults that need other packages are tried where these are installed, and named
where they are not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Tries:
    """The tries of one kind of fault, in a folder of their own.

    Attributes
    ----------
    number : int
        Wanted number of tries; a kind with a fixed list of faults tries all of them.
    seed : int
    folder : Path
        An empty folder.
    quick : bool
    """

    number: int
    seed: int
    folder: Path
    quick: bool
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def survived(self, how: str) -> None:
        """Count a try that ended well."""
        self.outcomes[how] += 1

    def failed(self, why: str) -> None:
        """Count a try that did not."""
        self.failures.append(why)

    def expect(self, holds: bool, how: str, otherwise: str) -> None:
        """Count a try by its outcome."""
        if holds:
            self.survived(how)
        else:
            self.failed(otherwise)

    @property
    def tried(self) -> int:
        return sum(self.outcomes.values()) + len(self.failures)


Try = Callable[[Tries], None]


@dataclass(frozen=True)
class Kind:
    """A kind of fault: its name, what is tried, and the number of tries, all and quick."""

    name: str
    title: str
    attempt: Try
    full: int
    quick: int


def kinds() -> list[Kind]:
    """Return all kinds of faults; every row of the audit's table is among them."""
    import faults_content as content
    import faults_system as system

    return [
        Kind("json-maps", "JSON maps, flipped and cut", content.json_maps, 11_000, 300),
        Kind("byte-maps", "maps as bytes, flipped and cut", content.byte_maps, 11_000, 300),
        Kind("networks", "saved networks, flipped and cut", content.networks, 11_000, 60),
        Kind("text", "CSV, flipped and cut", content.text, 1_000, 20),
        Kind("packed", "CSV in gzip, bzip2 and zstd, flipped and cut", content.packed, 900, 21),
        Kind("parquet", "Parquet, flipped and cut", content.parquet, 1_000, 20),
        Kind("arrow", "Arrow files and streams, flipped and cut", content.arrow, 2_000, 40),
        Kind("limits", "files of up to 100 MB, refused within 500 MB", content.limits, 0, 0),
        Kind("wide", "wide rows and long cells", content.wide, 0, 0),
        Kind("numbers", "scales and scores beyond float64", content.numbers, 0, 0),
        Kind("indexes", "pandas indexes that differ", content.indexes, 0, 0),
        Kind("signals", "commands stopped: INT, TERM, HUP, KILL", system.signals, 80, 4),
        Kind("kills", "writers killed at any moment", system.kills, 1_000, 40),
        Kind("races", "files and folders that appear meanwhile", system.races, 1_500, 60),
        Kind("threads", "threads that write and read the same file", system.threads, 2_000, 100),
        Kind("disk", "full disk", system.full_disk, 0, 0),
        Kind("read-only", "folders that may not be written to", system.read_only, 0, 0),
        Kind("links", "modes, owners and links of replaced files", system.links, 0, 0),
        Kind("escapes", "escapes for terminals in names", system.escapes, 0, 0),
        Kind("clusters", "bad rows on a cluster", system.clusters, 44, 11),
        Kind("audit", "rows of the audit that are no faults", system.audit, 0, 0),
    ]


def run(kind: Kind, quick: bool, seed: int) -> tuple[Tries, float]:
    """Try one kind of fault; return its tries and the seconds of the processor."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        number = kind.quick if quick else kind.full
        tries = Tries(number, seed, Path(folder).resolve(), quick)
        began = time.process_time()
        kind.attempt(tries)
        return tries, time.process_time() - began


def main() -> None:
    """Read the options, try, print; exit with 1 if a try fails."""
    known = kinds()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few of each kind")
    parser.add_argument("--only", action="append", choices=[k.name for k in known], metavar="KIND")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"{'fault':50}{'tried':>8}{'survived':>10}{'CPU s':>8}  outcomes")
    tried = failed = 0
    for kind in known:
        if options.only and kind.name not in options.only:
            continue
        tries, seconds = run(kind, options.quick, options.seed)
        tried, failed = tried + tries.tried, failed + len(tries.failures)
        survived = tries.tried - len(tries.failures)
        said = [f"{n:,} {how}" for how, n in tries.outcomes.most_common()] + tries.notes
        print(f"{kind.title:50}{tries.tried:>8,}{survived:>10,}{seconds:>8.1f}  {'; '.join(said)}")
        for why, n in Counter(tries.failures).most_common(5):
            print(f"    FAILED {n:,} times: {why}")
        sys.stdout.flush()
    print(f"{'in all':50}{tried:>8,}{tried - failed:>10,}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
