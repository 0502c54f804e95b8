"""What every package's models are held to: the exact law of fresh rows, and good manners.

With a `FrozenEstimator` and rows that it has not seen, the number of m fresh outcomes at or below
the k-th of n calibration scores is Beta-binomial(m, k, n + 1 - k), whatever the model; the quantile
at level q lies between the scores k = floor(q (n + 1)) and k + 1. A cross-fitted model has no such
law: its coverage is held to that of a level 1 point below to 3 points above, as in
tests/estimators/test_coverage.py.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import betabinom
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import trueline as tl

LEVELS = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95])
# All files together fail correct maps with a probability of about one in a hundred.
SHARE = 0.01 / (40 * len(LEVELS) * 2)


def rows(n, seed=0):
    """Rows of three features, and outcomes with spreads of 2 to 12: a variance is no std."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 3))
    return X, 30.0 + 10.0 * X[:, 0] + 5.0 * np.exp(0.9 * X[:, 1]) * rng.normal(size=n)


def check_exact_law(trained, n=400, m=1500, **params):
    """Calibrate a trained model on n rows, and count m fresh ones below its quantiles."""
    params = {"scale_estimator": None, **params}
    model = tl.CalibratedRegressor(FrozenEstimator(trained), **params).fit(*rows(n, 101))
    X, y = rows(m, 102)
    counts = (y[:, None] <= model.predict_quantiles(X, LEVELS)).sum(axis=0)
    for level, count in zip(LEVELS, counts, strict=True):
        k = int(np.floor(level * (n + 1)))
        too_few = betabinom.cdf(count, m, k, n + 1 - k)
        too_many = betabinom.sf(count - 1, m, k + 1, n - k)
        assert min(too_few, too_many) > SHARE, f"{count} of {m} below the {level}"


def check_coverage(estimator, n=400, m=1500, coverage=0.8, **params):
    """Calibrate an estimator as its user has it, and count fresh rows in its intervals."""
    params = {"cv": 3, "random_state": 0, **params}
    model = tl.CalibratedRegressor(estimator, **params).fit(*rows(n, 103))
    X, y = rows(m, 104)
    lower, upper = model.predict_interval(X, coverage)
    count = int(((lower <= y) & (y <= upper)).sum())
    low, high = (round(c * (n + 1)) for c in (coverage - 0.01, coverage + 0.03))
    assert betabinom.cdf(count, m, low, n + 1 - low) > SHARE, count
    assert betabinom.sf(count - 1, m, high, n + 1 - high) > SHARE, count
    return model


def check_manners(estimator, name, value, frame=None, *, searched=True):
    """Copies, frames, pipelines, searches and processes give the same forecasts.

    `name` is a parameter of the estimator, and `value` what it is set to; `frame` makes a data
    frame of X. `searched` says whether scikit-learn's searches take such an estimator.
    """
    X, y = rows(90)
    fresh = rows(20, 1)[0]
    params = {"cv": 2, "scale_estimator": None, "random_state": 0}

    def quantiles(base, X=X, fresh=fresh, **more):
        model = clone(tl.CalibratedRegressor(base, **params, **more)).fit(X, y)
        return model.predict_dist(fresh).ppf([0.2, 0.5, 0.8])

    changed = clone(estimator).set_params(**{name: value})
    assert clone(changed).get_params()[name] == value
    expected = quantiles(changed)
    assert np.abs(expected - quantiles(estimator)).max() > 1e-6, f"{name} changes nothing"
    np.testing.assert_array_equal(quantiles(changed, n_jobs=2), expected)
    np.testing.assert_allclose(
        quantiles(make_pipeline(FunctionTransformer(), changed)), expected, rtol=1e-6
    )
    if searched:
        search = GridSearchCV(
            estimator, {name: [value]}, cv=2, scoring=tl.neg_crps, error_score="raise"
        )
        np.testing.assert_allclose(quantiles(search), expected, rtol=1e-6)
    if frame is not None:
        framed = quantiles(changed, frame(X), frame(fresh))
        np.testing.assert_allclose(framed, expected, rtol=1e-6)


def pandas_frame(X):
    """Return X as a frame of pandas, with names and an index that is not 0, 1, ..."""
    import pandas as pd

    index = np.arange(1000, 1000 + len(X))
    return pd.DataFrame(X, columns=["first", "second", "third"], index=index)
