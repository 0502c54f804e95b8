"""GluonTS: forecasts of samples and of quantiles, one and several."""

import numpy as np
import pytest

import trueline as tl

gluonts = pytest.importorskip("gluonts")
import pandas as pd  # noqa: E402
from gluonts.model.forecast import QuantileForecast, SampleForecast  # noqa: E402

START = pd.Period("2024-01-01", freq="D")
STEPS = 5


def samples(seed, steps=STEPS, draws=200):
    rng = np.random.default_rng(seed)
    array = (np.arange(steps) + rng.normal(size=(draws, steps))).astype(np.float32)
    return SampleForecast(array, START, item_id=f"series {seed}")


def quantiles(seed, keys=("0.9", "mean", "0.1", "0.5")):
    rng = np.random.default_rng(seed)
    values = {key: np.arange(STEPS) + rng.random() for key in keys}
    order = {"0.1": -1.0, "mean": 0.1, "0.5": 0.0, "0.9": 1.5}
    array = np.stack([values["mean" if "mean" in values else key] + order[key] for key in keys])
    return QuantileForecast(array, START, list(keys), item_id=f"series {seed}")


def test_samples_are_rows_of_steps():
    theirs = samples(0)
    F = tl.as_distribution(theirs)
    assert isinstance(F, tl.Samples)
    assert len(F) == STEPS
    assert F.draws.shape == (STEPS, 200)
    np.testing.assert_allclose(F.mean(), theirs.mean, rtol=1e-5)
    for level in (0.1, 0.5, 0.9):
        # GluonTS takes the nearest draw, trueline the smallest with at least that share.
        position = np.searchsorted(np.sort(theirs.samples[:, 2]), F.ppf(level)[2])
        assert abs(position - round(199 * level)) <= 1
        np.testing.assert_allclose(F.ppf(level), theirs.quantile(level), atol=0.1)
    np.testing.assert_array_equal(tl.as_distribution(theirs, kind="samples").draws, F.draws)


def test_quantiles_at_their_levels_without_the_mean():
    theirs = quantiles(0)
    F = tl.as_distribution(theirs)
    assert isinstance(F, tl.Quantiles)
    np.testing.assert_array_equal(F.levels, [0.1, 0.5, 0.9])
    for level in F.levels:
        np.testing.assert_array_equal(F.ppf(level), theirs.quantile(level))


@pytest.mark.parametrize("container", [list, tuple])
@pytest.mark.parametrize("make", [samples, quantiles])
def test_several_series_one_after_the_other(make, container):
    theirs = [make(0), make(1), make(2)]
    F = tl.as_distribution(container(theirs))
    assert len(F) == 3 * STEPS
    for i, one in enumerate(theirs):
        rows = slice(i * STEPS, (i + 1) * STEPS)
        np.testing.assert_array_equal(F[rows].median(), tl.as_distribution(one).median())


def test_the_order_of_keys_may_differ_between_series():
    both = [quantiles(0), quantiles(1, ("0.1", "0.5", "0.9", "mean"))]
    F = tl.as_distribution(both)
    np.testing.assert_array_equal(F[STEPS:].ppf(0.9), both[1].quantile(0.9))


def test_series_of_different_length():
    assert len(tl.as_distribution([samples(0, steps=3), samples(1, steps=4)])) == 7


@pytest.mark.parametrize(
    "obj, error, expected",
    [
        ([samples(0), quantiles(0)], TypeError, "expected forecasts of one class"),
        ([samples(0), samples(1, draws=50)], ValueError, "forecast 1 has 50 draws but forecast 0"),
        ([quantiles(0), quantiles(1, ("0.1", "0.9"))], ValueError, "forecast 1 has levels"),
        (
            SampleForecast(np.zeros((10, STEPS, 2)), START),
            ValueError,
            r"shape \(10, 5, 2\).*copy_dim",
        ),
        ((f for f in [samples(0)]), TypeError, r"obj is a generator.*list\(obj\)"),
    ],
)
def test_what_is_refused_says_why(obj, error, expected):
    with pytest.raises(error, match=expected):
        tl.as_distribution(obj)


def test_a_kind_that_it_is_not():
    with pytest.raises(TypeError, match=r"but obj is a gluonts\.SampleForecast"):
        tl.as_distribution(samples(0), kind="quantiles")


def test_what_a_predictor_returns():
    from gluonts.dataset.common import ListDataset
    from gluonts.model.seasonal_naive import SeasonalNaivePredictor

    series = [{"start": START, "target": np.arange(30.0) + i} for i in range(2)]
    predictor = SeasonalNaivePredictor(prediction_length=4, season_length=7)
    forecasts = list(predictor.predict(ListDataset(series, freq="D")))
    F = tl.as_distribution(forecasts)
    assert len(F) == 8
    expected = np.concatenate([f.mean for f in forecasts])
    np.testing.assert_allclose(F.mean(), expected)
