"""Files of forecasts of every kind, and the same forecasts in Python."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, feather, parquet

import trueline as tl

KINDS = ("normal", "point", "quantiles", "intervals", "samples")
ENDINGS = (".csv", ".tsv", ".parquet", ".arrow", ".feather")


@dataclass
class Case:
    """A table, and what its columns mean."""

    table: pa.Table
    y: np.ndarray
    dist: tl.Distribution
    weight: np.ndarray
    groups: np.ndarray

    def write(self, path: Path) -> Path:
        """Write it in the format of the ending."""
        if path.suffix in (".csv", ".tsv"):
            options = csv.WriteOptions(delimiter="," if path.suffix == ".csv" else "\t")
            csv.write_csv(self.table, path, options)
        elif path.suffix == ".parquet":
            parquet.write_table(self.table, path, row_group_size=700)
        elif path.suffix == ".arrow":
            with pa.ipc.new_file(path, self.table.schema) as writer:
                writer.write_table(self.table, max_chunksize=300)
        else:
            feather.write_feather(self.table, path, chunksize=900)
        return path


def make_case(kind: str, n: int = 5000, seed: int = 0) -> Case:
    """Forecasts that are too sure, with groups, weights and columns of no concern."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(["north", "south", "a,b"], size=n)
    mean = rng.normal(size=n)
    std = rng.uniform(0.2, 0.5, size=n)
    y = mean + 3.0 * std * rng.normal(size=n) * np.where(groups == "south", 2.0, 1.0)
    weight = rng.integers(0, 4, size=n).astype(float)
    columns: dict[str, object] = {"id": [f"{i:05d}" for i in range(n)], "y": y}
    dist: tl.Distribution
    if kind in ("normal", "point"):
        columns["mean"] = mean
        dist = tl.Point(mean)
    if kind == "normal":
        columns["std"] = std
        dist = tl.Normal(mean, std)
    if kind in ("quantiles", "intervals"):
        levels = [0.05, 0.25, 0.5, 0.75, 0.95] if kind == "quantiles" else [0.05, 0.25, 0.75, 0.95]
        names = [f"q{p}" for p in levels]
        if kind == "intervals":
            names = ["lower_0.9", "lower_0.5", "upper_0.5", "upper_0.9"]
            # as they come out of the coverages
            levels = [0.5 * (1 - 0.9), 0.5 * (1 - 0.5), 1 - 0.5 * (1 - 0.5), 1 - 0.5 * (1 - 0.9)]
        dist = tl.Quantiles(levels, tl.Normal(mean, std).ppf(levels))
        columns |= dict(zip(names, dist.values.T, strict=True))
    if kind == "samples":
        draws = tl.Normal(mean, std).sample(12, random_state=1)
        dist = tl.Samples(draws)
        columns |= {f"sample_{i}": draws[:, i] for i in range(12)}
    columns |= {"region": groups, "weight": weight}
    return Case(pa.table(columns), y, dist, weight, groups)


def make_counts(kind: str, n: int = 1500, seed: int = 0) -> Case:
    """Forecasts of counts that are biased, so that outcomes have atoms; groups and weights."""
    rng = np.random.default_rng(seed)
    groups, weight = rng.choice(["north", "south"], size=n), rng.integers(0, 4, size=n) + 0.0
    mean = rng.gamma(2.0, 0.5, size=n)
    y = rng.poisson(1.2 * mean).astype(float)
    columns: dict[str, object] = {"y": y}
    dist: tl.Distribution
    if kind == "normal":
        columns |= {"mean": mean, "std": np.sqrt(mean)}
        dist = tl.Normal(mean, np.sqrt(mean))
    elif kind == "quantiles":
        levels = [0.05, 0.25, 0.5, 0.75, 0.95]
        values = np.sort(np.quantile(rng.poisson(mean, size=(200, n)), levels, axis=0).T).round()
        columns |= {f"q{p}": values[:, i] for i, p in enumerate(levels)}
        dist = tl.Quantiles(levels, values)
    else:
        draws = rng.poisson(mean, size=(15, n)).T.astype(float)
        columns |= {f"sample_{i}": draws[:, i] for i in range(15)}
        dist = tl.Samples(draws)
    columns |= {"region": groups, "weight": weight}
    return Case(pa.table(columns), y, dist, weight, groups)
