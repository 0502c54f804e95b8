"""What the tests of Dask and Spark share."""

import os
from typing import NoReturn

import numpy as np
import pytest

import trueline as tl
from tests.files.cases import Case
from trueline.files import Columns

#: Columns of a case that are named, and what a fit in Python is given for them.
OPTIONS = {
    "plain": {},
    "weights": {"weight": "weight"},
    "groups": {"group": "region"},
    "both": {"group": "region", "weight": "weight"},
}


def absent(reason: str) -> NoReturn:
    """Skip, but not where everything is installed."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def local_fit(case: Case, options: dict[str, str]) -> tl.Recalibrator:
    """Fit in Python on the same rows."""
    weight = case.weight if "weight" in options else None
    if "group" in options:
        return tl.Grouped().fit(case.y, case.dist, weight, case.groups)
    return tl.Isotonic().fit(case.y, case.dist, weight)


def recalibrated(R: tl.Recalibrator, case: Case) -> tl.Distribution:
    """Transform in Python."""
    return R.transform(case.dist, groups=case.groups if isinstance(R, tl.Grouped) else None)


def check_evaluation(found, case: Case, R: tl.Recalibrator | None, columns: Columns) -> None:
    """Compare with `trueline.evaluate`, within what the docstrings say."""
    w = case.weight if columns.weight is not None else None
    dist = case.dist if R is None else recalibrated(R, case)
    n_fit = None if R is None else R.n_fit()
    expected = tl.evaluate(case.y, dist, sample_weight=w, n_fit=n_fit).to_dict()
    overall = found.overall.to_dict()
    p_values = overall.pop("p_value"), expected.pop("p_value")
    if not found.exact:
        np.testing.assert_allclose(overall.pop("ence"), expected.pop("ence"), rtol=1e-3)
    # Steps are spread at random, which moves the calibration error by part of its floor.
    near = 1e-15 + dist._has_atoms() * (
        expected["calibration_floor"] + 0.05 * expected["calibration_error"]
    )
    for name, value in expected.items():
        # The calibration error is a sum of squares of small differences between shares, which
        # are themselves exact to 1e-16.
        atol = near if name == "calibration_error" else 0.0
        np.testing.assert_allclose(overall[name], value, rtol=1e-12, atol=atol, err_msg=name)
    if not dist._may_have_atoms:  # steps are spread at random
        # A difference of e in the statistic d changes the logarithm of the p-value of n rows by
        # up to 4 n d e.
        off = 1e-15 if found.exact else 1e-6
        np.testing.assert_allclose(
            *np.log(np.maximum(p_values, 1e-300)), atol=4 * overall["n"] * off, rtol=0
        )
    if columns.group is None:
        assert found.groups == {}
        return
    assert list(found.groups) == sorted(set(case.groups))
    for name, group in found.groups.items():
        rows = case.groups == name
        own = tl.evaluate(case.y[rows], dist[rows], sample_weight=None if w is None else w[rows])
        assert group.n == rows.sum()
        for what in ("calibration_error", "coverage", "interval_width", "crps"):
            atol = near * (case.y.size / rows.sum()) if what == "calibration_error" else 1e-15
            np.testing.assert_allclose(
                getattr(group, what), getattr(own, what), rtol=1e-12, atol=atol, err_msg=what
            )
