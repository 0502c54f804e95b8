"""Diagnostics as a flat dict of floats, for loops that others run."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from trueline.interop import as_distribution
from trueline.metrics import evaluate

# What `evaluate` tells of its input, not of the forecast.
_NOT_SCORES = ("n", "coverage_target")


def scores(
    y: Any,
    F: Any,
    prefix: str = "",
    coverage: float = 0.9,
    *,
    sample_weight: ArrayLike | None = None,
    n_fit: float | None = None,
) -> dict[str, float]:
    """Score a forecast: every diagnostic of `evaluate`, as plain floats by name.

    For what takes a dict of numbers: ``self.log_dict(scores(y, F, "val_"))`` in Lightning,
    ``trial.report(scores(y, F)["crps"], step)`` or a returned objective in Optuna, a row of a
    table in a plain loop. `log_mlflow` logs them to MLflow. scikit-learn's searches take the
    scorers `neg_crps`, `neg_calibration_error` and `neg_interval_score` instead.

    Calibration is a property of many rows: its error over an epoch is not the mean of that of
    its batches. Collect outcomes and forecasts of all of them, and score once.

    Parameters
    ----------
    y : (n,) array-like or tensor
        Outcomes. A tensor may be on any device and may carry a gradient, which is left behind.
    F : Distribution, or what `as_distribution` takes
        The n forecasts; for a network ``(loc, scale)``, or its distribution of torch.
    prefix : str, default ""
        Put before every name: ``"val_"``, ``"test/"``.
    coverage : float, default 0.9
        Probability of the central interval to look at.
    sample_weight : (n,) array-like, optional
        Weights of the rows.
    n_fit : float, optional
        Rows that a recalibrator was fitted on; it raises the floor.

    Returns
    -------
    dict of str to float
        ``calibration_error`` and ``calibration_floor``, which it should come near; ``p_value``,
        ``coverage``, ``interval_width``, ``interval_score``, ``crps``, ``log_score``,
        ``sharpness``, ``ence``, ``mae`` and ``rmse``. Lower is better for the errors and scores;
        choose models by ``crps``.

    Examples
    --------
    >>> import trueline as tl
    >>> found = tl.tracking.scores([0.0, 1.0, -1.0], ([0.0, 0.5, 0.0], 1.0), prefix="val_")
    >>> round(found["val_crps"], 4), round(found["val_rmse"], 4)
    (0.3892, 0.6455)
    """
    if not isinstance(prefix, str):
        raise TypeError(
            f"prefix is of type {type(prefix).__name__}; expected what to put before the names, "
            f"such as 'val_'. Outcomes come first, then the forecast: scores(y, F, prefix)."
        )
    found = evaluate(
        y, as_distribution(F), coverage=coverage, sample_weight=sample_weight, n_fit=n_fit
    ).to_dict()
    return {f"{prefix}{key}": float(v) for key, v in found.items() if key not in _NOT_SCORES}
