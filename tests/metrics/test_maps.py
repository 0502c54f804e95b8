"""The fitted map, read back."""

import warnings

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import t

import trueline as tl

RNG = np.random.default_rng(11)
N = 400
Y = RNG.normal(size=N)
F = tl.Normal(np.zeros(N), 0.5)

POOLED = [
    tl.Isotonic(),
    tl.Isotonic(finite_sample=False),
    tl.Smooth(),
    tl.BetaCalibration(),
    tl.Scaling(),
    tl.Auto(random_state=0),
]


def message(error, call, *args, **kwargs):
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    return str(caught.value)


@pytest.mark.parametrize("recalibrator", POOLED, ids=repr)
def test_the_curve_is_the_cdf_of_a_recalibrated_forecast(recalibrator):
    R = recalibrator.fit(Y, F)
    found = tl.recalibration_map(R)
    G = R.transform(tl.Normal([10.0], 2.0))
    np.testing.assert_allclose(G.cdf(10.0 + 2.0 * found.scores[None, :])[0], found.probabilities)
    np.testing.assert_allclose(found.base_probabilities, ndtr(found.scores))
    assert (np.diff(found.probabilities) > 0).all()
    assert (np.diff(found.scores) >= 0).all()
    assert found.probabilities[0] < 0.0011
    assert found.probabilities[-1] > 0.998
    assert (found.kind, found.n) == ("standardised", N)


@pytest.mark.parametrize("recalibrator", POOLED, ids=repr)
def test_knots_lie_on_the_curve(recalibrator):
    R = recalibrator.fit(Y, F)
    found = tl.recalibration_map(R)
    assert found.n_knots == len(getattr(R.law_, "knots", []))
    assert found.knots.size == 100 if type(R) is tl.Isotonic else found.knots.size < 100
    np.testing.assert_allclose(R.law_.cdf(found.knots), found.knot_probabilities, rtol=1e-12)
    np.testing.assert_allclose(found.knot_base_probabilities, ndtr(found.knots))


def test_few_knots_are_all_there():
    y, point = [1.0, 2.0, 4.0], tl.Point([0.0, 0.0, 0.0])
    for finite_sample, heights in ((True, [0.25, 0.5, 0.75]), (False, [1 / 3, 2 / 3, 1.0])):
        found = tl.recalibration_map(tl.Isotonic(finite_sample=finite_sample).fit(y, point))
        np.testing.assert_array_equal(found.knots, y)
        np.testing.assert_allclose(found.knot_probabilities, heights)
        assert found.base_probabilities is found.knot_base_probabilities is None
        assert found.kind == "residual"
        np.testing.assert_allclose(found.supported, [heights[0], heights[-1]])


def test_a_jump_is_two_points_with_one_score():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ties are meant
        R = tl.Isotonic(support=None).fit(np.repeat([0.0, 1.0], 50), tl.Point(np.zeros(100)))
    found = tl.recalibration_map(R)
    at_one = found.probabilities[found.scores == 1.0]
    np.testing.assert_allclose([at_one.min(), at_one.max()], [51 / 101, 100 / 101])


def test_a_map_of_many_rows_is_small_and_leaves_outliers_out():
    y = np.append(RNG.normal(size=200_000), 1e9)
    found = tl.recalibration_map(tl.Isotonic().fit(y, tl.Point(np.zeros(y.size))))
    assert found.scores.size <= 400
    assert found.knots.size == 100
    assert found.n_knots == 200_001
    assert found.scores[-1] < 10
    assert found.knots[-1] < 10


def test_probabilities_of_another_forecast():
    student = tl.StudentT(np.zeros(N), 1.0, 3.0)
    found = tl.recalibration_map(tl.Isotonic().fit(Y, student), dist=student)
    np.testing.assert_allclose(found.base_probabilities, t.cdf(found.scores, 3.0))


def test_normal_scores_are_probabilities_of_any_forecast():
    samples = tl.Samples(RNG.normal(size=(N, 9)))
    found = tl.recalibration_map(tl.Isotonic().fit(Y, samples), dist=samples)
    assert found.kind == "normal score"
    np.testing.assert_allclose(found.base_probabilities, ndtr(found.scores))


def test_groups_have_their_own_map():
    groups = np.repeat(["calm", "wild"], N // 2)
    y = Y * np.where(groups == "wild", 4.0, 1.0)
    R = tl.Grouped().fit(y, F, groups=groups)
    calm, wild, pooled = (tl.recalibration_map(R, group=g) for g in ("calm", "wild", None))
    assert np.ptp(calm.scores) < np.ptp(pooled.scores) < np.ptp(wild.scores)
    assert (calm.n, wild.n, pooled.n) == (N / 2, N / 2, N)
    # Scores that the group shares with those it borrows are jumps, which a level may lie within.
    law = R.law("wild")
    assert (law.cdf_left(wild.scores) <= wild.probabilities + 1e-12).all()
    assert (law.cdf(wild.scores) >= wild.probabilities - 1e-12).all()


# ---- bad input ---------------------------------------------------------------------------


def test_messages():
    R = tl.Isotonic().fit(Y, F)
    assert message(TypeError, tl.recalibration_map, F) == (
        "recalibrator is of type Normal; expected a fitted Recalibrator. That of a "
        "CalibratedRegressor is its recalibrator_."
    )
    assert message(ValueError, tl.recalibration_map, tl.Isotonic()) == (
        "Isotonic is not fitted: call fit(y, dist) first."
    )
    assert message(ValueError, tl.recalibration_map, R, group="calm") == (
        "group is 'calm', but Isotonic has one map for all rows; expected None."
    )
    assert message(ValueError, tl.recalibration_map, R, dist=tl.Point([0.0])) == (
        "this Isotonic was fitted on 'standardised' scores (Normal, StudentT, Laplace, Logistic), "
        "but a Point has 'residual' scores. Fit a map on forecasts of the same kind."
    )
    grouped = tl.Grouped().fit(Y, F, groups=np.repeat(["a", "b"], N // 2))
    assert message(ValueError, tl.recalibration_map, grouped, group="c") == (
        "group is 'c'; expected one of ['a', 'b']."
    )
    conditional = tl.Conditional(random_state=0).fit(Y, F, X=Y[:, None])
    assert message(TypeError, tl.recalibration_map, conditional) == (
        "a Conditional has no single map: it differs from row to row. Draw its forecasts "
        "instead, with CalibrationDisplay or PITDisplay."
    )
