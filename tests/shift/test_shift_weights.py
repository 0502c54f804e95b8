"""Weights for a shift: near the truth, near 1 without one, and refused without overlap."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm

import trueline as tl


def test_a_shift_of_normal_features_is_found():
    """The true ratio of N(0.7, 1) to N(0, 1) is exp(0.7 x - 0.245)."""
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(3000, 3)), rng.normal([0.7, 0.0, 0.0], size=(2000, 3))
    shift = tl.shift_weights(X, X_new, random_state=0)
    grid = np.column_stack([np.linspace(-2.0, 2.5, 10), *np.zeros((2, 10))])
    true = norm.pdf(grid[:, 0], 0.7) / norm.pdf(grid[:, 0])
    # A coefficient of the regression has a standard error of about 0.03.
    np.testing.assert_allclose(np.log(shift.of(grid)), np.log(true), atol=0.3)
    assert shift.classifier == "logistic"
    assert shift.weights.mean() == pytest.approx(1.0)
    assert shift.effective_rows == pytest.approx(3000 * np.exp(-(0.7**2)), rel=0.1)
    assert shift.auc == pytest.approx(norm.cdf(0.7 / np.sqrt(2)), abs=0.03)


def test_a_shift_that_no_line_sees_is_found_by_boosting():
    """New rows are spread twice as far: the ratio is not monotone in x."""
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(2000, 2)), rng.normal(size=(2000, 2)) * [2.0, 1.0]
    shift = tl.shift_weights(X, 0.8 * X_new, random_state=0)
    assert shift.classifier == "boosting"
    middle, outside = shift.of([[0.0, 0.0], [2.5, 0.0]])
    assert middle < 0.9
    assert outside > 2.0


@pytest.mark.parametrize("n, m, d", [(750, 400, 5), (100, 50, 5), (300, 300, 30)])
def test_without_a_shift_weights_are_nearly_one(n, m, d):
    """Over seeds: few rows are lost, and the CRPS of the weighted map is that of the plain one."""
    rng = np.random.default_rng([n, m, d])
    kept, plain, weighted = [], [], []
    for seed in range(5):
        X, X_new = rng.normal(size=(n, d)), rng.normal(size=(m, d))
        y, y_new = (x[:, 0] + rng.standard_t(5, size=len(x)) for x in (X, X_new))
        shift = tl.shift_weights(X, X_new, random_state=seed)
        kept.append(shift.effective_rows / n)
        for out, w in ((plain, None), (weighted, shift.weights)):
            R = tl.Isotonic().fit(y, tl.Point(X[:, 0]), sample_weight=w)
            out.append(tl.crps(y_new, R.transform(tl.Point(X_new[:, 0]))))
    assert np.mean(kept) > 0.9
    assert np.mean(weighted) < 1.005 * np.mean(plain)


def test_hopeless_overlap_is_refused():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    with pytest.raises(ValueError, match="too unlike the 500 calibration rows"):
        tl.shift_weights(X, X + 6.0 * np.eye(3)[0])


def test_weights_of_new_rows_were_estimated_without_them():
    """Noise that a classifier could learn by heart has nearly the same weights on both sides."""
    rng = np.random.default_rng(1)
    X, X_new = rng.normal(size=(400, 20)), rng.normal(size=(400, 20)) + 0.15
    shift = tl.shift_weights(X, X_new, random_state=0)
    # The mean weight of new rows is E w^2 = 1.6 for the true ratio.
    assert 1.0 < shift.new_weights.mean() < 2.5
    assert len(shift.new_weights) == 400


def test_the_scale_is_that_of_a_ratio_whatever_the_numbers_of_rows():
    rng = np.random.default_rng(2)
    X, X_new = rng.normal(size=(2000, 1)), rng.normal(size=(200, 1)) + 0.5
    shift = tl.shift_weights(X, X_new, random_state=0)
    assert shift.of([[0.25]])[0] == pytest.approx(1.0, abs=0.15)


def test_missing_values_tell_rows_apart():
    rng = np.random.default_rng(3)
    X, X_new = rng.normal(size=(2, 1000, 2))
    X[rng.random(1000) < 0.1, 1] = np.nan
    X_new[rng.random(1000) < 0.4, 1] = np.nan
    shift = tl.shift_weights(X, X_new, random_state=0)
    known, missing = shift.of([[0.0, 0.0], [0.0, np.nan]])
    np.testing.assert_allclose([known, missing], [0.6 / 0.9, 4.0], rtol=0.25)


def frame(rng, n, south, start):
    """Sizes, with some missing, a place as text, a grade as a category, and days."""
    size = rng.normal(size=n)
    size[::10] = np.nan
    return pd.DataFrame(
        {
            "size": size,
            "place": np.where(rng.random(n) < south, "south", "north").astype(object),
            "grade": pd.Categorical(rng.choice(["a", "b", None], n)),
            "day": pd.Timestamp(start) + pd.to_timedelta(rng.integers(0, 365, n), unit="D"),
        }
    )


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas])
def test_frames_with_text_categories_dates_and_gaps(kind):
    """Only the place has shifted, from 30% in the south to 60%."""
    rng = np.random.default_rng(7)
    X, X_new = frame(rng, 1500, 0.3, "2024-01-01"), frame(rng, 1000, 0.6, "2024-01-01")
    shift = tl.shift_weights(kind(X), kind(X_new), random_state=0)
    by_place = pd.Series(shift.weights).groupby(X["place"]).mean()
    np.testing.assert_allclose(by_place[["south", "north"]], [0.6 / 0.3, 0.4 / 0.7], rtol=0.15)
    np.testing.assert_allclose(shift.of(kind(X_new)[:5]), shift.new_weights[:5], rtol=0.1)


def test_more_categories_than_boosting_takes_and_huge_numbers():
    rng = np.random.default_rng(8)
    X, X_new = (
        pd.DataFrame({"shop": rng.integers(low, 400, 4000).astype(str) + "x"}) for low in (0, 200)
    )
    X_new["size"] = X["size"] = np.where(rng.random(4000) < 0.01, 1e300, 0.0)
    shift = tl.shift_weights(X, X_new, random_state=0)
    known, gone = shift.of(pd.DataFrame({"shop": ["300x", "100x"], "size": 0.0}))
    assert gone < 0.2
    assert known > 1.3


def test_days_that_do_not_overlap_are_refused():
    rng = np.random.default_rng(9)
    X, X_new = frame(rng, 300, 0.3, "2024-01-01"), frame(rng, 300, 0.3, "2026-01-01")
    with pytest.raises(ValueError, match="such as dates and identifiers"):
        tl.shift_weights(X, X_new)
    without = [side.drop(columns="day") for side in (X, X_new)]
    assert tl.shift_weights(*without, random_state=0).overlap == "full"


def test_many_rows_are_judged_by_classifiers_of_some(monkeypatch):
    monkeypatch.setattr("trueline.shift._classifier._MOST_ROWS", 300)
    rng = np.random.default_rng(4)
    X, X_new = rng.normal(size=(2000, 1)), rng.normal(size=(1500, 1)) + 1.0
    shift = tl.shift_weights(X, X_new, random_state=0)
    log_weights = np.log(np.concatenate([shift.weights, shift.new_weights]))
    assert np.isfinite(log_weights).all()
    assert np.corrcoef(log_weights, np.concatenate([X, X_new])[:, 0])[0, 1] > 0.95


def test_the_same_seed_gives_the_same_weights():
    rng = np.random.default_rng(5)
    X, X_new = rng.normal(size=(200, 2)), rng.normal(size=(100, 2)) + 1.0
    one, other = (tl.shift_weights(X, X_new, random_state=0) for _ in range(2))
    np.testing.assert_array_equal(one.weights, other.weights)


def test_it_says_what_it_found():
    rng = np.random.default_rng(6)
    X, X_new = rng.normal(size=(500, 2)), rng.normal(size=(300, 2))
    assert repr(tl.shift_weights(X, X_new, random_state=0)) == (
        "ShiftWeights: 500 calibration rows and 300 new rows\n"
        "  no shift was found: all weights are 1"
    )
    shown = repr(tl.shift_weights(X, X_new + 1.5, random_state=0))
    for part in ("logistic classifier", "effective rows", "overlap:  thin", "% of the new rows"):
        assert part in shown


@pytest.mark.parametrize(
    "X, X_new, fault",
    [
        (np.zeros((50, 2)), np.zeros((50, 3)), "X has 3 columns; expected 2, as at fit"),
        (np.zeros((50, 2)), np.zeros((5, 2)), "X_new has 5 rows; expected at least 20"),
        (np.zeros((5, 2)), np.zeros((50, 2)), "X_calibration has 5 rows; expected at least 20"),
    ],
)
def test_bad_tables_are_refused(X, X_new, fault):
    with pytest.raises(ValueError, match=fault):
        tl.shift_weights(X, X_new)


def test_other_rows_need_the_same_columns():
    shift = tl.shift_weights(np.zeros((50, 2)), np.zeros((50, 2)))
    with pytest.raises(ValueError, match="X has 3 columns; expected 2"):
        shift.of(np.zeros((5, 3)))
