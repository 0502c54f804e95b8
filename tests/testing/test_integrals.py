"""The quadrature that the checks trust, against closed forms."""

import numpy as np
import pytest

import trueline as tl
from trueline.testing._integrals import RowIntegrals, integrate

ROWS = {
    "normal": tl.Normal([1e3], [0.2]),
    "logistic": tl.Logistic([-4.0], [3.0]),
    "laplace": tl.Laplace([0.0], [1.0]),
    "student t": tl.StudentT([2.0], [1.0], [5.0]),
    "point": tl.Point([7.0]),
    "steps": tl.Samples([[0.0, 1.0, 1.0, 5.0]]),
    "far apart": tl.Mixture([tl.Samples([[0.0]]), tl.Samples([[1e6]])]),
}


@pytest.mark.parametrize("name", ROWS)
def test_moments_and_crps(name):
    dist = ROWS[name]
    row = RowIntegrals(dist)
    unit = max(dist.std()[0], 1.0)
    np.testing.assert_allclose(row.mean(), dist.mean()[0], rtol=1e-14, atol=1e-9 * unit)
    std = np.sqrt(row.var(dist.mean()[0]))
    np.testing.assert_allclose(std, dist.std()[0], rtol=1e-8, atol=1e-12)
    for y in dist.mean()[0] + unit * np.array([-3.0, 0.0, 0.5, 20.0]):
        np.testing.assert_allclose(row.crps(y), dist.crps(y)[0], rtol=1e-9, atol=1e-9 * unit)


def test_a_jump_anywhere_is_found():
    for jump in (0.1, 1.0 / 3.0, 0.999):
        found = integrate(lambda x, jump=jump: (x >= jump).astype(float), np.array([0.0, 1.0]))
        np.testing.assert_allclose(found, 1.0 - jump, rtol=1e-12)


def test_no_panel_is_no_area():
    assert integrate(np.ones_like, np.array([1.0])) == 0.0
