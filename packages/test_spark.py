"""Maps, columns and evaluations of Spark are those of Python."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import trueline as tl
from tests.clusters.clusters import (
    OPTIONS,
    absent,
    check_evaluation,
    local_fit,
    recalibrated,
)
from tests.files.cases import make_case, make_counts
from trueline.clusters import _cluster, spark as tls
from trueline.files import Columns, FileError

# Python's own: sockets that the JVM's bridge leaves to the collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def session():
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        absent('pyspark is not installed: pip install "pyspark[sql]"')
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        absent("there is no Java on the path; Spark needs 17 or newer")
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Two threads, and three attempts at each task.
    session = (
        SparkSession.builder.master("local[2,3]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    if before is None:
        del os.environ["PYSPARK_PYTHON"]
    else:
        os.environ["PYSPARK_PYTHON"] = before


@pytest.fixture
def frame_of(session, tmp_path):
    """Frames with partitions of any length, the second of them empty."""

    def make(table, cuts=(0, 700, 700, 2500, 2501)):
        table = getattr(table, "table", table)
        stops = [*cuts[1:], table.num_rows]
        parts = [table.slice(a, b - a) for a, b in zip(cuts, stops, strict=True)]
        frame = session.createDataFrame(table)
        plain = [f"c{i}" for i in range(table.num_columns)]
        numbers = session.range(0, len(parts), 1, len(parts))
        sent = [part.rename_columns(plain) for part in parts]

        def rows(batches):
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from sent[number].to_batches()

        return numbers.mapInArrow(rows, frame.toDF(*plain).schema).toDF(*table.column_names)

    return make


def message_of(frame, *, do=tls.fit, **options):
    with pytest.raises(FileError) as caught:
        do(frame, **options)
    return str(caught.value)


# ---- the same as in Python -----------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, options",
    [("normal", "plain"), ("normal", "both"), ("quantiles", "groups"), ("samples", "weights")],
)
def test_fit_transform_and_evaluate_are_those_of_python(frame_of, kind, options):
    case = make_case(kind)
    frame, columns = frame_of(case), Columns(**OPTIONS[options])
    R = tls.fit(frame, columns=columns)
    expected = local_fit(case, OPTIONS[options])
    # The weights are whole numbers, whose sums are exact.
    assert R.to_bytes() == expected.to_bytes()

    new = tls.transform(
        R, frame, columns=columns, coverage=[0.8], quantiles=[0.1], moments=True, prefix="new_"
    )
    names = ["lower_0.8", "upper_0.8", "q0.1", "recalibrated_mean", "recalibrated_std"]
    names = [f"new_{name}" for name in names]
    assert new.columns == [*frame.columns, *names]
    made = pa.table(new.toArrow()).sort_by("id")
    assert made.select(frame.columns).equals(case.table.cast(made.select(frame.columns).schema))
    G = recalibrated(expected, case)
    values = [*G.interval(0.8), G.ppf(0.1), G.mean(), G.std()]
    for name, value in zip(names, values, strict=True):
        # Means of draws are products of matrices, which round as their shapes have it.
        rtol = 1e-12 if "recalibrated" in name and kind == "samples" else 0.0
        np.testing.assert_allclose(made[name].to_numpy(), value, rtol=rtol, err_msg=name)

    check_evaluation(tls.evaluate(frame, R, columns=columns), case, R, columns)


def test_more_scores_than_a_state_keeps(session):
    def rows(batches):
        for batch in batches:
            for seed in batch.column(0).to_pylist():
                yield pa.record_batch(make(seed))

    def make(seed):
        rng = np.random.default_rng(seed)
        mean, std = rng.normal(size=300_000), rng.uniform(0.5, 2.0, size=300_000)
        y = mean + 3.0 * std * rng.standard_cauchy(size=300_000)
        return {"y": y, "mean": mean, "std": std}

    frame = session.range(0, 4, 1, 4).mapInArrow(rows, "y double, mean double, std double")
    R = tls.fit(frame)
    whole = tl.Isotonic()
    for seed in (3, 1, 0, 2):
        part = make(seed)
        whole.partial_fit(part["y"], tl.Normal(part["mean"], part["std"]))
    assert R.scores_.rounded
    assert R.to_bytes() == whole.to_bytes()


def test_many_partitions_are_merged_as_a_tree(frame_of):
    case = make_case("normal", n=68)
    R = tls.fit(frame_of(case, cuts=range(0, 68, 2)))  # more than 2 * 16
    assert R.to_bytes() == tl.Isotonic().fit(case.y, case.dist).to_bytes()


# ---- workers that die ------------------------------------------------------------------------


def test_a_worker_that_is_killed_changes_nothing(frame_of, tmp_path):
    case = make_case("normal")
    table = case.table.set_column(
        case.table.column_names.index("weight"),
        "weight",
        [case.weight + 0.1],  # sums that round
    )
    frame, columns = frame_of(table), Columns(group="region", weight="weight")
    expected = tls.fit(frame, columns=columns)
    judged = tls.evaluate(frame, expected, columns=columns)
    marker = tmp_path / "killed"

    def dies_once(batches):
        from pyspark import TaskContext

        yield from batches
        if TaskContext.get().partitionId() == 2:
            try:
                marker.touch(exist_ok=False)
            except FileExistsError:
                return
            os.kill(os.getpid(), signal.SIGKILL)

    deadly = frame.mapInArrow(dies_once, frame.schema)
    R = tls.fit(deadly, columns=columns)
    assert marker.exists()
    assert R.to_bytes() == expected.to_bytes()
    marker.unlink()
    assert tls.evaluate(deadly, R, columns=columns) == judged
    assert marker.exists()


# ---- what is wrong is said ---------------------------------------------------------------------


def test_a_bad_value(frame_of):
    case = make_case("normal", n=100)
    std = case.table["std"].to_numpy().copy()
    std[57] = 0.0
    table = case.table.set_column(case.table.column_names.index("std"), "std", [std])
    frame = frame_of(table, cuts=[0, 50])
    message = (
        "partition 1, row 8, column 'std': found 0; expected a number above 0. A forecast without "
        "spread is a point forecast (Columns(kind='point')); otherwise add the noise that it "
        "leaves out."
    )
    assert message_of(frame) == message
    assert message_of(frame, do=tls.evaluate) == message
    from pyspark.errors import PythonException

    with pytest.raises(PythonException) as caught:
        tls.transform(local_fit(make_case("normal"), {}), frame).collect()
    assert message in str(caught.value)


def test_files_of_different_columns(session, tmp_path):
    table = make_case("normal", n=100).table
    parquet.write_table(table, tmp_path / "a.parquet")
    parquet.write_table(table.drop_columns("std"), tmp_path / "b.parquet")
    frame = session.read.option("mergeSchema", "true").parquet(str(tmp_path))
    assert message_of(frame).endswith(
        "row 1, column 'std': the value is missing; expected a number. Drop that row or fill it in."
    )


def test_bad_frames(session, frame_of):
    table = make_case("normal", n=100).table
    assert "the frame has no column 'y' with the outcomes" in message_of(
        session.createDataFrame(table.drop_columns("y"))
    )
    assert message_of(frame_of(table.slice(0, 0), cuts=[0, 0])) == (
        "the frame has no rows; expected rows."
    )
    twice = session.createDataFrame(table.select(["y", "mean"])).toDF("y", "y")
    assert "two columns named 'y'" in message_of(twice)
    with pytest.raises(TypeError, match=r"frame is a pyarrow\.lib\.Table; expected a Spark"):
        tls.fit(table)


def test_a_map_of_another_kind_is_refused_before_any_work(session):
    frame = session.createDataFrame(make_case("normal", n=10).table)
    R = tl.Isotonic().fit([0.0, 1.0], tl.Point([0.0, 0.0]))
    for do in (lambda: tls.transform(R, frame), lambda: tls.evaluate(frame, R)):
        with pytest.raises(FileError, match="the map was fitted on point forecasts, but the frame"):
            do()


def test_a_group_that_the_map_does_not_know(frame_of):
    case = make_case("normal")
    known = case.groups != "south"
    R = tl.Grouped().fit(case.y[known], case.dist[known], groups=case.groups[known])
    frame, columns = frame_of(case), Columns(group="region")
    message = "1 of 3 groups were not there when the map was fitted and get the pooled map: 'south'"
    with pytest.warns(tl.CalibrationWarning, match=message) as caught:
        tls.evaluate(frame, R, columns=columns)
    # Spark and Python warn of other things, depending on their versions.
    assert len([w for w in caught if issubclass(w.category, tl.CalibrationWarning)]) == 1
    with pytest.warns(tl.CalibrationWarning, match="not there at fit"):
        expected = recalibrated(R, case).ppf(0.5)
    made = tls.transform(R, frame, columns=columns, quantiles=[0.5])
    np.testing.assert_array_equal(made.toArrow().sort_by("id")["q0.5"].to_numpy(), expected)


def test_without_pyspark_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(ImportError, match=r'pip install "pyspark\[sql\]>=4"'):
        tls.fit(None)


def test_importing_the_module_leaves_pyspark_alone():
    code = "import sys, trueline.clusters.spark; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pyspark", "pandas"} & set(done.stdout.split())


def test_the_lines_in_the_documentation(session, tmp_path):
    page = (Path(__file__).parents[1] / "docs" / "large-data.md").read_text("utf-8")
    (lines,) = re.findall(r"^```{code-block} python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    rng = np.random.default_rng(0)
    for folder in ("past", "new"):
        mean = rng.normal(size=6000)
        table = {"y": rng.normal(mean, 2.0), "mean": mean, "std": np.full(6000, 0.5)}
        (tmp_path / folder).mkdir()
        parquet.write_table(pa.table(table), tmp_path / folder / "0.parquet")
    # The JVM looks for files in the folder where it was started.
    lines = re.sub(r'"([\w-]+/)"', lambda path: repr(f"{tmp_path}/{path[1]}"), lines)
    exec(compile(lines, "docs/large-data.md", "exec"), {"spark": session})
    found = parquet.read_table(tmp_path / "calibrated-spark", partitioning=None)
    y, lower, upper = (found[name].to_numpy() for name in ("y", "lower_0.9", "upper_0.9"))
    # 6,000 rows calibrate and 6,000 test: the standard error is 0.0055, and this four of them.
    assert y.size == 6000
    assert abs(((lower <= y) & (y <= upper)).mean() - 0.9) < 0.022


# ---- how forecasts are prepared ------------------------------------------------------------


def test_counts_are_forecast_as_in_python(frame_of, monkeypatch):
    case = make_counts("normal")
    frame = frame_of(case, cuts=(0, 0, 200, 201, 900))
    R = tls.fit(frame)
    assert R.atoms_ is not None
    assert R.to_bytes() == tl.Isotonic().fit(case.y, case.dist).to_bytes()
    check_evaluation(tls.evaluate(frame, R), case, R, Columns())
    # The first rows decide for all partitions.
    monkeypatch.setattr(_cluster, "FIRST_ROWS", 500)
    first = tl.Isotonic()._prepare(case.y[:500], case.dist[:500], None)
    expected = tl.Isotonic()._fit_prepared(first, case.y, case.dist)
    assert tls.fit(frame).to_bytes() == expected.to_bytes()


def test_a_stated_support_names_the_partition(frame_of):
    case = make_counts("normal")
    y = case.y.copy()
    y[250] = 0.5
    case.table = case.table.set_column(0, "y", pa.array(y))
    frame = frame_of(case, cuts=(0, 200, 900))
    message = message_of(frame, recalibrator=tl.Isotonic(support="counts"))
    assert message.startswith("partition 1, row 51")
    assert "column 'y': found 0.5, which Support(low=0.0, step=1.0) excludes" in message
