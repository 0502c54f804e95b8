"""The paper's experiments, run from a checkout: ``make reproduce ARGS="table1 --quick"``.

``python -m reproduce`` lists them. Their results are committed in ``results/``. This package is not
part of the wheel.
"""
