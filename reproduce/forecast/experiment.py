"""Forecast daily sales, recalibrate the forecasts, and write the results."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduce.cells import judge, percentage_errors
from reproduce.forecast.page import csv_of, page_of, table
from reproduce.forecast.pictures import draw_calibration, draw_weeks
from reproduce.pages import made_by
from reproduce.sales.networks import (
    FIRST,
    MODELS,
    Networks,
    Series,
    one_day,
    one_thread,
)
from reproduce.sales.stores import Results, Task, run_stores
from reproduce.sales.weeks import Weeks
from reproduce.tasks import DECISIVE
from trueline._files import write_text
from trueline.distributions import Distribution

#: Coverage of the interval in the pictures.
COVERAGE = 0.9


def run(**options: Any) -> str:
    """Run the missing fits, write the results, return the table."""
    results = run_stores("forecast", measure, **options)
    write(results)
    where = f"The page and the pictures are in {results.target}."
    return f"{table(results.records)}\n{results.kept}{where}"


def write(results: Results) -> None:
    """Write the page, the numbers and the pictures."""
    target, records, command, _ = results
    write_text(target / "forecast.csv", csv_of(records))
    draw_calibration(target / "calibration.png", records)
    for store in dict.fromkeys(record["store"] for record in records):
        draw_weeks(target / f"store{store}.png", records, store)
    made = made_by(command, [*DECISIVE, "matplotlib"])
    write_text(target / "forecast.md", page_of(records, command, made))


def measure(task: Task) -> dict[str, Any]:
    """Train the networks of a store, forecast its test days, and judge all forecasts."""
    store, seed, size = task
    one_thread()
    started = time.perf_counter()
    series = Series.of(store)
    forecasts, n_fit, half_life = one_day(series, Networks.fit(series, seed, size))
    for name in MODELS[1:]:
        model = size.network(name, seed).fit(series.train.X, series.train.y)
        forecasts[name] = model.predict_dist(series.test.X)
    y = series.test.y
    weeks = Weeks.of(series.test.dates, FIRST)
    return {
        "store": store,
        "seed": seed,
        "n_train": len(series.train),
        "half_life": half_life,
        "n_test": len(y),
        "weeks": weeks.starts.astype(str).tolist(),
        "days": weeks.days.tolist(),
        "sales": weeks.means(y, 1),
        "variants": {
            name: judge(y, dist, n_fit.get(name))
            | {"mdape": float(np.median(percentage_errors(y, dist)).round(6))}
            | _weekly(weeks, y, dist)
            for name, dist in forecasts.items()
        },
        "seconds": round(time.perf_counter() - started, 1),
    }


def _weekly(weeks: Weeks, y: NDArray[np.float64], dist: Distribution) -> dict[str, Any]:
    """Return weekly means only: daily forecasts would give the sales away."""
    lower, upper = dist.interval(COVERAGE)
    return {
        "mean": weeks.means(dist.mean(), 1),
        "lower": weeks.means(lower, 1),
        "upper": weeks.means(upper, 1),
        "held": weeks.means((lower <= y) & (y <= upper), 4),
    }
