"""What cannot be right is refused, in words that say what was received and how to mend it."""

import json
import re

import numpy as np
import pytest

import trueline as tl
from tests.recalibration.documents import signed
from trueline.testing._trial import BASES, make_rows

F = tl.Normal([0.0, 0.0, 0.0], 1.0)
Y = [1.0, 2.0, 3.0]


def fitted(recalibrator=None):
    return (recalibrator or tl.Isotonic()).fit(Y, F)


def grouped(**params):
    return tl.Grouped(**params).fit(Y, F, groups=["a", "b", "b"])


def refused(error, message, call, *args, **kwargs):
    with pytest.raises(error, match=f"^{re.escape(message)}$") as caught:
        call(*args, **kwargs)
    assert type(caught.value) is error


# ---- y and dist ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "y, error, message",
    [
        (
            [1.0, np.nan, 3.0],
            ValueError,
            (
                "y[1] is nan; expected finite numbers (1 of 3 is not). Drop or impute those rows "
                "first."
            ),
        ),
        (
            [np.inf, -np.inf, 3.0],
            ValueError,
            (
                "y[0] is inf; expected finite numbers (2 of 3 are not). Drop or impute those rows "
                "first."
            ),
        ),
        (
            ["1", "2", "3"],
            TypeError,
            "y holds strings; expected real numbers. Convert it to floats first.",
        ),
        (
            [1.0, 2.0],
            ValueError,
            "y has 2 rows but dist has 3; expected the same number.",
        ),
        (
            1.0,
            ValueError,
            "y has 1 rows but dist has 3; expected the same number.",
        ),
        (
            [[1.0], [2.0], [3.0]],
            ValueError,
            (
                "y has shape (3, 1); expected one number per row, shape (n,). Use y.ravel() if "
                "that is what it holds."
            ),
        ),
        ([], ValueError, "y is empty; expected at least one row."),
        (
            [1.0, None, 3.0],
            TypeError,
            (
                "y holds an object of type NoneType; expected real numbers. Convert it to floats "
                "first."
            ),
        ),
        (
            [1j, 2.0, 3.0],
            TypeError,
            "y holds complex numbers; expected real numbers. Convert it to floats first.",
        ),
        (
            [2**60, 1, 1],
            ValueError,
            (
                "y holds integers beyond 2**53, which float64 cannot hold exactly; expected "
                "smaller ones. Subtract an offset or change the unit first."
            ),
        ),
        (
            np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False]),
            TypeError,
            (
                "y is a masked array; expected a plain array, because the values under the mask "
                "would be used. Drop the masked rows first: y.compressed()."
            ),
        ),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:24],
)
@pytest.mark.parametrize("recalibrator", [tl.Isotonic(), tl.Grouped()], ids=repr)
def test_y(recalibrator, y, error, message):
    groups = ["a", "a", "b"] if isinstance(recalibrator, tl.Grouped) else None
    refused(error, message, recalibrator.fit, y, F, groups=groups)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_y_that_is_not_finite_for_every_kind_of_forecast(base, value):
    rows = make_rows(BASES[base], 4)
    rows.y[2] = value
    message = (
        f"y[2] is {value}; expected finite numbers (1 of 4 is not). Drop or impute those rows "
        f"first."
    )
    refused(ValueError, message, tl.Isotonic().fit, rows.y, rows.dist)
    refused(ValueError, message, tl.Isotonic().fit, rows.y, rows.dist, np.ones(4))
    refused(ValueError, message, tl.Grouped().fit, rows.y, rows.dist, groups=rows.groups)


def test_dist_that_is_no_forecast():
    message = (
        "dist is of type tuple, which trueline.as_distribution(obj) cannot convert: obj is a tuple "
        "of length 3; expected (loc, scale). For point forecasts pass a list or an array; for "
        "others build the distribution yourself."
    )
    dist, X = (0.0, 1.0, 2.0), np.zeros((3, 1))
    refused(TypeError, message, tl.Isotonic().fit, Y, dist)
    refused(TypeError, message, tl.Isotonic().partial_fit, Y, dist)
    refused(TypeError, message, tl.Conditional().fit, Y, dist, X=X)
    refused(TypeError, message, tl.Online().fit, Y, dist)
    refused(TypeError, message, tl.Online().update, Y, dist)
    refused(TypeError, message, tl.Grouped().fit, Y, dist, groups=["a"] * 3)
    refused(TypeError, message, fitted().transform, dist)
    refused(TypeError, message, grouped().transform, dist, groups=["a"] * 3)


def test_arguments_in_the_wrong_order():
    message = (
        "the arguments are swapped: outcomes come first, then the forecast: (y, dist). "
        "Received a Normal as y and a list as dist."
    )
    X = np.zeros((3, 1))
    refused(TypeError, message, tl.Isotonic().fit, F, Y)
    refused(TypeError, message, tl.Isotonic().partial_fit, F, Y)
    refused(TypeError, message, tl.Conditional().fit, F, Y, X=X)
    refused(TypeError, message, tl.Online().update, F, Y)


RANGE = (
    "a score is {}, beyond what float64 can carry; expected 0 or a size of about 1e-100 to 1e+100. "
    "Check for a forecast whose scale is almost 0 or huge, and for outcomes in another unit."
)
EVERY = [
    tl.Isotonic(),
    tl.Smooth(),
    tl.BetaCalibration(),
    tl.Scaling(),
    tl.Auto(),
    tl.Grouped(),
    tl.Online(),
    tl.Conditional(),
]


@pytest.mark.parametrize("recalibrator", EVERY, ids=repr)
@pytest.mark.parametrize("scale, score", [(1e-300, "1e+300"), (1e300, "1e-300"), (4e-309, "inf")])
def test_a_score_out_of_range(recalibrator, scale, score):
    """One rule for all, word for word."""
    y, F = np.ones(30), tl.Normal(np.zeros(30), scale)
    given = {"groups": ["a"] * 30} if recalibrator.needs_groups else {}
    given |= {"X": np.zeros((30, 1))} if recalibrator.needs_features else {}
    refused(ValueError, RANGE.format(score), recalibrator.fit, y, F, **given)
    if hasattr(recalibrator, "partial_fit") and not given:
        refused(ValueError, RANGE.format(score), recalibrator.partial_fit, y, F)
    if recalibrator.learns_from_scores and not given and score != "inf":
        s = [0.0, float(score)]
        refused(ValueError, RANGE.format(score), recalibrator.fit_scores, s)
        refused(ValueError, RANGE.format(score), recalibrator.fit_scores, [-1.0, 0.0], upper=s)


@pytest.mark.parametrize(
    "params", [{}, {"window": 9}, {"half_life": 9.0}, {"coverage": 0.9}, {"half_life": np.inf}]
)
@pytest.mark.parametrize("scale, score", [(1e-300, "1e+300"), (1e300, "1e-300"), (4e-309, "inf")])
def test_one_row_of_a_stream_out_of_range(params, scale, score):
    """Whatever a stream has learned can be stored and loaded."""
    R = tl.Online(**params)
    for _ in range(2):  # before the first row and after it
        refused(ValueError, RANGE.format(score), R.update, 1.0, tl.Normal(0.0, scale))
        R.update(1.0, tl.Normal(0.0, 1.0))
    assert tl.load(R.to_bytes()).rows_seen_ == 2


@pytest.mark.parametrize("value", [-1e308, 1.0001e100, 9.9e-101, 5e-324])
def test_a_loaded_score_out_of_range(value):
    for R in (tl.Smooth().fit_scores([1.0, 2.0]), tl.Online(window=5).fit([1.0], tl.Point([0.0]))):
        document = json.loads(R.to_json())
        state = document["state"]
        state.get("scores", state.get("memory"))["values"][0] = value
        fault = f"the input is not a valid trueline map: {RANGE.format(f'{value:g}')}"
        with pytest.raises(ValueError, match=re.escape(fault)):
            tl.load(signed(document).encode())


# ---- weights ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "weight, error, message",
    [
        (
            [1.0, -2.0, -1.0],
            ValueError,
            (
                "sample_weight[1] is -2.0; expected weights of 0 or more (2 of 3 are not). Drop "
                "rows that must not count."
            ),
        ),
        (
            [0.0, 0.0, 0.0],
            ValueError,
            "sample_weight is zero in every row; expected at least one above 0.",
        ),
        (
            [1.0, np.nan, 1.0],
            ValueError,
            (
                "sample_weight[1] is nan; expected finite numbers (1 of 3 is not). Drop or impute "
                "those rows first."
            ),
        ),
        (
            [1.0, 1.0],
            ValueError,
            "sample_weight has 2 rows but y has 3; expected the same number.",
        ),
        (
            1.0,
            ValueError,
            "sample_weight has 1 rows but y has 3; expected the same number.",
        ),
        (
            ["a", "b", "c"],
            TypeError,
            "sample_weight holds strings; expected real numbers. Convert it to floats first.",
        ),
        (
            [1e308, 1e308, 1e308],
            ValueError,
            (
                "sample_weight sums to inf, beyond what float64 can carry; expected at most 1e+30. "
                "Divide the weights by their mean."
            ),
        ),
    ],
)
@pytest.mark.parametrize("recalibrator", [tl.Isotonic(), tl.Grouped()], ids=repr)
def test_weights(recalibrator, weight, error, message):
    groups = ["a", "a", "b"] if isinstance(recalibrator, tl.Grouped) else None
    refused(error, message, recalibrator.fit, Y, F, sample_weight=weight, groups=groups)


# ---- groups ----------------------------------------------------------------------------

MIXED = (
    "groups mixes names that cannot be compared, such as strings with numbers or None; expected "
    "all strings or all numbers."
)


@pytest.mark.parametrize(
    "groups, error, message",
    [
        (
            None,
            ValueError,
            "groups is missing; expected the group of each row: groups=[...].",
        ),
        (["a", "b"], ValueError, "groups has shape (2,); expected one name per row, (3,)."),
        ("abc", ValueError, "groups has shape (); expected one name per row, (3,)."),
        (
            [["a"], ["b"], ["c"]],
            ValueError,
            "groups has shape (3, 1); expected one name per row, (3,).",
        ),
        ([["a"], ["b", "c"], ["c"]], ValueError, "groups is ragged; expected one name per row."),
        (["a", None, "b"], TypeError, MIXED),
        ([1, None, 2], TypeError, MIXED),
        (["a", 1, "b"], TypeError, MIXED),
        (np.array(["a", 1, "b"], dtype=object), TypeError, MIXED),
        (
            [1.0, np.nan, 2.0],
            ValueError,
            "groups holds nan; expected a string or a finite number in every row.",
        ),
        (
            [1.0, -np.inf, 2.0],
            ValueError,
            "groups holds -inf; expected a string or a finite number in every row.",
        ),
        (
            np.array(["2020", "2021", "2022"], dtype="datetime64[Y]"),
            TypeError,
            "groups has dtype datetime64[Y]; expected strings or numbers.",
        ),
        (
            [1j, 2j, 3j],
            TypeError,
            "groups has dtype complex128; expected strings or numbers.",
        ),
    ],
)
def test_groups(groups, error, message):
    refused(error, message, tl.Grouped().fit, Y, F, groups=groups)
    refused(error, message, grouped().transform, F, groups=groups)


def test_one_missing_group_alone():
    message = "groups holds None; expected a string or a finite number in every row."
    refused(ValueError, message, tl.Grouped().fit, [1.0], F[:1], groups=[None])


@pytest.mark.parametrize("cls", [tl.Isotonic, tl.Smooth, tl.BetaCalibration, tl.Scaling, tl.Auto])
def test_groups_for_a_map_that_has_none(cls):
    name = cls.__name__
    message = (
        f"{name} fits one map for all rows and takes no groups. "
        f"Use Grouped({name}()) for one map per group."
    )
    refused(ValueError, message, cls().fit, Y, F, groups=["a", "b", "b"])
    message = f"{name} takes no groups; it has one map for all rows."
    refused(ValueError, message, fitted(cls()).transform, F, groups=["a", "b", "b"])


# ---- transform -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dist, message",
    [
        (
            tl.Point([0.0]),
            (
                "this Isotonic was fitted on 'standardised' scores (Normal, StudentT, Laplace, "
                "Logistic), but a Point has 'residual' scores. Fit a map on forecasts of the same "
                "kind."
            ),
        ),
        (
            tl.Samples([[0.0, 1.0]]),
            (
                "this Isotonic was fitted on 'standardised' scores (Normal, StudentT, Laplace, "
                "Logistic), but a Samples has 'normal score' scores. Fit a map on forecasts of the "
                "same kind."
            ),
        ),
    ],
)
def test_another_kind_of_forecast(dist, message):
    refused(ValueError, message, fitted().transform, dist)


def test_another_kind_of_forecast_for_groups():
    message = (
        "this Grouped was fitted on 'standardised' scores (Normal, StudentT, Laplace, Logistic), "
        "but a Point has 'residual' scores. Fit a map on forecasts of the same kind."
    )
    refused(ValueError, message, grouped().transform, tl.Point([0.0]), groups=["a"])


def test_location_scale_forecasts_share_their_kind():
    fitted().transform(tl.StudentT([0.0], 1.0, df=3.0))
    fitted().transform(tl.Laplace([0.0], 1.0))


# ---- merge, compress -------------------------------------------------------------------


@pytest.mark.parametrize(
    "one, two",
    [
        (tl.Isotonic(), tl.Smooth()),
        (tl.Isotonic(), tl.Isotonic(finite_sample=False)),
        (tl.Smooth(), tl.Smooth(n_knots=4)),
        (tl.Auto(), tl.Auto(cv=3)),
        (tl.Auto([tl.Scaling()]), tl.Auto([tl.BetaCalibration()])),
    ],
    ids=repr,
)
def test_merging_different_recalibrators(one, two):
    message = f"{one!r} and {two!r} do not merge; expected the same class with the same parameters."
    refused(ValueError, message, fitted(one).merge, fitted(two))


def test_merging_different_groupings():
    message = (
        "Grouped() and Grouped(shrinkage=5) do not merge; expected the same class with the same "
        "parameters."
    )
    refused(ValueError, message, grouped().merge, grouped(shrinkage=5))


def test_merging_with_something_else():
    message = "Isotonic() and 3 do not merge; expected the same class with the same parameters."
    refused(ValueError, message, fitted().merge, 3)


def test_merging_different_kinds():
    message = (
        "the maps were fitted on different scores (standardised and residual); expected forecasts "
        "of the same kind in both."
    )
    point = tl.Point([0.0, 0.0, 0.0])
    refused(ValueError, message, fitted().merge, tl.Isotonic().fit(Y, point))
    other = tl.Grouped().fit(Y, point, groups=["a", "b", "b"])
    refused(ValueError, message, grouped().merge, other)


def test_parameters_that_are_equal_merge():
    assert grouped(shrinkage=20).merge(grouped(shrinkage=20.0)).groups_ == ["a", "b"]
    fitted(tl.Auto([tl.Scaling()])).merge(fitted(tl.Auto((tl.Scaling(),))))


@pytest.mark.parametrize("max_knots", [1, 0, -3, 2.0, None, "8", True])
def test_max_knots(max_knots):
    message = f"max_knots is {max_knots!r}; expected an integer of 2 or more."
    refused(ValueError, message, fitted().compress, max_knots)
    refused(ValueError, message, grouped().compress, max_knots)


# ---- parameters ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "recalibrator, message",
    [
        (tl.Isotonic(finite_sample=1), "finite_sample is 1; expected True or False."),
        (tl.Isotonic(finite_sample="no"), "finite_sample is 'no'; expected True or False."),
        (tl.Smooth(n_knots=1), "n_knots is 1; expected None or an integer of 2 to 10000."),
        (tl.Smooth(n_knots=2.5), "n_knots is 2.5; expected None or an integer of 2 to 10000."),
        (tl.Smooth(n_knots=True), "n_knots is True; expected None or an integer of 2 to 10000."),
        (
            tl.Smooth(n_knots=10**9),
            "n_knots is 1000000000; expected None or an integer of 2 to 10000.",
        ),
        (tl.Auto(cv=1), "cv is 1; expected an integer of 2 or more."),
        (tl.Auto(cv="5"), "cv is '5'; expected an integer of 2 or more."),
        (tl.Auto(random_state=-1), "random_state is -1; expected an integer of 0 or more."),
        (tl.Auto(random_state=None), "random_state is None; expected an integer of 0 or more."),
        (
            tl.Auto(candidates=[]),
            (
                "candidates is []; expected Isotonic, Smooth, BetaCalibration or Scaling objects, "
                "at least one."
            ),
        ),
        (
            tl.Auto(candidates=["isotonic"]),
            (
                "candidates is ['isotonic']; expected Isotonic, Smooth, BetaCalibration or Scaling "
                "objects, at least one."
            ),
        ),
        (
            tl.Auto(candidates=[tl.Auto()]),
            (
                "candidates is [Auto()]; expected Isotonic, Smooth, BetaCalibration or Scaling "
                "objects, at least one."
            ),
        ),
        (
            tl.Auto(candidates=tl.Isotonic()),
            "candidates is Isotonic(); expected a list of recalibrators.",
        ),
        (
            tl.Auto(candidates=[tl.Smooth(n_knots=0)]),
            "n_knots is 0; expected None or an integer of 2 to 10000.",
        ),
        (
            tl.Grouped(recalibrator="isotonic"),
            (
                "recalibrator is 'isotonic'; expected Isotonic, Smooth, "
                "BetaCalibration, Scaling or Auto."
            ),
        ),
        (
            tl.Grouped(recalibrator=tl.Grouped()),
            (
                "recalibrator is Grouped(); expected Isotonic, Smooth, "
                "BetaCalibration, Scaling or Auto."
            ),
        ),
        (
            tl.Grouped(recalibrator=tl.Isotonic(finite_sample=None)),
            "finite_sample is None; expected True or False.",
        ),
        (
            tl.Grouped(shrinkage=-1.0),
            "shrinkage is -1.0; expected a number of rows of 0 or more.",
        ),
        (
            tl.Grouped(shrinkage=np.nan),
            "shrinkage is nan; expected a number of rows of 0 or more.",
        ),
        (
            tl.Grouped(shrinkage=np.inf),
            "shrinkage is inf; expected a number of rows of 0 or more.",
        ),
        (
            tl.Grouped(shrinkage="20"),
            "shrinkage is '20'; expected a number of rows of 0 or more.",
        ),
        (
            tl.Grouped(shrinkage=True),
            "shrinkage is True; expected a number of rows of 0 or more.",
        ),
    ],
    ids=lambda value: repr(value)[:60] if isinstance(value, tl.Recalibrator) else "",
)
def test_parameters_are_checked_at_fit(recalibrator, message):
    groups = ["a", "b", "b"] if isinstance(recalibrator, tl.Grouped) else None
    refused(ValueError, message, recalibrator.fit, Y, F, groups=groups)


def test_numbers_from_numpy_are_parameters():
    tl.Smooth(n_knots=np.int64(3)).fit(Y, F)
    tl.Auto(cv=np.int64(2), random_state=np.int64(1)).fit(Y, F)
    loaded = tl.Grouped(shrinkage=np.float32(2.5)).fit(Y, F, groups=[1, 1, 2]).to_json()
    assert '"shrinkage": 2.5' in loaded


def test_unknown_parameters():
    message = "Isotonic has no parameter 'finite'; expected one of ['finite_sample', 'support']."
    refused(ValueError, message, tl.Isotonic().set_params, finite=True)
    message = (
        "Grouped has no parameter 'inner'; "
        "expected one of ['recalibrator', 'shrinkage', 'support']."
    )
    refused(ValueError, message, tl.Grouped().set_params, inner__finite_sample=True)
    message = (
        "recalibrator__finite_sample cannot be set: recalibrator is None; expected a recalibrator. "
        "Set recalibrator first."
    )
    refused(ValueError, message, tl.Grouped().set_params, recalibrator__finite_sample=True)


def test_a_failed_fit_leaves_the_old_map():
    map_ = fitted()
    before = map_.to_json()
    with pytest.raises(ValueError, match="y is empty"):
        map_.fit([], F)
    assert map_.to_json() == before
