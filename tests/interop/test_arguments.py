"""Any forecast goes in wherever a forecast is expected."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import trueline as tl
from trueline.streams import Journal

RNG = np.random.default_rng(0)
N = 60
MEAN, STD = RNG.normal(size=N), RNG.uniform(0.5, 2.0, size=N)
Y = MEAN + STD * RNG.normal(size=N)
F = tl.Normal(MEAN, STD)
X, GROUPS = MEAN[:, None], np.repeat(["a", "b"], N // 2)

FORMS = {
    "tuple": (MEAN, STD),
    "dict": {"mean": MEAN, "std": STD},
    "frame": pd.DataFrame({"mean": MEAN, "std": STD}),
    "scipy": stats.norm(MEAN, STD),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "recalibrator, more",
    [
        (tl.Isotonic(), {}),
        (tl.Smooth(), {}),
        (tl.Auto(), {}),
        (tl.Grouped(), {"groups": GROUPS}),
        (tl.Conditional(random_state=0), {"X": X}),
        (tl.Online(), {}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_recalibrators_take_any_forecast(recalibrator, more, form):
    expected = recalibrator.fit(Y, F, **more).transform(F, **more).ppf([0.2, 0.8])
    found = recalibrator.fit(Y, FORMS[form], **more).transform(FORMS[form], **more)
    np.testing.assert_array_equal(found.ppf([0.2, 0.8]), expected)


def test_rows_that_come_in_parts_take_any_forecast(tmp_path):
    def learn(first, second):
        R = tl.Isotonic().partial_fit(Y[:30], first).partial_fit(Y[30:], second)
        online = tl.Online().update(Y[:30], first).update(Y[30:], second)
        return R.law_.ppf(np.array([0.3])), online.law_.ppf(np.array([0.3]))

    pairs = (MEAN[:30], STD[:30]), (MEAN[30:], STD[30:])
    np.testing.assert_array_equal(learn(*pairs), learn(F[:30], F[30:]))
    with Journal(tmp_path) as journal:
        journal.update(Y[:30], pairs[0]).update(Y[30:], pairs[1])
        found = journal.transform((1.0, 2.0)).median()
    online = tl.Online().update(Y[:30], F[:30]).update(Y[30:], F[30:])
    np.testing.assert_array_equal(found, online.transform(tl.Normal(1.0, 2.0)).median())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "metric", [tl.crps, tl.log_score, tl.calibration_error, tl.ence, tl.coverage, tl.evaluate]
)
def test_metrics_take_any_forecast(metric, form):
    assert repr(metric(Y, FORMS[form])) == repr(metric(Y, F))
    assert tl.sharpness(FORMS[form]) == tl.sharpness(F)


@pytest.mark.parametrize(
    "forecast",
    [*FORMS.values(), F, pd.DataFrame({"q0.1": MEAN, "q0.9": MEAN + STD})],
    ids=[*FORMS, "Normal", "quantiles"],
)
def test_swapped_arguments_are_named(forecast):
    with pytest.raises(TypeError) as caught:
        tl.evaluate(forecast, Y)
    assert str(caught.value) == (
        f"the arguments are swapped: outcomes come first, then the forecast: (y, dist). "
        f"Received a {type(forecast).__name__} as y and a ndarray as dist."
    )


def test_plain_numbers_are_not_guessed_at():
    assert tl.crps([3.0, 2.0], [1.0, 2.0]) == tl.crps([1.0, 2.0], [3.0, 2.0]) == 1.0
    assert tl.crps((3.0, 2.0), [1.0, 2.0]) == 1.0
    # A table as y is a wrong shape, not a forecast.
    with pytest.raises(ValueError, match=r"y has shape \(60, 2\); expected one number per row"):
        tl.crps(np.zeros((N, 2)), Y)


@pytest.mark.parametrize(
    "columns",
    [
        lambda frame: frame,
        lambda frame: (frame["mean"], frame["std"]),
        lambda frame: dict(frame.items()),
        lambda frame: frame["mean"],
    ],
    ids=["frame", "tuple", "dict", "series"],
)
@pytest.mark.parametrize("use", [tl.crps, lambda y, dist: tl.Isotonic().fit(y, dist)])
def test_labels_of_converted_forecasts_are_compared(use, columns):
    y = pd.Series(Y)
    forecast = columns(FORMS["frame"].sample(frac=1.0, random_state=0))
    with pytest.raises(ValueError, match=r"^y and dist have the same labels in another order"):
        use(y, forecast)


def test_levels_are_no_labels_of_rows():
    levels = pd.Series([0.1, 0.5, 0.9], index=["a", "b", "c"])
    y = pd.Series([0.0, 1.0, 2.0], index=["c", "b", "a"])
    values = np.add.outer(y.to_numpy(), [-1.0, 0.0, 1.0])
    assert tl.crps(y, {"levels": levels, "values": values}) > 0.0
