"""Forecasts that go out to skpro: its own checks, and its metrics."""

import warnings

import numpy as np
import pytest

import trueline as tl
from trueline.interop import to_skpro

pd = pytest.importorskip("pandas")
skpro = pytest.importorskip("skpro")

from skpro.metrics import CRPS, LogLoss, PinballLoss  # noqa: E402
from skpro.utils import check_estimator  # noqa: E402

RNG = np.random.default_rng(0)
LOC = RNG.normal(size=60)
Y = LOC + 2.0 * RNG.normal(size=60)
INDEX = pd.date_range("2026-01-01", periods=60)
TABLE = pd.DataFrame({"y": Y}, index=INDEX)


def recalibrated(method):
    F = tl.Normal(LOC, 1.0)
    return method.fit(Y, F).transform(F)


FORECASTS = {
    "isotonic": recalibrated(tl.Isotonic()),
    "smooth": recalibrated(tl.Smooth()),
    "mixture": tl.Mixture([tl.Normal(LOC, 1.0), tl.Normal(LOC + 1.0, 2.0)]),
    "student t": tl.StudentT(LOC, 1.0, 400.0),
    "quantiles": tl.Quantiles([0.1, 0.5, 0.9], LOC[:, None] + [-2.0, 0.0, 3.0]),
    "samples": tl.Samples(LOC[:, None] + RNG.normal(size=30)),
    "normal": tl.Normal(LOC, 1.0),
}


def failures(results):
    return {name: result for name, result in results.items() if result != "PASSED"}


@pytest.mark.filterwarnings("ignore")  # the checks ask for what skpro approximates, and say so
def test_the_class_passes_skpros_checks():
    from trueline.interop._skpro.skpro_class import SkproDistribution

    np.random.seed(0)
    results = check_estimator(SkproDistribution, verbose=False)
    assert len(results) > 100
    assert failures(results) == {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["isotonic", "smooth", "mixture"])
def test_recalibrated_forecasts_pass_skpros_checks(name):
    np.random.seed(0)
    dist = to_skpro(FORECASTS[name][:4], index=["a", "b", "c", "d"], columns=["y"])
    results = check_estimator(dist, verbose=False)
    assert len(results) > 30
    assert failures(results) == {}


@pytest.mark.parametrize("name", FORECASTS)
def test_skpros_crps_is_ours(name):
    F = FORECASTS[name]
    dist = to_skpro(F, index=INDEX, columns=["y"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a sample instead of a formula is announced by a warning
        found = CRPS()(TABLE, dist)
    np.testing.assert_allclose(found, tl.crps(Y, F), rtol=1e-9)


@pytest.mark.parametrize("name", [name for name in FORECASTS if name != "samples"])
def test_skpros_log_loss_is_ours(name):
    F = FORECASTS[name]
    found = LogLoss()(TABLE, to_skpro(F, index=INDEX, columns=["y"]))
    np.testing.assert_allclose(found, tl.log_score(Y, F), rtol=1e-9)


@pytest.mark.parametrize("name", FORECASTS)
def test_skpros_pinball_loss_of_the_quantiles_is_ours(name):
    F = FORECASTS[name]
    levels = [0.1, 0.5, 0.9]
    quantiles = to_skpro(F, index=INDEX, columns=["y"]).quantile(levels)
    found = PinballLoss(score_average=False)(TABLE, quantiles)
    expected = [tl.pinball_loss(Y, F, level) for level in levels]
    np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-9)


@pytest.mark.parametrize("name", FORECASTS)
def test_it_comes_in_again_as_it_was(name):
    F = FORECASTS[name]
    back = tl.as_distribution(to_skpro(F, index=INDEX, columns=["y"]))
    assert type(back) is type(F)
    np.testing.assert_array_equal(back.cdf(Y), F.cdf(Y))
