"""The lines of Python in the README that work on files, and data for them to run on."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

README = Path(__file__).parents[2] / "README.md"


def block(word):
    """The one block of Python that holds a word; those with prompts are doctests."""
    blocks = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    (found,) = [text for text in blocks if word in text and not text.startswith(">>>")]
    return found


def run(word, folder, **names):
    # Where a JVM was started before, it looks for files there.
    text = re.sub(r'"([\w-]+/)"', lambda path: repr(f"{folder}/{path[1]}"), block(word))
    exec(compile(text, f"README.md ({word})", "exec"), names)
    return names


def forecasts(seed, n=3000):
    """Forecasts whose standard deviation should be four times as large."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=n)
    columns = {"y": rng.normal(mean, 2.0), "mean": mean, "std": np.full(n, 0.5)}
    return pa.table(columns | {"region": rng.choice(["north", "south"], n), "n": np.ones(n)})


def write_folders(parent):
    """Write the folders past and new, of two files each."""
    for seed, name in enumerate(["past", "new"]):
        (parent / name).mkdir()
        for i in range(2):
            parquet.write_table(forecasts(2 * seed + i), parent / name / f"{i}.parquet")


def covered(path, lower="lower_0.9", upper="upper_0.9"):
    table = parquet.read_table(path, partitioning=None)
    y, low, high = (table[name].to_numpy() for name in ("y", lower, upper))
    assert y.size == 6000
    return ((low <= y) & (y <= high)).mean()
