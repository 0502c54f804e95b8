"""Scores and report, logged to MLflow."""

from pathlib import Path

import numpy as np
import pytest

import trueline as tl
from trueline.tracking import log_mlflow, scores

mlflow = pytest.importorskip("mlflow")

RNG = np.random.default_rng(0)
Y = RNG.normal(size=300)
F = tl.Normal(np.zeros(300), 0.6)


@pytest.fixture
def client(tmp_path, monkeypatch):
    """MLflow with a store of its own, in a database and a folder."""
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    experiment = mlflow.create_experiment("forecasts", (tmp_path / "artifacts").as_uri())
    # Not set_experiment, which the process would remember after this store is gone.
    monkeypatch.setenv("MLFLOW_EXPERIMENT_ID", experiment)
    yield mlflow.MlflowClient()
    while mlflow.active_run() is not None:
        mlflow.end_run()
    mlflow.set_tracking_uri(before)


def page(client, run_id, path, tmp_path):
    return Path(client.download_artifacts(run_id, path, str(tmp_path))).read_text("utf-8")


def test_metrics_and_report_are_in_the_active_run(client, tmp_path):
    with mlflow.start_run() as run:
        found = log_mlflow(Y, F, prefix="test/", title="Held-out rows")
    logged = client.get_run(run.info.run_id).data.metrics
    assert logged == found == scores(Y, F, "test/")
    assert [a.path for a in client.list_artifacts(run.info.run_id, "test")] == ["test/report.html"]
    text = page(client, run.info.run_id, "test/report.html", tmp_path)
    assert "Held-out rows" in text
    assert text.rstrip().endswith("</html>")


def test_every_step_has_its_numbers_and_its_page(client):
    with mlflow.start_run() as run:
        for step, scale in enumerate((0.3, 0.6, 1.0)):
            log_mlflow(Y, tl.Normal(np.zeros(300), scale), step=step)
    history = client.get_metric_history(run.info.run_id, "crps")
    assert [m.step for m in history] == [0, 1, 2]
    assert [m.value for m in history] == [
        scores(Y, tl.Normal(np.zeros(300), scale))["crps"] for scale in (0.3, 0.6, 1.0)
    ]
    names = [a.path for a in client.list_artifacts(run.info.run_id)]
    assert sorted(names) == ["report_0.html", "report_1.html", "report_2.html"]


def test_a_run_may_be_named_while_none_is_active(client):
    run = client.create_run(client.get_experiment_by_name("forecasts").experiment_id)
    log_mlflow(Y, F, run_id=run.info.run_id, report=False)
    assert client.get_run(run.info.run_id).data.metrics["crps"] == scores(Y, F)["crps"]
    assert client.list_artifacts(run.info.run_id) == []
    assert mlflow.active_run() is None


def test_no_run_is_started_behind_ones_back(client):
    with pytest.raises(RuntimeError, match="no run of MLflow is active"):
        log_mlflow(Y, F)
    assert mlflow.active_run() is None
    experiment = client.get_experiment_by_name("forecasts").experiment_id
    assert client.search_runs([experiment]) == []


def test_scores_that_are_infinite_or_undefined_are_logged_as_mlflow_does(client):
    with mlflow.start_run() as run:
        found = log_mlflow(Y, tl.Point(np.zeros(300)), report=False)
    assert np.isinf(found["log_score"])
    logged = client.get_run(run.info.run_id).data.metrics
    assert logged.keys() == found.keys()
    assert logged["mae"] == found["mae"]
