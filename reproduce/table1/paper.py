"""The numbers of Table 1 of the paper, and the errors of a perfect forecaster."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

#: Rows of the table: MAPE, calibration error and, if there is one, the recalibrated error.
_ROWS: dict[str, list[tuple[float, ...]]] = {
    "mpg": [(0.107, 0.053, 0.057), (0.091, 0.102, 0.021), (0.081, 0.068), (0.079, 0.087)],
    "auto": [(0.002, 0.175, 0.029), (0.027, 0.205, 0.017), (0.009, 0.103), (0.014, 0.242)],
    "crime": [(0.086, 0.030, 0.016), (0.086, 0.070, 0.015), (0.084, 0.182), (0.082, 0.050)],
    "kinematics": [(0.267, 0.024, 0.006), (0.110, 0.043, 0.016), (0.097, 0.228), (0.107, 0.027)],
    "stocks": [(0.005, 0.163, 0.052), (0.020, 0.183, 0.024), (0.011, 0.039), (0.013, 0.229)],
    "cpu": [(0.395, 0.074, 0.025), (0.351, 0.163, 0.065), (0.294, 0.166), (0.319, 0.147)],
    "bank": [(0.572, 0.073, 0.083), (0.395, 0.134, 0.057), (0.410, 0.177), (0.390, 0.126)],
    "wine": [(0.101, 0.024, 0.022), (0.097, 0.096, 0.028), (0.099, 0.207), (0.099, 0.096)],
}
#: Columns of the table. Its "approximate Bayesian neural net" is MC dropout.
_MODELS = ("bayesian-ridge", "dropout", "concrete-dropout", "deep-ensemble")

#: The paper's numbers by set and model; means over 5 random splits.
TABLE1: dict[str, dict[str, dict[str, float | None]]] = {
    dataset: {
        model: {
            "mape": numbers[0],
            "before": numbers[1],
            "recalibrated": numbers[2] if len(numbers) > 2 else None,
        }
        for model, numbers in zip(_MODELS, row, strict=True)
    }
    for dataset, row in _ROWS.items()
}
# Levels of Eq. 9.
_LEVELS = np.arange(11) / 10
_DRAWS = 20_000


@lru_cache(maxsize=64)
def perfect_errors(n_test: int, n_fit: int | None, splits: int) -> NDArray[np.float64]:
    """Draw calibration errors (Eq. 9) of a perfect forecaster, each a mean over splits.

    With `n_fit`, a map was fitted on that number of rows. Its knots are uniform order statistics,
    so that its true shares between the levels are Dirichlet with (n_fit + 1) / 10 each, and the
    counts of the test rows are multinomial with these shares. Without `n_fit` the shares are
    1 / 10. The splits are independent.

    Examples
    --------
    >>> from reproduce.table1.paper import perfect_errors
    >>> errors = perfect_errors(100, None, 5)
    >>> errors.size, round(float(errors.mean()), 4)
    (20000, 0.0165)
    """
    rng = np.random.default_rng(0)
    between = np.diff(_LEVELS)
    total = np.zeros(_DRAWS)
    for _ in range(splits):
        shares = between if n_fit is None else rng.dirichlet((n_fit + 1) * between, _DRAWS)
        counts = rng.multinomial(n_test, shares, _DRAWS)
        total += ((np.cumsum(counts, axis=1) / n_test - _LEVELS[1:]) ** 2).sum(axis=1)
    return total / splits
