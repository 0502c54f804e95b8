"""scikit-learn's Gaussian process."""

import numpy as np
import pytest
from held_out import check_coverage, check_exact_law, check_manners, pandas_frame, rows

import trueline as tl
from trueline.interop import read_forecast

gaussian_process = pytest.importorskip("sklearn.gaussian_process")
from sklearn.gaussian_process.kernels import RBF, WhiteKernel  # noqa: E402


def model(**params):
    kernel = 100.0 * RBF(2.0) + WhiteKernel(40.0)
    return gaussian_process.GaussianProcessRegressor(
        kernel, optimizer=None, normalize_y=True, **params
    )


def test_its_standard_deviation_is_the_scale():
    X, y = rows(150)
    trained = model().fit(X, y)
    F = read_forecast(trained, X)
    mean, std = trained.predict(X, return_std=True)
    assert isinstance(F, tl.Normal)
    np.testing.assert_array_equal(F.loc, mean)
    np.testing.assert_array_equal(F.scale, std)
    _, covariance = trained.predict(X, return_cov=True)
    np.testing.assert_allclose(F.var(), np.diag(covariance), rtol=1e-9)


def test_fresh_rows():
    check_exact_law(model().fit(*rows(300, 100)))
    calibrated = check_coverage(model())
    # Its own scale, one for all and a learned one are compared.
    assert set(calibrated.scale_.crps) == {"constant", "own", "learned"}


def test_manners():
    check_manners(model(), "alpha", 0.1, pandas_frame)
