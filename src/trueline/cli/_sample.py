"""The command `sample`: files to try the other commands on."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from trueline._arrow import pyarrow
from trueline._files import FileError
from trueline._messages import count
from trueline.cli._standard import check_output, is_standard, named_output, standard_output
from trueline.cli._terminal import print_line
from trueline.files._sink import Sink, open_sink, open_sink_on_stream

_FIRST_DAY = np.datetime64("2023-01-01")
# Of each store: its name, its usual sales, and the deviation of its outcomes in forecast ones.
_STORES = (("north", 120.0, 1.6), ("south", 90.0, 2.0), ("harbour", 200.0, 2.4))
_SPREAD = 0.08  # the forecast standard deviation as a share of the mean
_WEEKEND = 1.3  # sales of a Saturday or a Sunday, of those of another day
_SEASON = 0.2  # how far sales rise in the summer, as a share
_DECIMALS = 2


def sample(past: Path, new: Path | None, rows: int, random_state: int, force: bool) -> None:
    """Write rows of the past, and the rows after them to another file."""
    outputs = [(past, rows)] if new is None else [(past, rows), (new, (rows + 1) // 2)]
    if new is not None and (new == past or is_standard(new)):
        raise FileError(
            f"PAST is {past} and NEW is {new}; expected two files of different names, or PAST "
            f"alone for -."
        )
    for out, _ in outputs:
        check_output(out, force=force, json=False)
    table = _sales(sum(n for _, n in outputs), random_state)
    start = 0
    with ExitStack() as stack:  # both files appear, or none
        sinks = [stack.enter_context(_opened(out, force)) for out, _ in outputs]
        for sink, (_, n) in zip(sinks, outputs, strict=True):
            sink.write(table.slice(start, n))
            start += n
    for out, n in outputs:
        what = f"{count(n, 'row')} of made-up forecasts that are too sure"
        print_line(f"{named_output(out)}: {what}", error=is_standard(out))


def _opened(out: Path, force: bool) -> AbstractContextManager[Sink]:
    if is_standard(out):
        return open_sink_on_stream(standard_output())
    return open_sink(out, force=force)


def _sales(rows: int, random_state: int) -> Any:
    """Return daily sales of stores, with forecasts whose deviations are too small."""
    rng = np.random.default_rng(random_state)
    day, store = np.divmod(np.arange(rows), len(_STORES))
    date = _FIRST_DAY + day
    names, levels, factors = (np.asarray(column)[store] for column in zip(*_STORES, strict=True))
    weekend = np.where((date.astype(int) + 3) % 7 >= 5, _WEEKEND, 1.0)
    season = 1.0 - _SEASON * np.cos(2.0 * np.pi * day / 365.25)
    mean = (levels * weekend * season).round(_DECIMALS)
    std = (_SPREAD * mean).round(_DECIMALS)
    y = (mean + factors * std * rng.normal(size=rows)).round(_DECIMALS)
    text = np.datetime_as_string(date)
    return pyarrow().table({"day": text, "store": names, "y": y, "mean": mean, "std": std})
