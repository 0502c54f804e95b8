"""Show that results stay the same, to the last bit, while the code is restructured.

    PYTHONPATH=/path/to/base/src python benchmarks/same.py record base.json
    PYTHONPATH=src python benchmarks/same.py compare base.json --tolerance 1e-12

The calls are expressions in `same_calls.py`; the text of one is its name. ``record`` evaluates them
on small simulated data and stores every result exactly. ``compare`` does so with another checkout
and counts the calls that agree to the last bit, that agree within the tolerance (relative to the
old number where that is above 1), that differ, that have changed in texts only, and that could not
be made. It exits with 1 if a number, a shape, the type of an error or the kind of a warning
differs, or if a call that had a result could not be made. Texts are messages, reprs and hashes of
whole files; the numbers in those files are recorded too.

Both runs need the environment that ``make setup`` installs, on the same machine. Names that move
are in the table `MOVED`. ``--only PATTERN`` makes only the calls whose names match.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import dataclasses
import hashlib
import io
import json
import os
import re
import runpy
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from pkgutil import resolve_name as of
from types import SimpleNamespace
from typing import Any
from unittest import mock

# Sums depend on the number of threads, so there is one. No data from outside is read.
os.environ.update(dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"], "1"))
os.environ.update(MPLBACKEND="Agg", COLUMNS="100", TRUELINE_DATA="")

import numpy as np
import pyarrow as pa
from pyarrow import csv, feather, parquet

import trueline as tl
from same_calls import (  # noqa: F401  # expressions use the data
    ARCSINH,
    AROUND,
    BOOSTED,
    GRID,
    LEARNER,
    LEVELS,
    MODULES,
    NEW,
    PAST,
    SMALL,
    TIED,
    TINY,
    calls,
    make_rows,
    sales,
    windows,
)

#: Names that move. A call has the last part of the old name, as in ``api.fit_file(...)``.
MOVED = {
    "trueline.Beta": "trueline.BetaCalibration",
    "trueline.scale.fit_file": "trueline.files.fit",
    "trueline.scale.fit_parquet": "trueline.files.fit",
    "trueline.scale.apply_file": "trueline.files.apply",
    "trueline.scale.apply_parquet": "trueline.files.apply",
    "trueline.scale.evaluate_file": "trueline.files.evaluate",
    "trueline.scale.evaluate_parquet": "trueline.files.evaluate",
    "trueline.scale.Columns": "trueline.files.Columns",
    "trueline.scale.FileError": "trueline.files.FileError",
    "trueline.scale.dask": "trueline.clusters.dask",
    "trueline.scale.Batch": "trueline.clusters.Batch",
    "trueline.scale.fit_batches": "trueline.clusters.fit_batches",
    "trueline.scale.evaluate_batches": "trueline.clusters.evaluate_batches",
    "trueline.scale.to_onnx": "trueline.export.to_onnx",
    "trueline.scale.to_sql": "trueline.export.to_sql",
    "trueline.interop.scores": "trueline.tracking.scores",
    "trueline.interop.log_mlflow": "trueline.tracking.log_mlflow",
    "trueline.estimators.register_reader": "trueline.interop.register_reader",
    "trueline.estimators.unregister_reader": "trueline.interop.unregister_reader",
}


class Api:
    """Finds what moves, at its new place or else at its old one."""

    def __getattr__(self, name: str) -> Any:
        old = next(place for place in MOVED if place.rpartition(".")[2] == name)
        for place in (MOVED[old], old):
            with contextlib.suppress(ImportError, AttributeError):
                return of(place)
        raise LookupError(f"there is neither {MOVED[old]} nor {old}")


api = Api()

# ---- names for the calls ---------------------------------------------------------------------

NORMAL, ISOTONIC = "tl.Normal(m, s)", "tl.Isotonic()"


def forecast(kind: str = NORMAL, rows: SimpleNamespace = NEW) -> Any:
    return eval(kind, globals(), {"m": rows.mean, "s": rows.std})


def beside(R: Any, rows: SimpleNamespace, part: slice = slice(None)) -> dict[str, Any]:
    """Groups or features, for the recalibrators that take them."""
    if isinstance(R, tl.Grouped):
        return {"groups": rows.groups[part]}
    return {"X": rows.X[part]} if isinstance(R, tl.Conditional) else {}


@cache
def fitted(name: str = ISOTONIC, kind: str = NORMAL, option: str = "plain") -> Any:
    with warnings.catch_warnings(action="ignore"):  # the call of `fit` has them
        return fit(name, kind, option)


def fit(name: str, kind: str, option: str) -> Any:
    rows, R = TIED if option == "ties" else PAST, eval(name)
    weight = rows.weight if option == "weights" else None
    return R.fit(rows.y, forecast(kind, rows), weight, **beside(R, rows))


@cache
def recalibrated(name: str = ISOTONIC, kind: str = NORMAL, option: str = "plain") -> Any:
    R = fitted(name, kind, option)
    return R.transform(forecast(kind), **beside(R, NEW))


def both() -> dict[str, Any]:
    F = forecast(rows=PAST)
    return {"before": F, "after": fitted().transform(F)}


def fit_part(name: str, kind: str, start: int, stop: int, how: str = "fit", R: Any = None) -> Any:
    R, part = eval(name) if R is None else R, slice(start, stop)
    F = forecast(kind, PAST)[part]
    return getattr(R, how)(PAST.y[part], F, PAST.weight[part], **beside(R, PAST, part))


def stored_and_loaded(R: Any) -> Any:
    packed = R.to_bytes("map.bin")
    R.to_json("map.json")
    return packed, Path("map.bin"), Path("map.json"), tl.load("map.json"), tl.load(packed)


def stream(name: str, kind: str) -> Any:
    """Intervals, levels and alarms along a stream, which is stored and loaded halfway."""
    R, F, found = fit_part(name, kind, 0, 30), forecast(kind, PAST), []
    for t in range(30, 80):
        R = tl.load(R.to_bytes()) if t == 50 else R
        found.append([*R.transform(F[[t]]).interval(0.8), *(R.levels_ or ()), R.drift_.p_value])
        R.update(PAST.y[t], F[[t]])
    return found, R, R.rows_seen_, R.drift_


def beyond_the_limit_of_scores() -> Any:
    y = np.random.default_rng(5).normal(size=1_100_000)
    R = tl.Isotonic().partial_fit(y, tl.Normal(np.zeros(len(y)), 1.0))
    R.partial_fit(2.0 * y[:1000], tl.Normal(np.zeros(1000), 1.0))
    return len(R.scores_.values), R.scores_.total, R.transform(tl.Normal([0.0], 1.0)).ppf(LEVELS)


def drawn(display: Any) -> Any:
    """The numbers behind a display, those of its lines, and the words on it."""
    kept = {k: v for k, v in vars(display).items() if not (k.endswith("_") or k.startswith("_"))}
    lines = [line.get_xydata() for line in display.ax_.get_lines()]
    words = [text.get_text() for text in display.figure_.findobj(lambda a: hasattr(a, "get_text"))]
    of("matplotlib.pyplot").close("all")
    return kept, lines, words


def logged(client: mock.Mock) -> Any:
    found = api.log_mlflow(PAST.y, forecast(rows=PAST), run_id="r", client=client, step=2)
    return found, [call.args[:3] for call in client.log_metric.call_args_list]


def taken_in(given: str) -> Any:
    F = tl.as_distribution(forecast(given))
    return F, F.logpdf(NEW.y), F.crps(NEW.y), F.score(NEW.y)


def calibrated() -> Any:
    options = {"cv": 3, "scale_estimator": None, "random_state": 0}
    return tl.CalibratedRegressor(of("sklearn.linear_model.BayesianRidge")(), **options)


def regress(model: Any, weight: Any = None, **options: Any) -> Any:
    """What a calibrated regressor predicts, and what it learned."""
    options = {"cv": 3, "random_state": 0} | options
    by_group = options.get("method") == "grouped"
    grouped = {"groups": NEW.groups} if by_group else {}
    groups = PAST.groups if by_group or "Group" in type(options["cv"]).__name__ else None
    model = tl.CalibratedRegressor(model, **options).fit(PAST.X, PAST.y, weight, groups)
    return {
        "predict": model.predict(NEW.X, **grouped),
        "dist": model.predict_dist(NEW.X, **grouped),
        "interval": model.predict_interval(NEW.X, [0.5, 0.8], **grouped),
        "quantiles": model.predict_quantiles(NEW.X, [0.2, 0.6], **grouped),
        "score": model.score(NEW.X, NEW.y, **grouped),
        "shrinkage": model.shrinkage_,
        "maps": getattr(model, "recalibrators_", None) or model.recalibrator_,
    }


def regress_with_a_reader() -> Any:
    reader = api.register_reader(lambda model, X: tl.Laplace(model.predict(X), 2.0))
    try:
        return regress(of("sklearn.linear_model.Ridge")(), scale_estimator=None)
    finally:
        api.unregister_reader(reader)


def table_of(kind: str, rows: SimpleNamespace) -> Any:
    """A table with forecasts of this kind."""
    F = tl.Normal(rows.mean, rows.std)
    forecasts = {
        "normal": {"mean": rows.mean, "std": rows.std},
        "point": {"mean": rows.mean},
        "quantiles": {f"q{p}": F.ppf(p) for p in GRID},
        "intervals": {f"{end}_{c}": F.interval(c)[i] for c in (0.5, 0.9) for i, end in ENDS},
        "samples": {f"sample_{i}": x for i, x in enumerate(F.sample(7, random_state=1).T)},
    }
    other = {"y": rows.y, "region": rows.groups, "weight": rows.weight, "size": rows.X[:, 1]}
    return pa.table(forecasts[kind] | other)


ENDS = ((0, "lower"), (1, "upper"))
WRITERS = {"csv": csv.write_csv, "parquet": parquet.write_table, "arrow": feather.write_feather}
READERS = {"csv": csv.read_csv, "parquet": parquet.read_table, "arrow": feather.read_table}


def write_files() -> None:
    """Write the files that calls read."""
    for kind in ("normal", "point", "quantiles", "intervals", "samples"):
        for ending, write in WRITERS.items():
            write(table_of(kind, PAST), f"{kind}.{ending}")
    parquet.write_table(
        table_of("normal", make_rows(20_000, 3)), "large.parquet", row_group_size=999
    )
    Path("folder").mkdir()
    for i in range(3):
        parquet.write_table(table_of("normal", make_rows(2000, i)), f"folder/{i}.parquet")
    Path("german.csv").write_text("y;mean;std\n1,5;1;0,5\n-2;0,25;1\n0,5;0;1\n", encoding="utf-8")


def over_files(name: str, path: str, n_jobs: int, max_knots: int = 100_000, **columns: str) -> Any:
    """Fit, evaluate before and after, apply, and the files that were written."""
    fit, apply, evaluate = (getattr(api, f"{verb}_{name}") for verb in ("fit", "apply", "evaluate"))
    named = {"columns": api.Columns(**columns), "n_jobs": n_jobs}
    R = fit(path, max_knots=max_knots, **named)
    found = [evaluate(path, map_, **named) for map_ in (None, R)]
    named["columns"] = api.Columns(group=columns.get("group"))
    asked = {"coverage": [0.5, 0.8], "quantiles": 0.3, "moments": True, "prefix": "r_"}
    out = Path(f"out-{path}")
    n = apply(R, path, out, force=True, **asked, **named)
    return R, found, n, sorted(out.iterdir()) if out.is_dir() else out


def in_batches(R: Any, mask: Any) -> Any:
    arrays = [a.reshape(5, 4, 4) for a in (PAST.y, PAST.mean, PAST.std, mask) if a is not None]
    batches = [api.Batch(*(a[i : i + 2] for a in arrays)) for i in range(0, 5, 2)]
    R = api.fit_batches(iter(batches), R)
    return R, [api.evaluate_batches(iter(batches), map_, coverage=0.8) for map_ in (None, R)]


def on_dask(kind: str, **columns: str) -> Any:
    named = {"columns": api.Columns(**columns)}
    with of("dask.config.set")(scheduler="synchronous"):
        frame = of("dask.dataframe.from_pandas")(table_of(kind, PAST).to_pandas(), npartitions=3)
        R = api.dask.fit(frame, **named)
        found = [api.dask.evaluate(frame, map_, **named) for map_ in (None, R)]
        new = api.dask.transform(R, frame, coverage=0.8, quantiles=[0.3], moments=True, **named)
        return R, found, new.compute()


def onnx_outputs(R: Any, precision: str) -> Any:
    model = api.to_onnx(R, levels=GRID, cdf=True, dtype=precision, max_knots=50)
    given = {"loc": NEW.mean, "scale": NEW.std, "y": NEW.y}
    given = {name: values.astype(precision) for name, values in given.items()}
    if isinstance(R, tl.Grouped):
        given["group"] = np.array([R.groups_.index(group) for group in NEW.groups])
    options = of("onnxruntime.SessionOptions")()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = of("onnxruntime.InferenceSession")(model.SerializeToString(), options)
    return session.run(None, {i.name: given[i.name] for i in session.get_inputs()})


def sql_results(R: Any, **given: Any) -> Any:
    """What DuckDB makes of an expression, the numbers in it, and the expression."""
    words = api.to_sql(R, **given, group="region")
    with of("duckdb.connect")(config={"threads": 1}) as connection:
        connection.register("new", table_of("normal", NEW))
        found = connection.sql(f"SELECT {words} AS found FROM new").fetchnumpy()["found"]
    return np.asarray(found), numbers(words), words


def shell(line: str) -> Any:
    """Run ``python -m trueline``: exit code, output, and the file that was written."""
    words, out, err, code = line.split(), io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["trueline", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            runpy.run_module("trueline", run_name="__main__")
        except SystemExit as stop:
            code = int(stop.code or 0)
    printed = json.loads(out.getvalue()) if "--json" in words and code == 0 else out.getvalue()
    written = Path(words[words.index("-o") + 1]) if "-o" in words and code == 0 else None
    return code, printed, err.getvalue(), written


def network(model: Any) -> Any:
    model.save("network.safetensors")
    again = tl.models.load("network.safetensors").predict_dist(NEW.X)
    found = model.predict(NEW.X), model.predict_dist(NEW.X), model.predict_interval(NEW.X, 0.8)
    return *found, model.predict_quantiles(NEW.X, GRID), again, Path("network.safetensors")


def densenet(model: Any) -> Any:
    images = np.random.default_rng(0).integers(0, 255, size=(6, 16, 16, 3)).astype(np.uint8)
    depth = 5.0 - images.mean(axis=-1) / 100.0
    model.fit(images, depth, depth > 3.5)
    return model.predict_moments(images[:2]), model.predict_parts(images[:2])


def rolled(**options: Any) -> Any:
    origins = tl.series.rolling_origins(windows(), **options)
    return tl.series.rolling_forecasts(
        of("sklearn.linear_model.BayesianRidge")(), windows(), origins
    )


def daily(R: Any, lead: int) -> Any:
    W, (rows, F) = windows(), rolled(first="2015-09-01")
    R.fit(W.y[rows][:50], F[:50])
    return tl.series.recalibrate_daily(R, W.y[rows], F, W.dates[rows], lead=lead)


def sample_paths(model: Any, **options: Any) -> Any:
    W = windows()
    return tl.series.sample_paths(
        model.fit(W.X, W.y), W.since("2015-12-10"), 5, n_paths=9, **options
    )


def environment(store: Any, demand: Any) -> Any:
    env = tl.inventory.PerishableInventoryEnv(store, demand, sales().dates, episode_days=10)
    return [env.reset(seed=3)] + [env.step(action) for action in (5, 0, 9, 0, 0, 30)]


# ---- storing results -------------------------------------------------------------------------


def text(words: str) -> str:
    """Replace addresses and folders, and the old name of a class by the new one."""
    words = re.sub(r"0x[0-9a-f]{6,}", "0x...", words.replace(str(Path.cwd()), "."))
    words = re.sub(r"\bBeta\b", "BetaCalibration", words)
    return words if len(words) < 2000 else digest(words.encode())


def digest(data: bytes) -> str:
    if data.startswith(b"TRUELINE"):  # a map: its checksum and length change with the name
        data = data[:10] + data[18:].replace(b'"Beta"', b'"BetaCalibration"')
    return f"sha256 {hashlib.sha256(data).hexdigest()}"


def numbers(words: str) -> Any:
    return np.array([float(x) for x in re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", words)])


def of_file(path: Path) -> Any:
    """The numbers in a file, and its hash."""
    data, found, ending = path.read_bytes(), None, path.suffix[1:]
    if ending == "html":
        data = re.sub(rb"<dt>(Made on|With|Python)</dt><dd>.*?</dd>", b"", data)
        shown = re.findall(r"<svg.*?</svg>|<td.*?</td>", data.decode())
        found = numbers(re.sub(r'(aria|data)-label="[^"]*"', "", " ".join(shown)))
    elif ending == "json":
        found, data = json.loads(data), text(data.decode()).encode()
    elif ending in READERS:
        found = READERS[ending](path)
    return {"numbers": found, "hash": digest(data)}


def of_map(R: Any) -> Any:
    if isinstance(R, tl.Conditional):  # it holds a learner, and is no JSON
        return of_map(R.outer_)
    words = R.to_json()
    return {"map": json.loads(words), "hash": digest(text(words).encode())}


def of_array(values: Any) -> Any:
    if values.dtype.kind in "OUT":
        return [store(x) for x in values.tolist()]
    if values.ndim == 0 and values.dtype.kind in "iub":
        return values.item()
    data = base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
    return {"array": values.dtype.str, "shape": values.shape, "data": data}


def of_sequence(values: Any) -> Any:
    if values and all(type(x) is float for x in values):
        return store(np.array(values))
    return store(values._asdict()) if hasattr(values, "_asdict") else [store(x) for x in values]


def of_other(value: Any) -> Any:
    """Dataclasses, tables, and what numpy can read."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: getattr(value, name) for name in names if not name.startswith("_")}
    names = getattr(value, "column_names", getattr(value, "columns", None))
    if names is None:
        return np.asarray(value)
    columns = {str(name): np.asarray(value[name]) for name in names}
    return columns | ({"index": np.asarray(value.index)} if hasattr(value, "iloc") else {})


# How a result becomes JSON that holds every bit of it; the first class that fits counts.
STORED: list[tuple[Any, Any]] = [
    ((int, type(None)), lambda value: value),
    (float, lambda value: {"float": float(value).hex()}),
    (str, text),
    (bytes, digest),
    (np.ndarray, of_array),
    (np.generic, lambda value: of_array(np.asarray(value))),
    ((list, tuple), of_sequence),
    (Mapping, lambda value: {"items": {text(str(k)): store(v) for k, v in value.items()}}),
    (Path, lambda path: store(of_file(path))),
    (tl.Distribution, lambda F: store([F.ppf(GRID), F.cdf(0.25), F.mean(), len(F), F.score_kind])),
    (tl.Recalibrator, lambda R: store(of_map(R))),
    (object, lambda value: store(of_other(value))),
]


def store(value: Any) -> Any:
    return next(convert for kind, convert in STORED if isinstance(value, kind))(value)


# ---- running and comparing -------------------------------------------------------------------


def run(only: str) -> dict[str, Any]:
    """Make the calls, in a folder of their own."""
    for name, module in MODULES.items():
        with contextlib.suppress(ImportError):
            globals()[name] = import_module(module)
    of("torch").set_num_threads(1)
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            write_files()
            return {call: outcome(call) for call in calls() if re.search(only, call)}
        finally:
            os.chdir(here)


def outcome(call: str) -> dict[str, Any]:
    """The value or the error of a call, and its warnings but for those of deprecation."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found: dict[str, Any] = {"value": store(eval(call, globals(), {}))}
        except Exception as error:  # noqa: BLE001  # any error is a result
            found = {"error": {"name": type(error).__name__}, "message": text(str(error))}
    shown = [w for w in caught if issubclass(w.category, UserWarning | RuntimeWarning)]
    shown = sorted({(w.category.__name__, text(str(w.message))) for w in shown})
    return found | {"warnings": [[{"name": category}, words] for category, words in shown]}


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the numbers, arrays and texts in a stored result, with their places."""
    if isinstance(value, list):
        value = {"items": dict(enumerate(value))}
    if isinstance(value, dict) and not {"float", "array", "name"} & set(value):
        for key, item in value.get("items", value).items():
            yield from leaves(item, f"{path}.{key}")
    else:
        yield path, value


def array(leaf: Any) -> Any:
    """The number or the numbers in a leaf; None for names, texts and None."""
    if isinstance(leaf, dict) and "array" in leaf:
        flat = np.frombuffer(base64.b64decode(leaf["data"]), dtype=leaf["array"])
        return flat.reshape(leaf["shape"])
    if isinstance(leaf, dict) and "float" in leaf:
        return np.array(float.fromhex(leaf["float"]))
    return np.array(leaf) if isinstance(leaf, int) else None


def difference(old: Any, new: Any, tolerance: float) -> tuple[str, float]:
    """How two leaves compare, and their largest difference."""
    if old == new:
        return "same", 0.0
    if isinstance(old, str) and isinstance(new, str):
        return "text", 0.0
    a, b = array(old), array(new)
    if a is None or b is None or a.shape != b.shape or a.dtype != b.dtype:
        return "differ", np.inf
    if a.dtype.kind not in "fiu":
        return "differ", float((a != b).sum())
    with np.errstate(all="ignore"):
        apart = np.abs(a.astype(float) - b.astype(float))
        equal = (a == b) | (np.isnan(a) & np.isnan(b))
        apart = np.where(equal, 0.0, np.nan_to_num(apart, nan=np.inf))
        near = (apart <= tolerance * np.maximum(1.0, np.abs(a))).all()
    return "close" if near else "differ", float(apart.max())


def compare_call(old: dict[str, Any], new: dict[str, Any], tolerance: float) -> tuple[str, str]:
    """What became of a call, and the lines that show it."""
    if "value" in old and "error" in new:
        return "missing", f"    {new['error']['name']}: {new['message']}\n"
    before, after = dict(leaves(old)), dict(leaves(new))
    found: dict[str, list[str]] = {"differ": [], "close": [], "text": [], "same": []}
    for path in before | after:
        verdict, size = "differ", np.inf
        if path in before and path in after:
            verdict, size = difference(before[path], after[path], tolerance)
        if verdict != "same":
            a, b = before.get(path, "nothing"), after.get(path, "nothing")
            shown = f"{show(a, b)} -> {show(b, a)}, largest difference {size:.3g}"
            found[verdict].append(f"    {path[1:]}: {shown}\n")
    worst = next((verdict for verdict, lines in found.items() if lines), "same")
    return worst, "".join(found[worst][:5])


def show(leaf: Any, other: Any) -> str:
    """The parts of a leaf that are not those of another."""
    a, b = array(leaf), array(other)
    if a is None:
        return str(leaf)
    a = a[a != b] if b is not None and a.shape == b.shape else a.ravel()
    return np.array2string(a, floatmode="unique", threshold=4, edgeitems=1, max_line_width=1000)


def compare(old: dict[str, Any], new: dict[str, Any], tolerance: float) -> int:
    """Print what changed; return the exit code."""
    found = {call: compare_call(old[call], new[call], tolerance) for call in old if call in new}
    found |= dict.fromkeys(old.keys() - new, ("missing", "    the call is not in the table\n"))
    found |= dict.fromkeys(new.keys() - old, ("new", ""))
    titles = {
        "same": "agree to the last bit",
        "close": f"agree within {tolerance:g}",
        "text": "have changed in texts only",
        "new": "were not recorded",
        "missing": "could not be made",
        "differ": "differ",
    }
    for verdict, title in list(titles.items())[1:]:
        for call, (its, lines) in found.items():
            if its == verdict:
                print(f"{title}: {call}\n{lines}", end="")
    for verdict, title in titles.items():
        print(f"{sum(its == verdict for its, _ in found.values()):6} {title}")
    return int(any(its in ("differ", "missing") for its, _ in found.values()))


def main() -> int:
    """Read the options, run, store or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--tolerance", type=float, default=1e-12)
    parser.add_argument("--only", default="", help="pattern of the names of calls")
    given = parser.parse_args()
    results = run(given.only)
    print(f"{len(results)} calls of {tl.__file__}, {time.process_time():.0f} s of the processor")
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "torch")}
    document = {"packages": packages, "results": results}
    if given.action == "record":
        given.file.write_text(json.dumps(document), encoding="utf-8")
        return 0
    recorded = json.loads(given.file.read_text(encoding="utf-8"))
    if recorded["packages"] != packages:
        print(f"recorded with {recorded['packages']}, compared with {packages}")
    old = {call: kept for call, kept in recorded["results"].items() if re.search(given.only, call)}
    return compare(old, json.loads(json.dumps(results)), given.tolerance)


if __name__ == "__main__":
    sys.exit(main())
