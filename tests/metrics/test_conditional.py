"""Coverage given the features: true forecasts pass, false ones are found where they are false."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom, chi2, norm

import trueline as tl
from trueline.features import _given_x


def two_widths(n, seed=0):
    """Rows of which those with x0 above 0.5 are twice as noisy, and a forecast of one width."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    scale = np.where(X[:, 0] > 0.5, 2.0, 1.0)
    return X, rng.normal(size=n) * scale, scale


@pytest.fixture
def quick(monkeypatch):
    """Leave out what does not decide whether a region is called off."""
    monkeypatch.setattr(
        _given_x, "held_out_chance", lambda _, event, *rest: np.full(len(event), 0.9)
    )
    monkeypatch.setattr(_given_x, "_DIRECTIONS", 1)


def is_rare_enough(times, n, p):
    return times <= binom.ppf(0.999, n, p)


def test_a_true_forecast_is_called_off_at_the_stated_rate_at_most(quick):
    off = 0
    for seed in range(200):
        X, y, scale = two_widths(400, seed)
        off += not tl.conditional_coverage(y, tl.Normal(np.zeros(400), scale), X).holds
    assert is_rare_enough(off, 200, 0.05)


def test_the_noise_of_a_map_is_no_fault_of_it(quick):
    off = naive = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y, X = rng.normal(size=460), rng.normal(size=(400, 2))
        F = tl.Isotonic().fit(y[:60], tl.Point(np.zeros(60))).transform(tl.Point(np.zeros(400)))
        off += not tl.conditional_coverage(y[60:], F, X).holds
        naive += not tl.conditional_coverage(y[60:], F, X, n_fit=1e9).holds
    assert is_rare_enough(off, 60, 0.05)
    assert not is_rare_enough(naive, 60, 0.05)


def test_true_forecasts_of_counts_are_not_called_off(quick):
    off = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        x = rng.uniform(size=400)
        draws = rng.poisson(np.where(x > 0.5, 3.0, 0.5)[:, None], size=(400, 100))
        off += not tl.conditional_coverage(draws[:, 0], tl.Samples(draws[:, 1:]), x).holds
    assert is_rare_enough(off, 100, 0.05)


def test_a_forecast_of_one_width_is_found_where_it_is_too_narrow():
    found = 0
    for seed in range(5):
        X, y, _ = two_widths(1000, seed)
        result = tl.conditional_coverage(y, tl.Normal(np.zeros(1000), 1.5), X)
        decisions = {r.rule.split(" and ")[0].split(" ")[0]: r.verdict.decision for r in result.off}
        narrow = [r.rule for r in result.off if r.verdict.decision == "too narrow"]
        found += bool(narrow) and all("x0 >" in rule or "< x0" in rule for rule in narrow)
        assert set(decisions) <= {"x0"}
    assert found == 5


def test_what_regions_cannot_name_ert_still_tells():
    X, y, scale = two_widths(400)
    true = tl.conditional_coverage(y, tl.Normal(np.zeros(400), scale), X)
    nothing = "No region was found in which 90% intervals do not hold"
    assert true.sentence == f"{nothing}."
    found = replace(true, ert=0.05, ert_error=0.01)
    assert found.sentence.startswith(f"{nothing}, but they do not hold for every x: ERT is 5 ")
    assert replace(found, ert=0.029).sentence == true.sentence
    # The coverage of a map of 400 rows has a standard deviation of 0.015 of its own.
    assert replace(found, n_fit=400).sentence == true.sentence
    assert replace(found, n_fit=4000).sentence != true.sentence


def test_ert_is_the_mean_distance_from_the_target():
    X, y, scale = two_widths(8000)
    found = tl.conditional_coverage(y, tl.Normal(np.zeros(8000), 1.4), X)
    given_x = 2.0 * norm.cdf(norm.ppf(0.95) * 1.4 / scale) - 1.0
    assert abs(found.ert - np.abs(given_x - 0.9).mean()) < 2.0 * found.ert_error
    # The learner is not perfect, so that these are lower bounds.
    l2 = np.mean((given_x - 0.9) ** 2)
    assert 0.8 * l2 < found.ert_l2 < l2 + 2.0 * found.ert_l2_error
    kl = np.mean(given_x * np.log(given_x / 0.9) + (1 - given_x) * np.log((1 - given_x) / 0.1))
    assert 0.8 * kl < found.ert_kl < kl + 2.0 * found.ert_kl_error
    assert abs(found.worst_slab - given_x.min()) < 3.0 * found.worst_slab_error


def test_errors_are_those_of_repeated_samples():
    results = []
    for seed in range(20):
        X, y, _ = two_widths(600, seed)
        results.append(tl.conditional_coverage(y, tl.Normal(np.zeros(600), 1.4), X))
    spread = np.std([r.ert for r in results], ddof=1)
    stated = np.mean([r.ert_error for r in results])
    low, high = np.sqrt(chi2.ppf([0.001, 0.999], 19) / 19)
    assert low < spread / stated < high


FRAME = {
    "size": [1.5, None, 3.0, -2.0] * 200,
    "place": (["north", "south", None, "west", "west"] * 160),
    "open": [True] * 400 + [False] * 400,
}


@pytest.mark.parametrize(
    "make",
    [
        dict,
        pd.DataFrame,
        pl.DataFrame,
        lambda c: pd.DataFrame(c).astype({"place": "category"}),
        lambda c: pd.DataFrame(c).astype({"place": "string", "size": "Float64"}),
        lambda c: pl.DataFrame(c).with_columns(pl.col("place").cast(pl.Categorical)),
    ],
    ids=["dict", "pandas", "polars", "pandas category", "pandas types", "polars category"],
)
def test_frames_of_all_kinds_mean_the_same(make):
    y = np.random.default_rng(0).normal(size=800)
    wide = np.tile([1.0, 1.0, 4.0, 1.0], 200)  # where size is 3
    found = tl.conditional_coverage(y * wide, tl.Normal(np.zeros(800), 1.0), make(FRAME))
    assert [region.rule for region in found.off] == ["size is 3"]
    assert found.ert > 0.05


def test_a_category_with_wild_rows_is_named():
    rng = np.random.default_rng(1)
    place = rng.choice(["north", "south", "east", "west"], size=2000)
    unique = [f"id {i}" for i in range(2000)]
    y = rng.normal(size=2000) * np.where(np.isin(place, ["north", "west"]), 3.0, 1.0)
    X = pd.DataFrame({"id": unique, "place": place, "noise": rng.normal(size=2000)})
    found = tl.conditional_coverage(y, tl.Normal(np.zeros(2000), 1.0), X)
    assert [region.rule for region in found.off] == ["place is 'north' or 'west'"]
    assert "too narrow where place is 'north' or 'west'" in found.sentence


def test_with_few_rows_nothing_is_learned():
    y = np.linspace(-1, 1, 99)
    found = tl.conditional_coverage(y, tl.Normal(np.zeros(99), 1.0), y)
    assert math.isnan(found.ert)
    assert math.isnan(found.worst_slab)
    assert [region.rule for region in found.regions] == ["all rows"]
    assert "99 rows are too few" in found.sentence
    assert math.isfinite(tl.conditional_coverage(y[:1], tl.Normal([0.0], 1.0), y[:1]).coverage)


@pytest.mark.parametrize("X", [np.zeros(300), np.full((300, 2), np.nan), ["a"] * 300])
def test_without_differences_in_x_all_rows_are_one_region(X):
    y = np.random.default_rng(0).normal(size=300)
    found = tl.conditional_coverage(y, tl.Normal(np.zeros(300), 1.0), X)
    assert [region.rule for region in found.regions] == ["all rows"]
    assert found.worst_slab == pytest.approx(found.regions[0].coverage)
    assert abs(found.ert) < 3.0 * found.ert_error


@pytest.mark.parametrize(
    "scale, inside, decision", [(100.0, 1.0, "too wide"), (1e-9, 0.0, "too narrow")]
)
def test_all_or_none_covered(scale, inside, decision):
    rng = np.random.default_rng(0)
    found = tl.conditional_coverage(
        rng.normal(size=400), tl.Normal(np.zeros(400), scale), rng.normal(size=400)
    )
    assert found.coverage == inside
    assert found.worst_slab == pytest.approx(inside)
    assert found.ert == pytest.approx(abs(inside - 0.9))
    assert found.ert_error < 1e-12
    assert [region.verdict.decision for region in found.regions] == [decision]
    assert "in all regions alike" in found.sentence


def test_rows_of_weight_zero_do_not_count():
    X, y, _ = two_widths(600)
    F = tl.Normal(np.zeros(600), 1.4)
    w = np.ones(600)
    w[400:] = 0.0
    some = tl.conditional_coverage(y[:400], F[:400], X[:400], sample_weight=w[:400])
    assert tl.conditional_coverage(y, F, X, sample_weight=w) == some
    # The same weight for all rows changes nothing but rounding.
    plain = tl.conditional_coverage(y[:400], F[:400], X[:400])
    assert some.ert == pytest.approx(plain.ert)
    assert [r.verdict for r in some.regions] == [r.verdict for r in plain.regions]


def test_weights_count():
    X, y, _ = two_widths(4000)
    w = np.where(X[:, 0] > 0.5, 9.0, 1.0)
    found = tl.conditional_coverage(y, tl.Normal(np.zeros(4000), 1.0), X, sample_weight=w)
    # Nine tenths of the weight are where the coverage is 2 Phi(0.82) - 1 = 0.59.
    expected = 0.9 * (0.9 - (2.0 * norm.cdf(norm.ppf(0.95) / 2.0) - 1.0))
    assert abs(found.ert - expected) < 3.0 * found.ert_error


def test_results_repeat_and_show():
    X, y, _ = two_widths(500)
    F = tl.Normal(np.zeros(500), 1.4)
    found = tl.conditional_coverage(y, F, X)
    assert found == tl.conditional_coverage(y, F, X)
    assert found != tl.conditional_coverage(y, F, X, random_state=1)
    text = json.loads(json.dumps(found.to_dict()))
    assert text["regions"][0]["decision"] == "too narrow"
    assert found.regions[0].rule in found._repr_html_().replace("&gt;", ">")
    assert repr(found).endswith(found.sentence)


@pytest.mark.parametrize(
    "X, forecast, coverage, message",
    [
        (
            np.zeros(99),
            tl.Normal(np.zeros(100), 1.0),
            0.9,
            r"X has a column 'x' of shape \(99,\) but y has 100 rows",
        ),
        (np.zeros((100, 1, 1)), tl.Normal(np.zeros(100), 1.0), 0.9, r"X has shape \(100, 1, 1\)"),
        (np.zeros((100, 0)), tl.Normal(np.zeros(100), 1.0), 0.9, "X has no columns"),
        (np.zeros(100), tl.Point(np.zeros(100)), 0.9, "points, which have no intervals"),
        (np.zeros(100), tl.Normal(np.zeros(100), 1.0), 90, "Write 90% as 0.9"),
    ],
)
def test_bad_input_is_refused(X, forecast, coverage, message):
    with pytest.raises(ValueError, match=message):
        tl.conditional_coverage(np.zeros(100), forecast, X, coverage)


def test_labels_in_another_order_are_refused():
    X = pd.DataFrame({"a": np.arange(100.0)}, index=np.arange(100)[::-1])
    y = pd.Series(np.zeros(100), index=np.arange(100))
    with pytest.raises(ValueError, match="same labels in another order"):
        tl.conditional_coverage(y, tl.Normal(np.zeros(100), 1.0), X)


def test_evaluate_has_it():
    X, y, _ = two_widths(500)
    F, w = tl.Normal(np.zeros(500), 1.4), np.linspace(0.0, 2.0, 500)
    found = tl.evaluate(y, F, X=X, coverage=0.8, sample_weight=w)
    assert found.conditional == tl.conditional_coverage(y, F, X, 0.8, sample_weight=w)
    assert repr(found).endswith(repr(found.conditional))
    assert found.conditional._repr_html_() in found._repr_html_()
    plain = tl.evaluate(y, F, coverage=0.8, sample_weight=w)
    extra = {"ert": found.conditional.ert, "worst_slab": found.conditional.worst_slab}
    assert found.to_dict() == plain.to_dict() | extra
    with pytest.raises(ValueError, match="X has a column"):
        tl.evaluate(y, F, X=X[:7])
