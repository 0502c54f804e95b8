"""Auto picks the candidate that predicts held-out scores best, the same one every time."""

import numpy as np
import pytest

import trueline as tl

POINT = tl.Point(np.zeros(3000))


def normal():
    return np.random.default_rng(0).normal(2.0, 3.0, size=3000)


def skewed():
    return np.random.default_rng(0).lognormal(0.0, 1.0, size=3000)


def two_peaks():
    rng = np.random.default_rng(0)
    return np.where(rng.random(3000) < 0.4, -5.0, 5.0) + rng.normal(size=3000)


def test_normal_scores_need_two_parameters():
    auto = tl.Auto().fit(normal(), POINT)
    assert repr(auto.best_) in ("Scaling()", "BetaCalibration()")
    table = auto.crps_
    assert min(table, key=table.get) == repr(auto.best_)
    # Where the two-parameter map is right, the others cost next to nothing.
    assert max(table.values()) < 1.01 * min(table.values())


def test_scaling_wins_over_coarser_maps_on_few_normal_rows():
    wins = 0
    for seed in range(20):
        y = np.random.default_rng(seed).normal(size=40)
        auto = tl.Auto([tl.Scaling(), tl.Isotonic()]).fit(y, tl.Point(np.zeros(40)))
        wins += repr(auto.best_) == "Scaling()"
    assert wins >= 15


@pytest.mark.parametrize("scores", [skewed, two_peaks])
def test_other_shapes_need_more(scores):
    auto = tl.Auto().fit(scores(), POINT)
    assert repr(auto.best_) in ("Smooth()", "Isotonic()")
    assert auto.crps_[repr(auto.best_)] < 0.999 * auto.crps_["Scaling()"]


def test_the_map_is_that_of_the_best_candidate_on_all_rows():
    y = skewed()
    auto = tl.Auto().fit(y, POINT)
    best = auto.best_.fit(y, POINT)
    at = np.linspace(-1.0, 8.0, 20)[None, :]
    np.testing.assert_array_equal(
        auto.transform(tl.Point(0.0)).cdf(at), best.transform(tl.Point(0.0)).cdf(at)
    )


def test_every_candidate_has_its_crps_in_the_unit_of_the_score():
    y = normal()
    auto = tl.Auto().fit(y, POINT)
    assert list(auto.crps_) == ["Scaling()", "BetaCalibration()", "Smooth()", "Isotonic()"]
    # The CRPS of a normal law at its own draws is its scale / sqrt(pi) on average.
    np.testing.assert_allclose(list(auto.crps_.values()), 3.0 / np.sqrt(np.pi), rtol=0.05)


@pytest.mark.parametrize("scores", [normal, skewed, two_peaks])
def test_the_choice_depends_on_the_rows_and_not_on_their_order(scores):
    y = scores()
    first = tl.Auto().fit(y, POINT)
    for order in (np.argsort(y), np.random.default_rng(1).permutation(3000)):
        again = tl.Auto().fit(y[order], POINT)
        assert repr(again.best_) == repr(first.best_)
        assert again.crps_ == first.crps_


def test_the_seed_changes_the_folds():
    y = normal()
    first, second = (tl.Auto(random_state=seed).fit(y, POINT).crps_ for seed in (0, 1))
    assert first != second
    np.testing.assert_allclose(list(first.values()), list(second.values()), rtol=0.01)


def test_ties_go_to_the_earlier_candidate():
    auto = tl.Auto([tl.Smooth(n_knots=5), tl.Smooth(n_knots=5), tl.Isotonic()], cv=2)
    auto.fit(skewed(), POINT)
    candidates = auto.candidates
    assert auto.best_ in (candidates[0], candidates[2])
    one_row = tl.Auto([tl.BetaCalibration(), tl.Isotonic()]).fit([1.0], tl.Point(0.0))
    assert one_row.best_ is one_row.candidates[0]


def test_refit_chooses_again():
    auto = tl.Auto().fit(skewed(), POINT)
    before = repr(auto.best_)
    auto.fit(normal(), POINT)
    assert repr(auto.best_) != before


def test_before_fit_there_is_no_choice():
    for name in ("best_", "crps_", "law_"):
        with pytest.raises(tl.NotFittedError, match="Auto is not fitted"):
            getattr(tl.Auto(), name)
