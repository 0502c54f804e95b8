"""Figures 3 and 6 of the paper: sales of a day, forecast by a recurrent network."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from reproduce.forecast_page import csv_of, page, table
from reproduce.forecast_plots import draw_calibration, draw_forecast
from reproduce.measured import judge
from reproduce.sales import MODELS, Networks, Series, make, one_day, one_thread
from reproduce.sales_run import Task, run_stores
from trueline._files import write_text
from trueline._validation import FloatArray
from trueline.distributions import Distribution

#: Interval that is drawn.
COVERAGE = 0.9


def run(**options: Any) -> str:
    """Run what is not there yet, write the results, return the table."""
    results = run_stores("forecast", measure, **options)
    # Whose terms do not let us pass them on: they are read again, and not written down.
    sales = {store: Series.of(store) for store in {r["store"] for r in results.records}}
    records = [
        record | {"sales": sales[record["store"]].test.y.tolist()} for record in results.records
    ]
    target = results.target
    write_text(target / "forecast.csv", csv_of(records))
    draw_calibration(target / "calibration.png", records)
    for store in dict.fromkeys(record["store"] for record in records):
        draw_forecast(target / f"store{store}.png", records, store)
    write_text(target / "forecast.md", page(records, results.made))
    return f"{table(records)}\n{results.kept}The page, every day and the pictures are in {target}."


def measure(task: Task) -> dict[str, Any]:
    """Train the networks of a store, forecast its test days, and judge all forecasts."""
    store, seed, size = task
    one_thread()
    started = time.perf_counter()
    series = Series.of(store)
    forecasts, n_fit, half_life = one_day(series, Networks.fit(series, seed, size))
    for name in MODELS[1:]:
        model = make(name, seed, size).fit(series.train.X, series.train.y)
        forecasts[name] = model.predict_dist(series.test.X)
    y = series.test.y
    return {
        "store": store,
        "seed": seed,
        "n_train": len(series.train),
        "half_life": half_life,
        "n_test": len(y),
        "dates": series.test.dates.astype(str).tolist(),
        "variants": {
            name: judge(y, dist, n_fit.get(name)) | _more(y, dist)
            for name, dist in forecasts.items()
        },
        "seconds": round(time.perf_counter() - started, 1),
    }


def _more(y: FloatArray, dist: Distribution) -> dict[str, Any]:
    """The median percentage error, which hardly minds days of next to no sales; the interval."""
    some = y != 0
    lower, upper = dist.interval(COVERAGE)
    return {
        "mdape": float(np.median(np.abs((y - dist.mean())[some] / y[some])).round(6)),
        "mean": dist.mean().round(1).tolist(),
        "lower": lower.round(1).tolist(),
        "upper": upper.round(1).tolist(),
    }
