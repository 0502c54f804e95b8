"""Some rows of a file, drawn at random in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueline._arrow import pyarrow
from trueline._validation import FloatArray, generator
from trueline._warnings import each_warning_once
from trueline.distributions import Distribution
from trueline.files._chunks import Progress
from trueline.files._columns import Columns
from trueline.files._folder import Paths
from trueline.files._forecasts import Forecasts, open_forecasts
from trueline.files._groups import Codes
from trueline.files._transform import Transformer
from trueline.files._types import as_typed
from trueline.recalibration import Recalibrator

# The most rows, and values, that a report is made from.
MOST_ROWS = 1_000_000
_MOST_VALUES = 20_000_000


@dataclass(frozen=True)
class Sample:
    """Rows of a file, in their order; see `sample_rows`.

    Attributes
    ----------
    forecasts : Forecasts
        The file.
    n : int
        Number of rows of the file.
    y : (k,) array
    dist : Distribution
    weight : (k,) array or None
    groups : (k,) array or None
    features : dict of (k,) arrays
    """

    forecasts: Forecasts
    n: int
    y: FloatArray
    dist: Distribution
    weight: FloatArray | None
    groups: Any
    features: dict[str, Any]
    _codes: Codes | None

    def transform(self, recalibrator: Recalibrator) -> Distribution:
        """Return the forecasts of these rows, recalibrated by a fitted map."""
        transformer = Transformer(recalibrator, self.forecasts)
        with each_warning_once():
            recalibrated = transformer(self.dist, self._codes, self.forecasts.groups)
        transformer.finish()
        return recalibrated


def sample_rows(
    path: Paths | Forecasts,
    columns: Columns | None = None,
    *,
    most: int = MOST_ROWS,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Sample:
    r"""Draw rows of a file without replacement, each with the same chance, in one pass.

    Parameters
    ----------
    path : path or sequence of paths
        See `trueline.files.fit`.
    columns : Columns, optional
        Names of columns that do not follow the conventions; ``x`` are the features to draw.
    most : int, default 1,000,000
        Number of rows to draw; fewer if they have many columns. A smaller file gives all rows.
    random_state : int, default 0
    progress : callable, optional
        Called with the number of rows done and their share of the total.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trueline.files import sample_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "forecasts.csv"
    ...     _ = file.write_text("y,mean,std\n1.5,1,0.1\n3,2,0.5\n2,3,1\n")
    ...     sample = sample_rows(file, most=2)
    >>> sample.n, len(sample.y)
    (3, 2)
    """
    forecasts = open_forecasts(path, columns)
    layout = forecasts.layout
    most = max(min(most, _MOST_VALUES // len(layout.used)), 1)
    rng = generator(random_state)
    kept: list[list[Any]] = []
    tables: list[Any] = []
    keys: list[FloatArray] = []
    bound = np.inf
    n = held = 0
    with each_warning_once():
        for chunk in forecasts.chunks(progress=progress):
            # Each row gets a random number; the rows with the smallest numbers stay.
            key = rng.random(len(chunk))
            take = np.flatnonzero(key < bound)
            columns_of_rows = [chunk.y, *chunk.forecast, chunk.weight, chunk.groups]
            kept.append([None if c is None else c[take] for c in columns_of_rows])
            keys.append(key[take])
            if layout.features:
                tables.append(chunk.table.select(layout.features).take(take))
            n += len(chunk)
            held += take.size
            if held > 2 * most:
                bound = _thin(keys, kept, tables, most)
                held = most
        forecasts.conclude()
        if held > most:
            _thin(keys, kept, tables, most)
    joined: list[Any] = [
        None if parts[0] is None else np.concatenate(parts) for parts in zip(*kept, strict=True)
    ]
    y, *forecast, weight, codes = joined
    names = None if forecasts.groups is None else np.asarray(forecasts.groups.names)[codes]
    # The files of a folder may hold the same numbers in several types.
    table = pyarrow().concat_tables(tables, promote_options="permissive") if tables else {}
    features = {name: as_typed(table[name]).to_numpy() for name in layout.features}
    dist = layout.distribution(forecast)
    return Sample(forecasts, n, y, dist, weight, names, features, codes)


def _thin(keys: list[FloatArray], kept: list[list[Any]], tables: list[Any], most: int) -> float:
    """Keep the rows with the smallest numbers, in place; return the bound for later rows."""
    bound = float(np.partition(np.concatenate(keys), most - 1)[most - 1])
    for i, key in enumerate(keys):
        stay = key <= bound
        keys[i] = key[stay]
        kept[i] = [None if c is None else c[stay] for c in kept[i]]
        if tables:
            tables[i] = tables[i].filter(stay)
    return bound
