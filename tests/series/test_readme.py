"""The lines of Python in the README on time series and orders run."""

import re
from pathlib import Path

import numpy as np

import trueline as tl

README = Path(__file__).parents[2] / "README.md"


def test_time_series_and_orders():
    _, _, section = README.read_text("utf-8").partition("## Time series and orders\n")
    section = section.partition("\n## ")[0]
    series, orders = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    rng = np.random.default_rng(0)
    days = np.arange("2015-01-01", "2016-07-01", dtype="datetime64[D]")
    level = 30.0 + 10.0 * np.sin(2.0 * np.pi * np.arange(days.size) / 7.0)
    names: dict[str, object] = {
        "frame": {
            "date": np.tile(days, 2),
            "store": np.repeat(["north", "south"], days.size),
            "sales": rng.poisson(np.tile(level, 2)).astype(float),
        }
    }
    exec(compile(series, "README.md", "exec"), names)
    # Of 60 days 90% are held; 43 or fewer have a probability below 1e-3 even so.
    y = names["new"].y
    for dist in (names["F"], names["G"]):
        assert tl.coverage(y, dist, 0.9) > 43 / 60
    exec(compile(orders, "README.md", "exec"), names)
