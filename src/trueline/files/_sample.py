"""Some rows of a file, drawn at random in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueline._arrow import pyarrow
from trueline._validation import FloatArray, generator
from trueline._warnings import each_warning_once
from trueline.distributions import Distribution
from trueline.files._chunks import Progress, conclude, read_chunks
from trueline.files._columns import Layout
from trueline.files._groups import Codes, GroupCodes
from trueline.files._source import Source
from trueline.files._types import as_typed

# Rows, and values, that a page is made of.
MOST_ROWS = 1_000_000
_MOST_VALUES = 20_000_000


@dataclass(frozen=True)
class Sample:
    """Rows of a file, in their order.

    Attributes
    ----------
    n : int
        Rows of the file.
    y : (k,) array
    dist : Distribution
    weight : (k,) array or None
    groups : (k,) array or None
    features : dict of (k,) arrays
    """

    n: int
    y: FloatArray
    dist: Distribution
    weight: FloatArray | None
    groups: Any
    features: dict[str, Any]


def sample_source(
    source: Source,
    layout: Layout,
    *,
    most: int = MOST_ROWS,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Sample:
    """Draw rows without replacement, each with the same chance; all if there are few enough."""
    most = max(min(most, _MOST_VALUES // len(layout.used)), 1)
    rng = generator(random_state)
    groups = GroupCodes()
    kept: list[list[Any]] = []
    tables: list[Any] = []
    keys: list[FloatArray] = []
    bound = np.inf
    n = held = 0
    with each_warning_once():
        for chunk in read_chunks(source, layout, progress=progress):
            # Each row gets a number at random; those with the smallest stay.
            key = rng.random(len(chunk))
            take = np.flatnonzero(key < bound)
            codes: Codes | None = None
            if chunk.groups is not None:
                codes = groups.encode(chunk.groups, f"{source.path}, column {layout.group!r}")
            columns = [chunk.y, *chunk.forecast, chunk.weight, codes]
            kept.append([None if c is None else c[take] for c in columns])
            keys.append(key[take])
            if layout.features:
                tables.append(chunk.table.select(layout.features).take(take))
            n += len(chunk)
            held += take.size
            if held > 2 * most:
                bound = _thin(keys, kept, tables, most)
                held = most
        conclude(source, layout)
        if held > most:
            _thin(keys, kept, tables, most)
    joined: list[Any] = [
        None if parts[0] is None else np.concatenate(parts) for parts in zip(*kept, strict=True)
    ]
    y, *forecast, weight, codes = joined
    names = None if codes is None else np.asarray(groups.names)[codes]
    # Files of a folder may hold the same numbers in several types.
    features = pyarrow().concat_tables(tables, promote_options="permissive") if tables else {}
    return Sample(
        n,
        y,
        layout.distribution(forecast),
        weight,
        names,
        {name: as_typed(features[name]).to_numpy() for name in layout.features},
    )


def _thin(keys: list[FloatArray], kept: list[list[Any]], tables: list[Any], most: int) -> float:
    """Keep the rows with the smallest numbers, in place; return the bound on those to come."""
    bound = float(np.partition(np.concatenate(keys), most - 1)[most - 1])
    for i, key in enumerate(keys):
        stay = key <= bound
        keys[i] = key[stay]
        kept[i] = [None if c is None else c[stay] for c in kept[i]]
        if tables:
            tables[i] = tables[i].filter(stay)
    return bound
