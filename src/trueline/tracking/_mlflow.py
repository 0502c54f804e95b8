"""Scores and report of a forecast, logged to MLflow."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from numpy.typing import ArrayLike

from trueline._messages import EXTRAS, library
from trueline._validation import detached
from trueline.interop import as_distribution
from trueline.tracking._scores import scores


def log_mlflow(
    y: Any,
    F: Any,
    *,
    prefix: str = "",
    coverage: float = 0.9,
    sample_weight: ArrayLike | None = None,
    n_fit: float | None = None,
    report: bool = True,
    step: int | None = None,
    run_id: str | None = None,
    client: Any = None,
    **options: Any,
) -> dict[str, float]:
    """Log the scores of a forecast, and its report, to a run of MLflow.

    The metrics are those of `scores`. The report is an artifact, the page of `trueline.report`:
    ``report.html`` after the prefix, with the step in its name if there is one. Both are computed
    before anything is logged. A prefix with a slash, such as ``"test/"``, makes a folder.

    The run is the active one, or that of ``run_id``. Without a run this raises an error, because
    MLflow would start a run and leave it open.

    Needs MLflow: ``pip install mlflow-skinny``.

    Parameters
    ----------
    y : (n,) array-like or tensor
        Outcomes of rows that were used neither to train nor to calibrate.
    F : Distribution, or what `as_distribution` takes
        The n forecasts.
    prefix : str, default ""
        Prefix of the names of the metrics and of the report: ``"val_"``, ``"test/"``.
    coverage, sample_weight, n_fit
        As in `scores`.
    report : bool, default True
        Whether to log the report too.
    step : int, optional
        Step of the metrics.
    run_id : str, optional
        The run to log to; the active one by default.
    client : mlflow.MlflowClient, optional
        By default, a client of the current tracking URI.
    **options
        For `trueline.report`: ``x``, ``groups``, ``title``, ``y_name``, ``unit``, ...

    Returns
    -------
    dict of str to float
        The logged scores.

    Examples
    --------
    In a program this is ``with mlflow.start_run(): log_mlflow(y, F, prefix="test/")``. Here a
    class that prints replaces MLflow's client:

    >>> import trueline as tl
    >>> class Client:
    ...     def log_metric(self, run_id, key, value, step=None):
    ...         if key.endswith("crps"):
    ...             print(run_id, key, round(value, 4))
    ...
    ...     def log_artifact(self, run_id, local_path, artifact_path=None):
    ...         print(run_id, artifact_path, local_path.rpartition("/")[2])
    >>> y, F = [0.0, 1.0, -1.0], tl.Normal([0.0, 0.5, 0.0], 1.0)
    >>> found = tl.tracking.log_mlflow(y, F, prefix="test/", run_id="run", client=Client())
    run test/crps 0.3892
    run test report.html
    """
    forecast = as_distribution(F)
    outcomes = detached(y, "y")
    if step is not None and (not isinstance(step, int) or isinstance(step, bool)):
        raise TypeError(f"step is {step!r}; expected an integer, or None.")
    if options and not report:
        raise TypeError(
            f"{', '.join(options)} would be for the report, but report is False; expected "
            f"options of trueline.report only with report=True."
        )
    client, run_id = _target(client, run_id)
    found = scores(outcomes, forecast, prefix, coverage, sample_weight=sample_weight, n_fit=n_fit)
    name = PurePosixPath(f"{prefix}report.html" if step is None else f"{prefix}report_{step}.html")
    folder = None if name.parent == PurePosixPath() else str(name.parent)
    with TemporaryDirectory(prefix="trueline-") as temporary:
        page = Path(temporary) / name.name
        if report:
            from trueline._report import report as write_report  # slow to import

            write_report(
                outcomes,
                forecast,
                page,
                coverage=coverage,
                sample_weight=sample_weight,
                n_fit=n_fit,
                **options,
            )
        for key, value in found.items():
            client.log_metric(run_id, key, value, step=step)
        if report:
            client.log_artifact(run_id, page.as_posix(), folder)
    return found


def _target(client: Any, run_id: str | None) -> tuple[Any, str]:
    """Return the client and the run to log to."""
    if client is not None and run_id is not None:
        return client, run_id
    mlflow = library("mlflow", "log_mlflow", EXTRAS["mlflow"])
    if run_id is None:
        run = mlflow.active_run()
        if run is None:
            raise RuntimeError(
                "no run of MLflow is active; expected one, because MLflow would start a run and "
                "leave it open. Log inside of one, with mlflow.start_run(): ..., or pass its "
                "run_id=..."
            )
        run_id = str(run.info.run_id)
    return client or mlflow.MlflowClient(), run_id
