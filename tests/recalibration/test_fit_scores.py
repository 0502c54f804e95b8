"""A map is learned from scores as it is from the outcomes that have them."""

import re

import numpy as np
import pytest

import trueline as tl
from trueline.recalibration import ScoreRows

RECALIBRATORS = [tl.Isotonic(), tl.Smooth(), tl.BetaCalibration(), tl.Scaling(), tl.Auto()]
N = 200
RNG = np.random.default_rng(0)
Y, LOC, SCALE = RNG.normal(size=N), RNG.normal(size=N), RNG.uniform(0.5, 2.0, size=N)
W = RNG.integers(0, 3, size=N).astype(float)
GROUPS = np.repeat(["a", "b"], N // 2)


@pytest.mark.parametrize("weights", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("recalibrator", RECALIBRATORS, ids=repr)
def test_the_same_map_as_fit_to_the_last_bit(recalibrator, weights):
    fitted = recalibrator._unfitted_copy().fit(Y, tl.Normal(LOC, SCALE), weights)
    scores = (Y - LOC) / SCALE
    learned = recalibrator._unfitted_copy().fit_scores(scores, sample_weight=weights)
    assert learned.to_json() == fitted.to_json()


def test_the_same_maps_per_group():
    fitted = tl.Grouped().fit(Y, tl.Point(LOC), W, groups=GROUPS)
    learned = tl.Grouped().fit_scores(Y - LOC, W, GROUPS, kind="residual")
    assert learned.to_json() == fitted.to_json()


@pytest.mark.parametrize("recalibrator", [tl.Isotonic(), tl.Grouped()], ids=repr)
def test_equal_ends_are_as_one_score_and_arguments_are_left_alone(recalibrator):
    groups = GROUPS if recalibrator.needs_groups else None
    scores, upper = Y.copy(), Y.copy()
    one = recalibrator._unfitted_copy().fit_scores(scores, groups=groups)
    two = recalibrator._unfitted_copy().fit_scores(scores, groups=groups, upper=upper)
    assert one.to_json() == two.to_json()
    np.testing.assert_array_equal(scores, Y)
    np.testing.assert_array_equal(upper, Y)


@pytest.mark.parametrize("kind", ["standardised", "residual", "normal score"])
def test_the_kind_decides_what_the_map_transforms(kind):
    R = tl.Isotonic().fit_scores(Y, kind=kind)
    forecasts = {
        "standardised": tl.Normal(0.0, 1.0),
        "residual": tl.Point(0.0),
        "normal score": tl.Samples([[0.0, 1.0, 2.0]]),
    }
    assert np.isfinite(R.transform(forecasts.pop(kind)).median()).all()
    for other in forecasts.values():
        with pytest.raises(ValueError, match=f"was fitted on '{kind}' scores"):
            R.transform(other)


@pytest.mark.parametrize(
    "error, message, args, given",
    [
        (ValueError, "scores[1] is nan; expected finite numbers", [[0.0, np.nan]], {}),
        (ValueError, "scores[0] is inf; expected finite numbers", [[np.inf]], {}),
        (ValueError, "scores is empty; expected at least one row.", [[]], {}),
        (TypeError, "scores holds strings; expected real numbers.", [["a"]], {}),
        (ValueError, "upper has 1 rows but scores has 2; expected", [[0.0, 1.0]], {"upper": [0.0]}),
        (
            ValueError,
            "scores[1] is 1.0 and upper[1] is nan; expected an upper end that is not below",
            [[0.0, 1.0]],
            {"upper": [0.0, np.nan]},
        ),
        (
            ValueError,
            (
                "scores[0] is inf and upper[0] is inf; expected an upper end that is not below the "
                "lower one, and finite ends where both are equal."
            ),
            [[np.inf]],
            {"upper": [np.inf]},
        ),
        (
            ValueError,
            "scores[0] is 1.0 and upper[0] is 0.0; expected an upper end that is not below",
            [[1.0]],
            {"upper": [0.0]},
        ),
        (
            ValueError,
            "sample_weight has 1 rows but scores has 2; expected the same number.",
            [[0.0, 1.0]],
            {"sample_weight": [1.0]},
        ),
        (ValueError, "sample_weight[0] is -1.0; expected", [[0.0]], {"sample_weight": [-1.0]}),
        (
            ValueError,
            "kind is 'pit'; expected one of 'standardised', 'residual', 'normal score'.",
            [[0.0]],
            {"kind": "pit"},
        ),
        (ValueError, "Isotonic fits one map for all rows", [[0.0]], {"groups": ["a"]}),
    ],
)
def test_bad_input(error, message, args, given):
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        tl.Isotonic().fit_scores(*args, **given)


def test_groups_are_needed_where_there_is_a_map_per_group():
    with pytest.raises(ValueError, match=r"^groups is missing"):
        tl.Grouped().fit_scores(Y)


def test_ties_are_warned_of_where_the_caller_is():
    with pytest.warns(tl.CalibrationWarning, match="4 rows have only 1 distinct scores") as caught:
        tl.Isotonic().fit_scores(np.zeros(4))
    assert caught[0].filename == __file__


@pytest.mark.parametrize("recalibrator", [tl.Online(), tl.Conditional()], ids=repr)
def test_maps_that_depend_on_more_than_scores_say_so(recalibrator):
    name = type(recalibrator).__name__
    with pytest.raises(NotImplementedError, match=f"^{name} does not learn from scores"):
        recalibrator.fit_scores(Y)


def test_rows_share_one_array_for_both_ends():
    rows = ScoreRows.of_outcomes(Y, tl.Point(LOC), W)
    for some in (rows, rows.weighted(), rows.take(slice(3))):
        assert some.upper is some.lower
    assert ScoreRows.concatenate([rows, rows]).lower.size == 2 * N
