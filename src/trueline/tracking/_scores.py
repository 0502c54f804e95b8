"""Diagnostics as a flat dict of floats, for training loops and experiment trackers."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from trueline.metrics import evaluate

# Entries of `evaluate` that are no scores.
_NOT_SCORES = ("n", "coverage_target", "coverage_expected")


def scores(
    y: Any,
    F: Any,
    prefix: str = "",
    coverage: float = 0.9,
    *,
    sample_weight: ArrayLike | None = None,
    n_fit: float | None = None,
) -> dict[str, float]:
    """Return every diagnostic of `evaluate` as plain floats by name.

    Use it as ``self.log_dict(scores(y, F, "val_"))`` in Lightning, or as
    ``trial.report(scores(y, F)["crps"], step)`` or a returned objective in Optuna. `log_mlflow`
    logs the scores to MLflow. scikit-learn's searches take the scorers `neg_crps`,
    `neg_calibration_error` and `neg_interval_score` instead.

    The calibration error of an epoch is not the mean of those of its batches: collect the outcomes
    and forecasts of all batches and score once.

    Parameters
    ----------
    y : (n,) array-like or tensor
        Outcomes. A tensor may be on any device and have a gradient.
    F : Distribution, or what `as_distribution` takes
        The n forecasts; for a network ``(loc, scale)``, or its distribution of torch.
    prefix : str, default ""
        Prefix of every name: ``"val_"``, ``"test/"``.
    coverage : float, default 0.9
        Probability of the central interval.
    sample_weight : (n,) array-like, optional
        Weights of the rows.
    n_fit : float, optional
        Number of rows that a recalibrator was fitted on, which the floor and the p-value take into
        account; by default as the forecast knows it.

    Returns
    -------
    dict of str to float
        ``calibration_error`` and its ``calibration_floor``; ``p_value``,
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
            f"prefix is of type {type(prefix).__name__}; expected a prefix of the names, such "
            f"as 'val_'. Outcomes come first, then the forecast: scores(y, F, prefix)."
        )
    found = evaluate(y, F, coverage=coverage, sample_weight=sample_weight, n_fit=n_fit).to_dict()
    return {f"{prefix}{key}": float(v) for key, v in found.items() if key not in _NOT_SCORES}
