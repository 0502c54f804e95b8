"""What `verbose` shows, and what `n_jobs` changes: the processes, but no number."""

import pickle
import re
import threading

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold
from sklearn.tree import DecisionTreeRegressor

import trueline as tl
from trueline.estimators import PerLevel, cross_fit

TREE = DecisionTreeRegressor(max_depth=3)


def lines(capsys):
    """What was printed on the standard error, without percentages and times."""
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "\x1b" not in printed.err
    told = re.sub(r"\d+%, |, [\d minsec]+ left| (in|took) [\d.]+ s$", "", printed.err, flags=re.M)
    return [line.removeprefix("CalibratedRegressor: ") for line in told.splitlines()]


BRIEF = [
    "fitting on all rows",
    *(f"fitting fold {k} of 3" for k in (1, 2, 3)),
    *(f"fitting on fewer rows, fit {k} of 3" for k in (1, 2, 3)),
    "learning the width",
    "fitting the map",
    "done",
]


def test_it_is_quiet_unless_asked(rows, capsys):
    quiet = tl.CalibratedRegressor(TREE, cv=3, random_state=0).fit(*rows)
    assert lines(capsys) == []
    shown = clone(quiet).set_params(verbose=1).fit(*rows)
    assert lines(capsys) == BRIEF
    np.testing.assert_array_equal(quiet.predict(rows[0]), shown.predict(rows[0]))
    again = pickle.loads(pickle.dumps(shown))
    assert again.get_params()["verbose"] == 1
    again.set_params(verbose=2).fit(*rows)
    # Each step is followed by the time that it took, which `lines` cuts off.
    results = [line for line in lines(capsys) if line not in BRIEF]
    assert re.fullmatch(r"the width is \w+; CRPS: constant [\d.]+, learned [\d.]+", results[0])
    assert results[1:] == [f"the shrinkage is {again.shrinkage_:.4f}"]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_folds_are_shown_as_they_return(rows, capsys, n_jobs):
    model = tl.CalibratedRegressor(TREE, cv=3, random_state=0, n_jobs=n_jobs, verbose=1)
    with parallel_config("threading"):
        model.fit(*rows)
    assert lines(capsys) == BRIEF


def test_what_is_not_done_is_not_shown(rows, capsys):
    forest = RandomForestRegressor(50, max_depth=2)
    tl.CalibratedRegressor(forest, random_state=0, verbose=1).fit(*rows)
    assert lines(capsys) == ["fitting on all rows", "learning the width", "fitting the map", "done"]
    model = tl.CalibratedRegressor(TREE, cv="train", scale_estimator=None, verbose=1)
    model.fit(*rows)
    assert lines(capsys) == ["fitting on all rows", "fitting the map", "done"]


def test_other_fits_are_shown_too(rows, capsys):
    splits = list(GroupKFold(2).split(*rows, np.arange(120)))
    cross_fit(TREE, *rows, splits, verbose=1)
    assert lines(capsys) == [f"cross_fit: fitting split {k} of 2" for k in (1, 2)] + [
        "cross_fit: done"
    ]
    levels = {0.1: TREE, 0.9: TREE}
    PerLevel(levels, verbose=1).fit(*rows)
    assert lines(capsys) == [
        "PerLevel: fitting level 0.1",
        "PerLevel: fitting level 0.9",
        "PerLevel: done",
    ]


class Where(LinearRegression):
    """Writes down the thread that fits it."""

    def fit(self, X, y, sample_weight=None):
        self.thread_ = threading.get_ident()
        return super().fit(X, y)


def test_folds_refit_and_widths_run_as_jobs(rows):
    model = tl.CalibratedRegressor(Where(), scale_estimator=Where(), random_state=0, n_jobs=2)
    with parallel_config("threading"):
        model.fit(*rows)
    here = threading.get_ident()
    assert model.estimator_.thread_ != here
    assert model.scale_._regression.thread_ != here
    model.set_params(n_jobs=None).fit(*rows)
    assert model.estimator_.thread_ == model.scale_._regression.thread_ == here


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cv": GroupKFold(3)},  # the forest of widths honours the groups
        {"scale_estimator": DecisionTreeRegressor(max_depth=2)},
        {"ensemble": True},
    ],
    ids=["default", "groups", "scale_estimator", "ensemble"],
)
def test_processes_change_no_bit(rows, options):
    X, y = rows
    groups = np.arange(120) // 4 if "cv" in options else None
    found = []
    for n_jobs in (None, 2):
        model = tl.CalibratedRegressor(TREE, random_state=0, n_jobs=n_jobs, **options)
        model.fit(X, y, groups=groups)
        quantiles = model.predict_quantiles(X, [0.1, 0.5, 0.8])
        found.append([quantiles, model.shrinkage_, *model.scale_.crps.values()])
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)
