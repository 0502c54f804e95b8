"""`IDR`: what it promises beyond the contract of all recalibrators."""

import json
import time

import numpy as np
import pytest
from scipy.stats import betabinom, chisquare

import trueline as tl
from tests.recalibration.documents import signed
from trueline.isotonic import IsotonicLaws

RNG = np.random.default_rng(0)
X = RNG.uniform(1.0, 5.0, size=600)
Y = X * RNG.gamma(4.0, 0.25, size=600)
F = tl.Point(X)


@pytest.mark.parametrize(
    "dist, centre",
    [
        (tl.Normal(X, 1.0 + X), X),
        (tl.Samples(np.column_stack([X, 2.0 * X])), 1.5 * X),
        (tl.Quantiles([0.1, 0.5], np.column_stack([X, X + 1.0])), None),
    ],
)
def test_the_covariate_is_the_centre(dist, centre):
    R = tl.IDR().fit(Y, dist)
    laws = IsotonicLaws.fit(dist.mean() if centre is None else centre, Y)
    np.testing.assert_array_equal(R.laws_.x, laws.x)
    np.testing.assert_allclose(R.laws_.levels, laws.levels, rtol=1e-14)


def test_of_all_isotonic_laws_it_has_the_lowest_crps_on_its_rows():
    G = tl.IDR().fit(Y, F).transform(F)
    true = tl.Samples(X[:, None] * np.random.default_rng(1).gamma(4.0, 0.25, size=(1, 500)))
    assert tl.crps(Y, G) < tl.crps(Y, true)
    q = G[np.argsort(X)].ppf([0.1, 0.5, 0.9])
    assert (np.diff(q, axis=0) >= 0).all()


def test_a_map_of_held_out_rows_covers_by_its_exact_law():
    """Of m fresh rows, the number up to the k-th of n scores is Beta-binomial(m, k, n + 1 - k).

    So the coverage of that quantile is Beta(k, n + 1 - k), whatever the IDR of the first rows has
    learned. The counts of 600 independent fits are compared with the law by a chi-squared test.
    """
    rng = np.random.default_rng(7)
    n_first, n, m, k, runs = 30, 19, 40, 18, 600
    counts = np.empty(runs, dtype=int)
    for run in range(runs):
        x = rng.normal(size=n_first + n + m)
        y = x + rng.standard_t(3, size=len(x)) * np.exp(0.5 * x)
        first, held, new = np.split(np.arange(len(x)), [n_first, n_first + n])
        R = tl.IDR().fit(y[first], tl.Point(x[first]))
        guard = tl.Isotonic(support=None).fit(y[held], R.transform(tl.Point(x[held])))
        G = guard.transform(R.transform(tl.Point(x[new])))
        counts[run] = (y[new] <= G.ppf(k / (n + 1))).sum()
    edges = [0, 31, 34, 36, 37, 38, 39, 40, 41]
    law = betabinom(m, k, n + 1 - k)
    expected = runs * np.diff(law.cdf(np.array(edges) - 1))
    observed = np.histogram(counts, edges)[0]
    assert chisquare(observed, expected * runs / expected.sum()).pvalue > 0.001


def test_smooth_quantiles_do_not_jump_and_cost_no_more_than_two_percent():
    rng = np.random.default_rng(1)
    x = rng.uniform(1.0, 5.0, size=4000)
    y, new = x * rng.gamma(4.0, 0.25, size=4000), tl.Point(x)
    steps, smooth = (tl.IDR(smooth=s).fit(Y, F).transform(new) for s in (False, True))
    assert tl.crps(y, smooth) < 1.02 * tl.crps(y, steps)
    q = np.linspace(0.02, 0.98, 385)
    jump, smooth_jump = (np.diff(G.ppf(q), axis=1) for G in (steps, smooth))
    assert smooth_jump.min() > 0.0
    assert np.median(smooth_jump.max(axis=1)) < 0.5 * np.median(jump.max(axis=1))
    assert tl.log_score(y, smooth) < tl.log_score(y, tl.Normal(x, 0.5 * x)) + 0.1


def test_counts_stay_counts():
    y = RNG.poisson(X)
    R = tl.IDR(smooth=True).fit(y, F)
    assert R.width_ == 0.0
    assert set(R.transform(F).ppf([0.1, 0.9]).ravel()) <= set(range(30))


def test_merged_maps_and_stored_maps_are_those_of_all_rows(tmp_path):
    w = RNG.uniform(0.1, 2.0, size=600)
    whole = tl.IDR(smooth=True).fit(Y, F, sample_weight=w)
    one, two = (tl.IDR(smooth=True).fit(Y[part], F[part], w[part]) for part in (X > 3, X <= 3))
    merged = one.merge(two)
    assert merged.to_json() == whole.to_json()
    assert merged.n_fit() == pytest.approx(w.sum() ** 2 / (w @ w))
    found = tl.load(whole.to_bytes(tmp_path / "map.bin"))
    assert (found.width_, found.n_fit()) == (whole.width_, whole.n_fit())
    np.testing.assert_array_equal(found.transform(F).ppf(0.3), whole.transform(F).ppf(0.3))


@pytest.mark.parametrize(
    "field, value, fault",
    [
        ("x", [2.0, 1.0], "the rows are not in the order of x and y"),
        ("y", [1.0], "y and values differ in length"),
        ("weights", [1.0, 0.0], "a weight is not above 0"),
        ("squares", 0.0, "squares is not above 0"),
        ("kind", "other", "the kind of score is 'other'"),
    ],
)
def test_an_edited_document_is_refused(tmp_path, field, value, fault):
    document = json.loads(tl.IDR().fit([1.0, 2.0], tl.Point([1.0, 2.0])).to_json())
    document["state"][field] = value
    (tmp_path / "map.json").write_text(signed(document))
    with pytest.raises(ValueError, match=fault):
        tl.load(tmp_path / "map.json")


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="smooth is 1; expected True or False"):
        tl.IDR(smooth=1).fit(Y, F)
    with pytest.raises(ValueError, match="IDR takes no groups"):
        tl.IDR().fit(Y, F, groups=["a"] * 600)
    with pytest.raises(ValueError, match=r"y\[0\] is nan; expected finite numbers"):
        tl.IDR().fit(np.full(600, np.nan), F)
    R = tl.IDR().fit(Y, F)
    with pytest.raises(ValueError, match="this IDR was fitted on 'residual' scores"):
        R.transform(tl.Normal(X, 1.0))
    with pytest.raises(ValueError, match=r"different scores \(residual and standardised\)"):
        R.merge(tl.IDR().fit(Y, tl.Normal(X, 1.0)))


def test_a_hundred_thousand_rows_take_less_than_five_seconds():
    rng = np.random.default_rng(2)
    x = rng.normal(size=100_000)
    y = x + rng.normal(size=100_000)
    start = time.process_time()
    R = tl.IDR().fit(y, tl.Point(x))
    assert time.process_time() - start < 5.0
    assert len(R.laws_.thresholds) == 1000
    assert len(R.laws_.levels) < 5 * len(x)  # blocks, not 1e8 values
