"""Maps, columns and evaluations of a Dask cluster are those of Python."""

import os
import signal
import sys
import warnings

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
from tests.files.cases import KINDS, make_case, make_counts
from trueline.clusters import _cluster, dask as tld
from trueline.files import Columns, FileError

try:
    import dask
    import dask.dataframe as dd
    import distributed
    import pandas as pd
except ImportError as error:
    absent_reason = f'dask is not installed ({error}): pip install "dask[dataframe]" distributed'
else:
    absent_reason = ""


# One cluster, and not beside that of Spark: there are two cores.
pytestmark = pytest.mark.xdist_group("clusters")


@pytest.fixture(autouse=True)
def installed():
    if absent_reason:
        absent(absent_reason)


@pytest.fixture
def here():
    """Work on partitions one after the other, in this process."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def client():
    if absent_reason:
        absent(absent_reason)
    # A machine with much else to do is slow, not dead.
    patience = {
        "distributed.comm.timeouts.connect": "300s",
        "distributed.deploy.lost-worker-timeout": "300s",
        "distributed.scheduler.worker-ttl": None,
    }
    with (
        dask.config.set(patience),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=0,
            dashboard_address=":0",  # any port that is free
            host="127.0.0.1",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def frame_of(rows, cuts=(0, 700, 700, 2500, 2501)):
    """A frame with partitions of any length, the second of them empty."""
    if not isinstance(rows, pd.DataFrame):
        rows = rows.table.to_pandas()
    stops = [*cuts[1:], len(rows)]
    parts = [rows.iloc[start:stop] for start, stop in zip(cuts, stops, strict=True)]
    return dd.from_map(lambda part: part, parts, meta=rows.iloc[:0])


def message_of(first, /, *, do=tld.fit, **options):
    with pytest.raises(FileError) as caught:
        do(first, **options)
    return str(caught.value)


# ---- the same as in Python -----------------------------------------------------------------


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("here")
def test_the_map_is_that_of_python_to_the_last_bit(kind, options):
    case = make_case(kind)
    R = tld.fit(frame_of(case), columns=Columns(**options))
    # The weights are whole numbers, whose sums are exact.
    assert R.to_bytes() == local_fit(case, options).to_bytes()


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_on_a_cluster(client, options):
    case = make_case("normal")
    frame, columns = frame_of(case), Columns(**options)
    R = tld.fit(frame, columns=columns)
    expected = local_fit(case, options)
    assert R.to_bytes() == expected.to_bytes()
    made = tld.transform(R, frame, columns=columns, coverage=[0.8]).compute()
    lower, upper = recalibrated(expected, case).interval(0.8)
    np.testing.assert_array_equal(made["lower_0.8"], lower)
    np.testing.assert_array_equal(made["upper_0.8"], upper)
    for which in (None, R):
        if which is None or isinstance(which, tl.Grouped) == (columns.group is not None):
            check_evaluation(tld.evaluate(frame, which, columns=columns), case, which, columns)


@pytest.mark.parametrize(
    "method", [tl.Smooth(), tl.BetaCalibration(), tl.Scaling(), tl.Auto()], ids=repr
)
@pytest.mark.usefixtures("here")
def test_with_every_recalibrator(method):
    case = make_case("normal")
    R = tld.fit(frame_of(case), method)
    assert R.to_bytes() == method._unfitted_copy().fit(case.y, case.dist).to_bytes()
    assert not method._is_fitted()


@pytest.mark.usefixtures("here")
def test_a_recalibrator_of_ones_own():
    class Own(tl.Isotonic):
        pass

    case = make_case("normal")
    R = tld.fit(frame_of(case), Own())
    assert isinstance(R, Own)
    np.testing.assert_array_equal(R.scores_.values, np.sort(case.dist.score(case.y)))
    assert message_of(R, do=tld.transform, frame=frame_of(case)) == (
        "Own() cannot be sent to workers, which can read only trueline's own maps. Expected "
        "Isotonic, Smooth, BetaCalibration, Scaling, Auto or Grouped."
    )


@pytest.mark.usefixtures("here")
def test_many_partitions_are_merged_as_a_tree():
    case = make_case("normal", n=600)
    frame = frame_of(case, cuts=range(0, 600, 2))  # more than 16 * 16
    assert frame.npartitions == 300
    assert tld.fit(frame).to_bytes() == tl.Isotonic().fit(case.y, case.dist).to_bytes()


def test_more_scores_than_a_state_keeps(client):
    def rows(seed):
        rng = np.random.default_rng(seed)
        mean, std = rng.normal(size=300_000), rng.uniform(0.5, 2.0, size=300_000)
        y = mean + 3.0 * std * rng.standard_cauchy(size=300_000)
        return pd.DataFrame({"y": y, "mean": mean, "std": std})

    R = tld.fit(dd.from_map(rows, range(4)))
    parts = [rows(seed) for seed in range(4)]
    whole = tl.Isotonic()
    for part in parts[::-1]:
        whole.partial_fit(part["y"], tl.Normal(part["mean"], part["std"]))
    assert R.scores_.rounded
    assert R.to_bytes() == whole.to_bytes()
    scores = np.sort(np.concatenate([(p["y"] - p["mean"]) / p["std"] for p in parts]))
    levels = np.linspace(0.001, 0.999, 999)
    exact = tl.Isotonic().fit(scores, tl.Normal(np.zeros(scores.size), 1.0))
    np.testing.assert_allclose(R.law_.ppf(levels), exact.law_.ppf(levels), rtol=2.0**-17)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("here")
def test_columns_are_those_of_python(kind):
    case = make_case(kind)
    frame, R = frame_of(case), local_fit(case, OPTIONS["groups"])
    options = {"columns": Columns(group="region"), "prefix": "new_", "moments": True}
    new = tld.transform(R, frame, coverage=[0.5, 0.9], quantiles=[0.05], **options)
    names = ["new_lower_0.5", "new_upper_0.5", "new_lower_0.9", "new_upper_0.9", "new_q0.05"]
    names += ["new_recalibrated_mean", "new_recalibrated_std"]
    assert list(new.columns) == [*frame.columns, *names]
    made = new.compute()
    pd.testing.assert_frame_equal(made[list(frame.columns)], frame.compute())
    G = recalibrated(R, case)
    ends = [end for c in (0.5, 0.9) for end in G.interval(c)]
    for name, expected in zip(names, [*ends, G.ppf(0.05), G.mean(), G.std()], strict=True):
        assert made[name].dtype == new.dtypes[name] == np.float64
        # Means of draws are products of matrices, which round as their shapes have it.
        rtol = 1e-12 if "recalibrated" in name and kind == "samples" else 0.0
        np.testing.assert_allclose(made[name], expected, rtol=rtol, err_msg=name)


def test_a_transform_is_lazy_and_only_the_columns_asked_for():
    calls = []

    def rows(part):
        calls.append(part)
        return part

    case = make_case("normal", n=30)
    table = case.table.to_pandas()
    frame = dd.from_map(rows, [table], meta=table.iloc[:0])
    with dask.config.set(scheduler="synchronous"):
        new = tld.transform(local_fit(case, {}), frame)
        assert calls == []
        assert list(new.columns[-2:]) == ["lower_0.9", "upper_0.9"]
        new.compute()
    assert len(calls) == 1


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("here")
def test_the_evaluation_is_that_of_python(kind, options):
    case, columns = make_case(kind), Columns(**options)
    R = local_fit(case, options)
    for which in (None, R):
        found = tld.evaluate(frame_of(case), which, columns=columns)
        assert found.exact
        check_evaluation(found, case, which, columns)


@pytest.mark.parametrize("options", [OPTIONS["plain"], OPTIONS["both"]], ids=["plain", "both"])
@pytest.mark.parametrize("cuts", [[0, 30_000, 60_000], [0, 80_000]], ids=["together", "one"])
@pytest.mark.usefixtures("here")
def test_of_many_rows_the_evaluation_is_within_its_bounds(cuts, options):
    case, columns = make_case("normal", n=100_000), Columns(**options)
    found = tld.evaluate(frame_of(case, cuts), columns=columns)
    assert not found.exact
    check_evaluation(found, case, None, columns)


@pytest.mark.usefixtures("here")
def test_an_evaluation_is_the_same_each_time():
    case = make_case("samples")  # its steps are spread at random
    first, second = (tld.evaluate(frame_of(case)) for _ in range(2))
    assert first == second
    other = tld.evaluate(frame_of(case), random_state=1)
    assert other.overall.crps == first.overall.crps


@pytest.mark.usefixtures("here")
def test_groups_that_are_numbers_or_categories():
    case = make_case("normal", n=900)
    table = case.table.to_pandas()
    table["region"] = np.arange(900) % 3
    R = tld.fit(frame_of(table, [0, 500]), columns=Columns(group="region"))
    assert R.groups_ == [0, 1, 2]
    table["region"] = pd.Categorical(case.groups)
    R = tld.fit(frame_of(table, [0, 500]), columns=Columns(group="region"))
    assert R.to_bytes() == local_fit(case, OPTIONS["groups"]).to_bytes()


def test_threads_leave_warnings_as_they_were(monkeypatch):
    case = make_case("normal", n=3000)
    frame = frame_of(case, cuts=range(0, 3000, 100))
    before = list(warnings.filters), warnings.showwarning
    with dask.config.set(scheduler="threads", num_workers=4):
        R = tld.fit(frame, columns=Columns(group="region"))
        tld.transform(R, frame, columns=Columns(group="region")).compute()
        tld.evaluate(frame, R, columns=Columns(group="region"))
    assert (list(warnings.filters), warnings.showwarning) == before
    assert R.to_bytes() == local_fit(case, OPTIONS["groups"]).to_bytes()


# ---- workers that die ------------------------------------------------------------------------


@pytest.mark.parametrize("options", [OPTIONS["plain"], OPTIONS["both"]], ids=["plain", "both"])
def test_a_worker_that_is_killed_changes_nothing(client, options, tmp_path):
    case = make_case("normal")
    table = case.table.to_pandas()
    table["weight"] += 0.1  # sums that round
    marker = tmp_path / "killed"

    def rows(number):
        # The first worker that comes to the last but one partition dies there, and with it all
        # states that it holds.
        if number == 8:
            try:
                marker.touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return table.iloc[500 * number : 500 * (number + 1)]

    calm = [table.iloc[500 * i : 500 * (i + 1)] for i in range(10)]
    columns = Columns(**options)
    with dask.config.set(scheduler="synchronous"):
        frame = dd.from_map(lambda part: part, calm, meta=table.iloc[:0])
        expected = tld.fit(frame, columns=columns)
        judged = tld.evaluate(frame, expected, columns=columns)
    R = tld.fit(dd.from_map(rows, range(10), meta=table.iloc[:0]), columns=columns)
    assert marker.exists()
    assert R.to_bytes() == expected.to_bytes()
    marker.unlink()
    found = tld.evaluate(dd.from_map(rows, range(10), meta=table.iloc[:0]), R, columns=columns)
    assert marker.exists()
    assert found == judged
    client.wait_for_workers(2, timeout=60)


# ---- what is wrong is said ---------------------------------------------------------------------


def broken(column, value):
    table = make_case("normal", n=100).table.to_pandas()
    table.loc[57, column] = value
    return frame_of(table, [0, 50])


@pytest.mark.parametrize(
    "column, value, message",
    [
        (
            "y",
            np.nan,
            (
                "partition 1, row 8 (index 57), column 'y': the value is missing; expected a "
                "number. Drop that row or fill it in."
            ),
        ),
        (
            "mean",
            np.inf,
            (
                "partition 1, row 8 (index 57), column 'mean': found inf; expected a finite "
                "number. Fix or drop that row."
            ),
        ),
        (
            "std",
            -1.0,
            (
                "partition 1, row 8 (index 57), column 'std': found -1; expected a number above "
                "0. A standard deviation is never negative; is this the logarithm of one?"
            ),
        ),
    ],
)
def test_a_bad_value(client, column, value, message):
    frame = broken(column, value)
    assert message_of(frame) == message
    assert message_of(frame, do=tld.evaluate) == message
    if column != "y":
        R = local_fit(make_case("normal"), {})
        with pytest.raises(FileError) as caught:
            tld.transform(R, frame).compute()
        assert str(caught.value) == message.replace(
            "partition 1,", "the partition from index 50 on,"
        )


@pytest.mark.usefixtures("here")
def test_a_group_that_is_missing():
    message = message_of(broken("region", None), columns=Columns(group="region"))
    assert message == (
        "partition 1, row 8 (index 57), column 'region': the group is missing; expected a name. "
        "Drop that row or give it a name."
    )


@pytest.mark.usefixtures("here")
def test_a_column_that_is_missing():
    frame = frame_of(make_case("normal").table.to_pandas().drop(columns="y"))
    assert "the frame has no column 'y' with the outcomes; its columns are id, mean" in (
        message_of(frame)
    )
    assert "the frame has no column 'area'" in message_of(
        frame_of(make_case("normal")), columns=Columns(group="area")
    )


def test_partitions_of_different_columns(client):
    table = make_case("normal", n=100).table.to_pandas()
    parts = [table.iloc[:50], table.iloc[50:].drop(columns="std")]
    frame = dd.from_map(lambda part: part, parts, meta=table.iloc[:0], enforce_metadata=False)
    expected = (
        "partition 1 has no column 'std', which the frame says it has; its columns are mean, y. "
        "Give all partitions the same columns."
    )
    assert message_of(frame) == expected
    assert message_of(frame, do=tld.evaluate) == expected


@pytest.mark.usefixtures("here")
def test_files_of_different_columns(tmp_path):
    table = make_case("normal", n=100).table
    parquet.write_table(table, tmp_path / "a.parquet")
    parquet.write_table(table.drop_columns("std"), tmp_path / "b.parquet")
    assert message_of(dd.read_parquet(tmp_path)) == (
        "the frame cannot be read: \"['std'] not in index\". Give all partitions the same columns "
        "and types."
    )
    place = table.column_names.index("std")
    text = table.set_column(place, "std", [["wide"] * 100])
    parquet.write_table(text, tmp_path / "b.parquet")
    assert message_of(dd.read_parquet(tmp_path)) == (
        "partition 1, row 1 (index 0), column 'std': found 'wide'; expected a number. Fix or drop "
        "that row, or name another column if all rows are like it."
    )


@pytest.mark.parametrize("do", [tld.fit, tld.evaluate])
@pytest.mark.usefixtures("here")
def test_groups_of_different_types(do):
    table = make_case("normal", n=100).table.to_pandas()
    numbers = table.iloc[50:].assign(region=3)
    frame = dd.from_map(lambda part: part, [table.iloc[:50], numbers], meta=table.iloc[:0])
    assert message_of(frame, do=do, columns=Columns(group="region")) == (
        "the groups are text in some partitions and numbers in others; expected one or the other. "
        "Convert that column first."
    )


@pytest.mark.parametrize("do", [tld.fit, tld.evaluate])
@pytest.mark.usefixtures("here")
def test_no_rows_and_no_weight(do):
    table = make_case("normal", n=100).table.to_pandas()
    assert message_of(frame_of(table.iloc[:0], [0, 0]), do=do) == (
        "the frame has no rows; expected rows."
    )
    frame = frame_of(table.assign(weight=0.0), [0, 50])
    assert "the frame, column 'weight'" in message_of(
        frame, do=do, columns=Columns(weight="weight")
    )


@pytest.mark.usefixtures("here")
def test_a_partition_without_weight_is_left_out():
    case = make_case("normal")
    case.weight[:700] = 0.0
    table = case.table.to_pandas().assign(weight=case.weight)
    columns = Columns(weight="weight", group="region")
    R = tld.fit(frame_of(table), columns=columns)
    assert R.to_bytes() == local_fit(case, OPTIONS["both"]).to_bytes()
    check_evaluation(tld.evaluate(frame_of(table), R, columns=columns), case, R, columns)


def test_a_map_of_another_kind_is_refused_before_any_work():
    R = tl.Isotonic().fit([0.0, 1.0], tl.Point([0.0, 0.0]))
    frame = frame_of(make_case("normal"))
    for do in (lambda: tld.transform(R, frame), lambda: tld.evaluate(frame, R)):
        with pytest.raises(FileError, match="the map was fitted on point forecasts, but the frame"):
            do()
    grouped = local_fit(make_case("normal"), OPTIONS["groups"])
    with pytest.raises(FileError, match="it needs the group of each row"):
        tld.transform(grouped, frame)
    with pytest.raises(tl.NotFittedError):
        tld.transform(tl.Isotonic(), frame)
    with pytest.raises(FileError, match=r"has a column 'lower_0\.9' already"):
        tld.transform(
            tld.fit(frame), frame.assign(**{"lower_0.9": 0.0}), columns=Columns(kind="normal")
        )


@pytest.mark.parametrize(
    "recalibrator, message",
    [
        (tl.Conditional(), "a conditional map is learned from features"),
        (tl.Grouped(), "a map per group needs the column of the groups"),
        (tl.Isotonic(finite_sample="yes"), "finite_sample is 'yes'"),
    ],
)
def test_recalibrators_that_cannot_be_fitted(recalibrator, message):
    with pytest.raises(ValueError, match=message):
        tld.fit(frame_of(make_case("normal")), recalibrator)


def test_what_is_no_frame():
    table = make_case("normal", n=10).table.to_pandas()
    with pytest.raises(TypeError, match=r"frame is a pandas\..*DataFrame; expected a dask"):
        tld.fit(table)
    frame = dd.from_pandas(pd.DataFrame({0: [1.0], "y": [2.0]}), npartitions=1)
    assert message_of(frame) == (
        "the frame has a column named 0, a int; expected names that are text. Rename it."
    )
    with pytest.raises(TypeError, match="random_state is None"):
        tld.evaluate(frame_of(make_case("normal")), random_state=None)


# ---- warnings -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("here")
def test_unknown_groups_are_counted_among_those_of_the_frame():
    case = make_case("normal", n=60)
    R = tl.Grouped().fit(case.y, case.dist, groups=case.groups)
    rows = pd.DataFrame({"y": [1.0, 2.0], "mean": 0.0, "std": 1.0, "region": "mars"})
    frame, columns = dd.from_pandas(rows, npartitions=2), Columns(group="region")
    with pytest.warns(tl.CalibrationWarning, match="^1 of 1 groups were not there"):
        tld.evaluate(frame, R, columns=columns)
    with pytest.warns(tl.CalibrationWarning, match="^some groups were not there"):
        tld.transform(R, frame, columns=columns).compute()


def test_a_group_that_the_map_does_not_know(client):
    case = make_case("normal")
    known = case.groups != "south"
    R = tl.Grouped().fit(case.y[known], case.dist[known], groups=case.groups[known])
    frame, columns = frame_of(case), Columns(group="region")
    message = "1 of 3 groups were not there when the map was fitted and get the pooled map: 'south'"
    with pytest.warns(tl.CalibrationWarning, match=message) as caught:
        found = tld.evaluate(frame, R, columns=columns)
    assert len(caught) == 1
    with pytest.warns(tl.CalibrationWarning, match="not there at fit"):
        G = recalibrated(R, case)
    expected = tl.evaluate(case.y, G)
    np.testing.assert_allclose(found.overall.crps, expected.crps, rtol=1e-12)
    message = message.replace("1 of 3", "some")  # a partition does not know of the others
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.warns(tl.CalibrationWarning, match=message),
    ):
        made = tld.transform(R, frame, columns=columns, quantiles=[0.5]).compute()
    np.testing.assert_array_equal(made["q0.5"], G.ppf(0.5))


@pytest.mark.usefixtures("here")
def test_warnings_are_told_once():
    case = make_case("normal", n=10)
    R = local_fit(case, {})
    frame = frame_of(make_case("normal"))
    with pytest.warns(tl.CalibrationWarning, match="Fit on at least 19 rows") as caught:
        tld.evaluate(frame, R)
    assert len(caught) == 1
    table = make_case("point").table.to_pandas().assign(sigma=1.0)
    with pytest.warns(tl.CalibrationWarning, match="column 'sigma' is not used") as caught:
        tld.fit(frame_of(table))
    assert len(caught) == 1
    tied = table.assign(y=table["mean"] + 1.0).drop(columns="sigma").round(0)
    with pytest.warns(tl.CalibrationWarning, match="only 1 distinct scores"):
        tld.fit(frame_of(tied), tl.Isotonic(support=None))


def test_without_dask_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(
        ImportError,
        match=r'pip install "dask\[dataframe\]>=2025.7" "distributed>=2025.7" "pyarrow>=17"',
    ):
        tld.fit(None)


def test_importing_the_module_leaves_dask_alone():
    import subprocess

    code = "import sys, trueline.clusters.dask; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"dask", "pandas"} & set(done.stdout.split())


# ---- how forecasts are prepared ------------------------------------------------------------


@pytest.mark.usefixtures("here")
def test_counts_are_forecast_as_in_python(monkeypatch):
    case = make_counts("normal")
    frame = frame_of(case, cuts=(0, 0, 200, 201, 900))
    R = tld.fit(frame)
    assert R.atoms_ is not None
    assert R.to_bytes() == tl.Isotonic().fit(case.y, case.dist).to_bytes()
    check_evaluation(tld.evaluate(frame, R), case, R, Columns())
    # The first rows decide for all partitions.
    monkeypatch.setattr(_cluster, "FIRST_ROWS", 500)
    first = tl.Isotonic()._prepare(case.y[:500], case.dist[:500], None)
    expected = tl.Isotonic()._fit_prepared(first, case.y, case.dist)
    assert tld.fit(frame).to_bytes() == expected.to_bytes()


@pytest.mark.usefixtures("here")
def test_a_stated_support_names_the_partition():
    case = make_counts("normal")
    y = case.y.copy()
    y[250] = 0.5
    case.table = case.table.set_column(0, "y", pa.array(y))
    frame = frame_of(case, cuts=(0, 200, 900))
    message = message_of(frame, recalibrator=tl.Isotonic(support="counts"))
    assert message.startswith("partition 1, row 51")
    assert "column 'y': found 0.5, which Support(low=0.0, step=1.0) excludes" in message
