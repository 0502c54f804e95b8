"""Labels of rows: the same in another order are an error, different ones give a warning."""

import re
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import train_test_split

import trueline as tl

RNG = np.random.default_rng(0)
N = 60
X = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N)}, index=np.arange(N) + 100)
Y = X["a"] + RNG.normal(size=N)
GROUPS = pd.Series(np.where(np.arange(N) % 2, "odd", "even"), index=X.index)
FORECASTS = pd.DataFrame({"mean": X["a"], "std": 1.0})
F = tl.Normal(FORECASTS["mean"], FORECASTS["std"])
MODEL = tl.CalibratedRegressor(BayesianRidge(), cv=2, random_state=0)
GROUPED = tl.CalibratedRegressor(BayesianRidge(), cv=2, method=tl.Grouped(), random_state=0)
FITTED = GROUPED.fit(X, Y, groups=GROUPS)
CALIBRATED = tl.Grouped().fit(Y, F, groups=GROUPS)
CONDITIONAL = tl.Conditional(random_state=0).fit(Y, F, X=X)

# Every public edge, called with one labelled argument in other words than the rest.
EDGES = {
    "y and X of fit": (Y, lambda y: MODEL.fit(X, y)),
    "weights of fit": (Y, lambda w: MODEL.fit(X, Y, sample_weight=w.abs())),
    "groups of fit": (GROUPS, lambda g: GROUPED.fit(X, Y, groups=g)),
    "groups of predict": (GROUPS, lambda g: FITTED.predict_dist(X, groups=g)),
    "y of a predicted forecast": (Y, lambda y: tl.crps(y, FITTED.predict_dist(X, groups=GROUPS))),
    "y of a map": (Y, lambda y: tl.Isotonic().fit(y, F)),
    "y of a part": (Y, lambda y: tl.Isotonic().partial_fit(y, F)),
    "y of a stream": (Y, lambda y: tl.Online().fit(y, F)),
    "y of an update": (Y, lambda y: tl.Online().update(y, F)),
    "y of score": (Y, lambda y: FITTED.score(X, y, groups=GROUPS)),
    "weights of a map": (Y, lambda w: tl.Isotonic().fit(Y.to_numpy(), F, sample_weight=w.abs())),
    "groups of a map": (GROUPS, lambda g: tl.Grouped().fit(Y, F, groups=g)),
    "groups of transform": (GROUPS, lambda g: CALIBRATED.transform(F, groups=g)),
    "X of a map": (X, lambda x: tl.Conditional(random_state=0).fit(Y, F, X=x)),
    "X of transform": (X, lambda x: CONDITIONAL.transform(F, X=x)),
    "y of metrics": (Y, lambda y: tl.evaluate(y, F)),
    "y of recalibrated": (Y, lambda y: tl.crps(y, tl.Isotonic().fit(Y, F).transform(F))),
    "y of some rows": (Y[5:], lambda y: tl.pit(y, F[5:])),
    "y of a frame": (Y, lambda y: tl.coverage(y, tl.as_distribution(FORECASTS), 0.9)),
    "y of quantiles": (
        Y,
        lambda y: tl.crps(y, tl.as_distribution(pd.DataFrame({0.1: Y - 1, 0.9: Y + 1}))),
    ),
    "y of draws": (Y, lambda y: tl.crps(y, tl.Samples(X))),
    "loc and scale": (FORECASTS["std"], lambda scale: tl.Normal(FORECASTS["mean"], scale)),
    "y of xarray": (
        Y,
        lambda y: tl.crps(xr.DataArray(y, dims="t", coords={"t": y.index}), F),
    ),
}


@pytest.mark.parametrize("name", EDGES)
def test_labels_at_every_edge(name):
    value, call = EDGES[name]
    call(value)
    call(value.reset_index(drop=True))
    with pytest.raises(ValueError, match=r"the same labels in another order\. Rows are paired by"):
        call(value[::-1])
    with pytest.warns(UserWarning, match=f"{len(value)} labels of .* are not those of ") as caught:
        call(value.set_axis(np.arange(len(value)) + 1000))
    assert caught[0].filename == __file__


def test_the_message_says_how_to_align():
    with pytest.raises(ValueError, match=r"^X and y have") as caught:
        MODEL.fit(X, Y[::-1])
    assert str(caught.value) == (
        "X and y have the same labels in another order. Rows are paired by position. Align them "
        "first: y = y.loc[X.index]. If they belong together as they are, drop the labels: "
        "y.reset_index(drop=True)."
    )
    MODEL.fit(X, Y[::-1].loc[X.index])
    with pytest.raises(ValueError, match=re.escape("y = y.loc[forecasts.index]")):
        tl.crps(Y[::-1], F)


def test_rows_without_labels_are_paired_by_position():
    train, test, y_train, y_test = train_test_split(X, Y, random_state=0)
    model = MODEL.fit(train, y_train)
    tl.evaluate(y_test, model.predict_dist(test))
    MODEL.fit(train.to_numpy(), y_train)
    MODEL.fit(train, y_train.to_numpy())
    tl.crps(y_test, tl.Normal(test["a"].to_numpy(), 1.0))
    tl.crps(y_test, tl.Normal(test["a"], pd.Series([1.0])))


def test_a_new_frame_beside_rows_that_were_shuffled_or_selected():
    new, labelled = X.reset_index(drop=True), Y.reset_index(drop=True)
    with pytest.raises(ValueError, match="the same labels in another order"):
        MODEL.fit(new, labelled.sample(frac=1, random_state=0))
    # Features that were scaled into a new frame have lost the labels of the selected rows.
    MODEL.fit(new[:40], labelled[-40:])


def test_pandas_is_not_imported():
    assert "pandas" in sys.modules  # here
    import subprocess

    code = "import sys, trueline as tl; tl.Isotonic().fit([1.0], tl.Point([0.0])); "
    code += "print({'pandas', 'xarray'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
