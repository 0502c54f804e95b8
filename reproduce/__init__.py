"""The paper's experiments, run from a checkout: ``make reproduce ARGS="table1 --quick"``.

``python -m reproduce`` lists them. Their results are committed in ``results/``. This package is not
part of the wheel.
"""

from collections.abc import Callable

__all__ = ["ExperimentError", "Progress"]

#: Called with the number of units done and their share of the total.
Progress = Callable[[int, float], None]


class ExperimentError(RuntimeError):
    """An experiment cannot be run with these options; the message says how to fix that."""
