"""All diagnostics at once are the single ones."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import norm

import trueline as tl
from trueline.metrics import Evaluation, _evaluate
from trueline.metrics._atoms import AtomSums


def one_by_one(y, F, coverage, levels, w, n_fit):
    """The same numbers, each from its own function."""
    lower, upper = F.interval(coverage)
    n_effective = y.size if w is None else w.sum() ** 2 / np.sum(w**2)
    test = tl.calibration_test(y, F, sample_weight=w, n_fit=n_fit)
    inside = F._interval_mass(coverage, lower, upper)
    return {
        "n": y.size,
        "calibration_error": tl.calibration_error(y, F, levels, sample_weight=w),
        "calibration_floor": tl.calibration_floor(n_effective, n_fit, levels),
        "p_value": test.p_value,
        "coverage": tl.coverage(y, F, coverage, sample_weight=w),
        "coverage_target": coverage,
        "coverage_expected": np.average(inside, weights=w),
        "interval_width": np.average(upper - lower, weights=w),
        "interval_score": tl.interval_score(y, F, coverage, sample_weight=w),
        "crps": tl.crps(y, F, sample_weight=w),
        "log_score": tl.log_score(y, F, sample_weight=w),
        "sharpness": tl.sharpness(F, sample_weight=w),
        "ence": tl.ence(y, F, sample_weight=w),
        "mae": np.average(np.abs(y - F.median()), weights=w),
        "rmse": np.sqrt(np.average((y - F.mean()) ** 2, weights=w)),
    }


@pytest.mark.parametrize("block", [7, 1 << 14], ids=["many blocks", "one block"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_each_value_is_that_of_its_own_function(case, block, weighted, monkeypatch):
    monkeypatch.setattr(_evaluate, "_BLOCK", block)
    y, F = case
    w = np.random.default_rng(5).integers(0, 4, size=y.size).astype(float) if weighted else None
    levels = [0.1, 0.5, 0.75]
    result = tl.evaluate(y, F, coverage=0.8, levels=levels, sample_weight=w, n_fit=50)
    expected = one_by_one(y, F, 0.8, levels, w, 50)
    assert result.to_dict().keys() == expected.keys()
    for name, value in result.to_dict().items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-12, err_msg=name)


def test_the_defaults_are_those_of_the_functions(case):
    y, F = case
    result = tl.evaluate(y, F)
    for name, value in one_by_one(y, F, 0.9, None, None, result.n_fit).items():
        np.testing.assert_allclose(getattr(result, name), value, rtol=1e-12, err_msg=name)


def test_a_recalibrated_forecast_knows_the_rows_of_its_fit():
    y, F = np.linspace(-2.0, 2.0, 80), tl.Normal(np.zeros(80), 0.5)
    for R in (tl.Isotonic(), tl.Smooth(), tl.Auto(), tl.Online(half_life=np.inf)):
        G = R.fit(y, F).transform(F)
        assert tl.evaluate(y, G).n_fit == tl.evaluate(y[:40], G[:40]).n_fit == 80
        assert tl.evaluate(y, G) == tl.evaluate(y, G, n_fit=R.n_fit())
        assert tl.evaluate(y, G, n_fit=5).n_fit == 5
    assert tl.evaluate(y, F).n_fit is None


def test_no_value_is_nan(case):
    y, F = case
    assert not any(np.isnan(value) for value in tl.evaluate(y, F).to_dict().values())


@pytest.mark.parametrize("df", [0.5, 1.0, 1.5])
def test_no_value_is_nan_without_moments(df):
    result = tl.evaluate([0.0, 1.0, 5.0], tl.StudentT([0.0, 1.0, 1.0], 1.0, df))
    assert not any(np.isnan(value) for value in result.to_dict().values())
    assert result.sharpness == np.inf


def test_hits_and_misses_of_a_point_in_different_blocks(monkeypatch):
    monkeypatch.setattr(_evaluate, "_BLOCK", 1)
    assert tl.evaluate([0.0, 5.0], tl.Point([0.0, 0.0])).log_score == np.inf


def test_values_are_plain_numbers(three):
    result = tl.evaluate(*three)
    assert type(result.n) is int
    types = {type(value) for name, value in result.to_dict().items() if name != "n"}
    assert types == {float}


def test_it_is_frozen_and_comparable(three):
    result = tl.evaluate(*three)
    assert isinstance(result, Evaluation)
    assert result == tl.evaluate(*three)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.crps = 0.0


def test_outcomes_and_forecast_are_left_as_they_were(case):
    y, F = case
    before = y.copy(), F.ppf(0.3)
    tl.evaluate(y, F)
    np.testing.assert_array_equal(y, before[0])
    np.testing.assert_array_equal(F.ppf(0.3), before[1])


def test_columns_of_the_table_are_aligned(case):
    found = tl.evaluate(*case)
    lines = repr(found).splitlines()
    assert lines[0] == "Evaluation of 60 rows"
    assert lines[12:] == str(found.verdict).splitlines()
    names = [line[2:20].strip() for line in lines[1:12]]
    assert names == [
        "calibration error",
        "p-value",
        "coverage",
        "interval width",
        "interval score",
        "CRPS",
        "log score",
        "sharpness",
        "ENCE",
        "MAE",
        "RMSE",
    ]
    for line in lines[1:12]:
        float(line[20:30])


def test_the_hint_of_a_true_forecast():
    y = np.random.default_rng(1).normal(size=2000)
    result = tl.evaluate(y, tl.Normal(np.zeros(2000), 1.0))
    expected = "Calibration error below twice its floor: no more to win there, CRPS decides."
    assert repr(result).splitlines()[-1] == expected


def test_the_hint_of_an_overconfident_forecast():
    y = np.random.default_rng(1).normal(size=2000)
    result = tl.evaluate(y, tl.Normal(np.zeros(2000), 0.1))
    ratio = result.calibration_error / result.calibration_floor
    expected = f"Calibration error {ratio:.3g} times its floor: recalibrate on held-out rows."
    assert repr(result).splitlines()[-1] == expected


def test_the_hint_of_a_recalibrated_forecast_whose_rows_changed():
    y = np.random.default_rng(1).normal(size=2000)
    result = tl.evaluate(y, tl.Normal(np.zeros(2000), 0.1), n_fit=1000)
    assert repr(result).endswith(
        " times its floor: recalibrate on more rows, or rows more like these."
    )


def test_the_hint_where_chance_can_explain_the_error():
    y = np.append(np.linspace(-1.5, 0.0, 18), np.linspace(0.05, 1.6, 32))
    result = tl.evaluate(y, tl.Normal(np.zeros(50), 1.0), levels=[0.5])
    assert result.calibration_error > 2.0 * result.calibration_floor
    assert result.p_value >= 0.01
    ratio = result.calibration_error / result.calibration_floor
    assert repr(result).splitlines()[-1] == (
        f"Calibration error {ratio:.3g} times its floor, which chance can explain "
        f"(p = {result.p_value:.2g}, 0.01 or more)."
    )


def test_a_true_forecast_is_seldom_told_to_recalibrate():
    rng = np.random.default_rng(0)
    F = tl.Normal(np.zeros(100), 1.0)
    hints = [repr(tl.evaluate(y, F)).splitlines()[-1] for y in rng.normal(size=(400, 100))]
    told = sum("recalibrate" in hint for hint in hints)
    explained = sum("chance can explain" in hint for hint in hints)
    # At most 1% by the p-value: 4 in 400, with a standard error of 2.
    assert told <= 10
    assert explained > 20


def test_one_row_is_a_row():
    assert repr(tl.evaluate([0.0], tl.Normal([0.0], 1.0))).startswith("Evaluation of 1 row\n")


def test_without_a_floor_there_is_no_hint():
    result = tl.evaluate([-1.0, 1.0], tl.Point([0.0, 0.0]), levels=[0.0, 1.0])
    assert result.calibration_floor == 0.0
    assert result.verdict.calibration.sentence == ""
    assert repr(result).splitlines()[-1].startswith("Point forecasts have no intervals")


def test_outcomes_and_scales_at_the_ends_of_the_number_line():
    F = tl.Normal([0.0, 0.0, 1e150], [1e-100, 1e200, 1e-6])
    result = tl.evaluate([1e150, -1e160, 0.0], F)
    assert not any(np.isnan(value) for value in result.to_dict().values())


def test_a_handful_of_rows_is_not_called_calibrated():
    calm = norm.ppf((np.arange(50) + 0.5) / 50)
    few = repr(tl.evaluate(calm[1:], tl.Normal(np.zeros(49), 1.0))).splitlines()[-1]
    assert few == "Too few rows to tell chance from miscalibration."
    more = repr(tl.evaluate(calm, tl.Normal(np.zeros(50), 1.0))).splitlines()[-1]
    assert more == "Calibration error below twice its floor: no more to win there, CRPS decides."


def many_groups(n=4000, groups=10):
    """Forecasts that were recalibrated by one map a group."""
    rng = np.random.default_rng(0)
    loc, group = rng.normal(size=n), rng.integers(groups, size=n)
    y = loc + rng.normal(size=n) * (1.0 + group)
    F = tl.Normal(loc, 0.5)
    return y, tl.Grouped().fit(y, F, groups=group).transform(F, groups=group)


def test_a_forecast_with_many_maps_is_that_of_its_rows(monkeypatch):
    y, G = many_groups()
    whole = tl.evaluate(y, G)
    assert whole.n_fit == len(y)
    for name, value in one_by_one(y, G, 0.9, None, None, len(y)).items():
        np.testing.assert_allclose(getattr(whole, name), value, rtol=1e-12, err_msg=name)
    # However the rows are cut.
    monkeypatch.setattr(_evaluate, "_BLOCK", 64)
    monkeypatch.setattr(_evaluate, "_STACK", 64 * 7)
    for name, value in tl.evaluate(y, G).to_dict().items():
        np.testing.assert_allclose(value, whole.to_dict()[name], rtol=1e-12, err_msg=name)


def test_each_of_many_maps_is_asked_once_for_all_of_its_rows(monkeypatch):
    y, G = many_groups()
    monkeypatch.setattr(_evaluate, "_BLOCK", 512)
    calls = []
    kind = type(G.parts[0])
    real = kind._quantiles
    monkeypatch.setattr(kind, "_quantiles", lambda self, q: calls.append(q) or real(self, q))
    _evaluate.one_pass(y, G, None, 0.9, np.random.default_rng(0), AtomSums())
    assert len(calls) == 3 * len(G.parts)  # two ends and a median each


@pytest.mark.parametrize("n", [100, 5000])
def test_scipy_stats_is_not_imported(n):
    # It takes longer to import than these rows take to evaluate.
    code = f"""
import sys, numpy as np, trueline as tl
y = np.random.default_rng(0).normal(size={n})
F = tl.Normal(np.zeros(y.size), 0.5)
for R in (tl.Isotonic(), tl.Scaling(), tl.Smooth(), tl.BetaCalibration()):
    repr(tl.evaluate(y, R.fit(y, F).transform(F)))
repr(tl.evaluate(y, F))
assert "scipy.stats" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_table_of_a_notebook_holds_the_numbers_and_the_verdict():
    rng = np.random.default_rng(0)
    y, F = rng.poisson(2.0, size=400), tl.Normal(np.full(400, 2.0), 1.4)
    found = tl.evaluate(y, tl.Isotonic().fit(y, F).transform(F))
    html = found._repr_html_()
    for _, value, note in found._lines():
        assert f">{value:.4g}</td>" in html
        assert note in html
    assert found.verdict._repr_html_() in html
    assert found.verdict.calibration.sentence in found.verdict._repr_html_()
    assert all(f">{atom.value:.6g}</th>" in html for atom in found._shown_atoms()[0])
