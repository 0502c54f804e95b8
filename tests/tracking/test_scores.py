"""Scores as a flat dict, and what is logged to MLflow."""

import builtins
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trueline as tl
from tests.interop.cases import every_forecast, forecast
from trueline.tracking import log_mlflow, scores

RNG = np.random.default_rng(0)
Y = RNG.normal(size=200)
F = tl.Normal(np.zeros(200), 0.8)


@every_forecast
@pytest.mark.filterwarnings("ignore::trueline.CalibrationWarning")
def test_every_score_is_that_of_evaluate(base, form):
    G = forecast(base, form)
    y = G.median() + 0.1
    expected = tl.evaluate(y, G, coverage=0.8).to_dict()
    found = scores(y, G, "val/", coverage=0.8)
    assert all(type(value) is float for value in found.values())
    no_scores = ("n", "coverage_target", "coverage_expected")
    assert found.keys() == {f"val/{k}" for k in expected if k not in no_scores}
    for name, value in found.items():
        np.testing.assert_equal(value, expected[name.removeprefix("val/")])


def test_weights_and_the_rows_of_the_fit_count():
    w = RNG.uniform(size=200)
    found = scores(Y, F, sample_weight=w, n_fit=100)
    assert found["crps"] == tl.evaluate(Y, F, sample_weight=w).crps
    assert found["calibration_floor"] > scores(Y, F, sample_weight=w)["calibration_floor"]


def test_tensors_leave_their_gradient_behind():
    torch = pytest.importorskip("torch")
    y = torch.tensor(Y, dtype=torch.float32, requires_grad=True)
    loc = torch.zeros(200, requires_grad=True)
    scale = torch.full((200,), 0.5, requires_grad=True)
    expected = scores(Y.astype(np.float32), tl.Normal(np.zeros(200), 0.5))
    assert scores(y, (loc, scale)) == expected
    assert scores(y, torch.distributions.Normal(loc, scale)) == expected
    half = scores(y.to(torch.bfloat16), (loc.to(torch.bfloat16), scale))
    assert half["crps"] == pytest.approx(expected["crps"], rel=0.01)


def test_arguments_in_another_order_are_refused():
    with pytest.raises(TypeError, match="the arguments are swapped: outcomes come first"):
        scores(F, Y)
    with pytest.raises(TypeError, match="prefix is of type Normal"):
        scores(Y, Y, F)
    with pytest.raises(ValueError, match="y has 10 rows but the forecast has 200"):
        scores(Y[:10], F)


class Client:
    """Keeps what it is told to log, as MLflow's client would."""

    def __init__(self):
        self.metrics, self.artifacts, self.files = [], [], []

    def log_metric(self, run_id, key, value, step=None):
        self.metrics.append((run_id, key, value, step))

    def log_artifact(self, run_id, local_path, artifact_path=None):
        self.files.append(Path(local_path))
        text = Path(local_path).read_text(encoding="utf-8")
        self.artifacts.append((run_id, artifact_path, Path(local_path).name, text))


def test_metrics_and_report_are_logged_and_nothing_is_left_behind():
    client = Client()
    found = log_mlflow(Y, F, prefix="test/", run_id="a", client=client, title="Is it <true>?")
    assert found == scores(Y, F, "test/")
    assert client.metrics == [("a", key, value, None) for key, value in found.items()]
    [(run, folder, name, page)] = client.artifacts
    assert (run, folder, name) == ("a", "test", "report.html")
    assert "Is it &lt;true&gt;?" in page
    assert not client.files[0].parent.exists()


def test_reports_of_several_steps_do_not_replace_one_another():
    client = Client()
    for step in (0, 1):
        log_mlflow(Y, F, prefix="val_", run_id="a", client=client, step=step)
    assert [a[1:3] for a in client.artifacts] == [
        (None, "val_report_0.html"),
        (None, "val_report_1.html"),
    ]
    assert {m[3] for m in client.metrics} == {0, 1}


def test_without_a_report_only_metrics_are_logged():
    client = Client()
    log_mlflow(Y, F, run_id="a", client=client, report=False)
    assert client.metrics
    assert not client.artifacts


def test_nothing_is_logged_of_what_cannot_be_made():
    client = Client()
    with pytest.raises(ValueError, match="groups"):
        log_mlflow(Y, F, run_id="a", client=client, groups=["too", "few"])
    with pytest.raises(ValueError, match="y has 3 rows"):
        log_mlflow(Y[:3], F, run_id="a", client=client)
    with pytest.raises(TypeError, match="title would be for the report"):
        log_mlflow(Y, F, run_id="a", client=client, report=False, title="t")
    with pytest.raises(TypeError, match=r"step is 1\.5"):
        log_mlflow(Y, F, run_id="a", client=client, step=1.5)
    assert not client.metrics
    assert not client.artifacts


def test_the_folder_goes_even_if_logging_fails():
    class Failing(Client):
        def log_artifact(self, run_id, local_path, artifact_path=None):
            self.files.append(Path(local_path))
            raise OSError("the server is away")

    client = Failing()
    with pytest.raises(OSError, match="the server is away"):
        log_mlflow(Y, F, run_id="a", client=client)
    assert not client.files[0].parent.exists()


MISSING = {
    "mlflow": (lambda: log_mlflow(Y, F), 'pip install "mlflow-skinny>=3"'),
    "torch": (lambda: tl.interop.to_torch(F), 'pip install "safetensors>=0.4.5" "torch>=2.13"'),
    "skpro": (lambda: tl.interop.to_skpro(F), "pip install skpro"),
    "polars": (lambda: tl.interop.to_frame(F, library="polars"), "pip install polars"),
    "xarray": (lambda: tl.interop.to_xarray(F, 5), "pip install xarray"),
}


@pytest.mark.parametrize("package", MISSING)
def test_a_package_that_is_not_there_is_named(package, monkeypatch):
    for name in [name for name in sys.modules if name.split(".", maxsplit=1)[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def absent(name, *args, **kwargs):
        if name.split(".", maxsplit=1)[0] == package:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        return real(name, *args, **kwargs)

    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(builtins, "__import__", absent)
    call, mend = MISSING[package]
    with pytest.raises(ImportError, match=f"needs {package}, which cannot be imported.*{mend}"):
        call()


def test_importing_the_module_loads_no_other_library():
    code = "import sys, trueline.interop; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"torch", "skpro", "pandas", "polars", "pyarrow", "xarray", "mlflow"}
    assert not loaded & {"scipy.stats", "sklearn", "matplotlib"}
