"""The lines of Python in the README on streams, files, clusters and deployment run."""

import numpy as np
import pytest
from pyarrow import parquet

import trueline as tl
from tests.clusters.clusters import absent
from tests.files.readme import covered, forecasts, run, write_folders

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.xdist_group("clusters"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_folders(tmp_path)
    return tmp_path


def test_a_stream(folder):
    rows = forecasts(0, n=400)
    y, mean = (rows[name].to_numpy() for name in ("y", "mean"))
    stream = list(zip(mean, y, strict=True))[100:]
    F = tl.Normal(mean[:100], 0.5)
    run("tl.Online()", folder, stream=stream[:150], y=y[:100], F=F)
    found = run("tl.Online()", folder, stream=stream[150:], y=y[:100], F=F)
    assert found["journal"].online.rows_seen_ == 400


def test_folders(folder, capsys):
    run("files.fit", folder)
    # 6,000 rows calibrate and 6,000 test: the standard error is 0.0055, and this four of them.
    assert abs(covered(folder / "calibrated") - 0.9) < 0.022
    assert capsys.readouterr().out.startswith("GroupEvaluation(n=")


def test_dask(folder):
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        run("tld.fit", folder)
    assert abs(covered(folder / "calibrated-dask") - 0.9) < 0.022


def test_deployment(folder):
    try:
        import duckdb
        import onnxruntime
    except ImportError as error:
        absent(f"not installed ({error}): pip install onnx onnxruntime duckdb")
    R = tl.files.fit("past/")
    run("to_onnx(", folder, R=R, duckdb=duckdb)
    new = parquet.read_table("upper.parquet")
    F = tl.Normal(new["mean"].to_numpy(), new["std"].to_numpy())
    lower, upper = R.transform(F).interval(0.9)
    np.testing.assert_allclose(new["upper"].to_numpy(), upper, rtol=1e-14)
    rows = {"loc": F.loc.astype(np.float32), "scale": F.scale.astype(np.float32)}
    (quantiles,) = onnxruntime.InferenceSession("map.onnx").run(None, rows)
    np.testing.assert_allclose(quantiles, np.stack([lower, upper], axis=1), rtol=1e-5, atol=1e-6)
