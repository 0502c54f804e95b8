"""arviz and xarray: draws with named dimensions."""

import warnings

import numpy as np
import pytest

import trueline as tl

xr = pytest.importorskip("xarray")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    az = pytest.importorskip("arviz")

CHAINS, DRAWS, ROWS = 3, 40, 5
VALUES = np.random.default_rng(0).normal(size=(CHAINS, DRAWS, ROWS)) + 10 * np.arange(ROWS)


def array(values=VALUES, dims=("chain", "draw", "obs")):
    return xr.DataArray(values, dims=dims, name="y")


def check(F):
    assert isinstance(F, tl.Samples)
    expected = np.sort(VALUES.reshape(CHAINS * DRAWS, ROWS).T, axis=1)
    np.testing.assert_array_equal(F.draws, expected)


def test_inference_data():
    idata = az.from_dict(
        posterior={"mu": VALUES[..., 0]},
        posterior_predictive={"y": VALUES},
        observed_data={"y": VALUES[0, 0]},
    )
    check(tl.as_distribution(idata))
    check(tl.as_distribution(idata.posterior_predictive))
    check(tl.as_distribution(az.extract(idata, group="posterior_predictive")))
    # The quantiles of arviz and of xarray, from the other side.
    F = tl.as_distribution(idata)
    own = idata.posterior_predictive["y"].quantile(
        0.9, dim=("chain", "draw"), method="inverted_cdf"
    )
    np.testing.assert_allclose(F.ppf(0.9), own.values)
    np.testing.assert_allclose(F.mean(), idata.posterior_predictive["y"].mean(("chain", "draw")))


def test_a_tree():
    groups = {"posterior": xr.Dataset({"mu": array().mean("obs")})}
    tree = xr.DataTree.from_dict({**groups, "posterior_predictive": xr.Dataset({"y": array()})})
    check(tl.as_distribution(tree))
    check(tl.as_distribution(tree["posterior_predictive"]))


@pytest.mark.parametrize("order", [("obs", "draw", "chain"), ("draw", "obs", "chain")])
def test_dimensions_in_any_order(order):
    # Chains and draws flatten in another order, which changes no distribution.
    check(tl.as_distribution(array().transpose(*order)))


@pytest.mark.parametrize("dim", ["draw", "sample", "realization", "member"])
def test_one_dimension_of_draws(dim):
    flat = xr.DataArray(VALUES.reshape(-1, ROWS), dims=(dim, "obs"))
    check(tl.as_distribution(flat))
    check(tl.as_distribution(flat.T, kind="samples"))


def test_stacked_chains_and_draws():
    check(tl.as_distribution(array().stack(sample=("chain", "draw"))))


def test_dimensions_of_one_are_left_out():
    check(tl.as_distribution(array().expand_dims(station=1)))
    assert len(tl.as_distribution(array().isel(obs=0))) == 1


def test_quantiles_along_a_dimension():
    own = array().quantile([0.9, 0.1], dim=("chain", "draw"))
    F = tl.as_distribution(own)
    assert isinstance(F, tl.Quantiles)
    np.testing.assert_array_equal(F.levels, [0.1, 0.9])
    np.testing.assert_array_equal(F.values, own.transpose("obs", "quantile").values[:, ::-1])


def test_variables_by_name():
    data = xr.Dataset({"mean": ("obs", [1.0, 2.0]), "variance": ("obs", [4.0, 9.0])})
    np.testing.assert_array_equal(tl.as_distribution(data).scale, [2.0, 3.0])
    assert isinstance(tl.as_distribution(data["mean"]), tl.Point)


@pytest.mark.parametrize(
    "obj, expected",
    [
        (
            xr.Dataset({"y": array(), "z": array()}),
            "obj is a Dataset with the variables y, z; expected one. Choose: obj['y'].",
        ),
        (
            array(np.zeros((2, 3, 4, 5)), ("chain", "draw", "time", "station")),
            (
                "obj has draws along (chain, draw) and more than one dim besides: (time, station); "
                "expected one, whose entries are the rows. Choose, such as obj.isel(station=0), or "
                "make one of them: obj.stack(row=['time', 'station'])."
            ),
        ),
        (
            array(np.zeros((2, 3)), ("a", "b")),
            (
                "obj is a xarray.DataArray with dims (a, b); expected draws along one called "
                "chain, draw, draws, sample, samples, realization, member or ensemble, or "
                "quantiles along one with levels. Rename the one that holds the draws: "
                "obj.rename(NAME='draw')."
            ),
        ),
        (
            az.from_dict(posterior={"mu": VALUES}),
            (
                "obj has the groups posterior; expected posterior_predictive, with draws of "
                "outcomes. Draw them first, such as with pm.sample_posterior_predictive: draws of "
                "parameters are not a forecast."
            ),
        ),
        (
            az.from_dict(posterior_predictive={"y": VALUES}, predictions={"y": VALUES}),
            (
                "obj has draws of outcomes in posterior_predictive and in predictions; expected "
                "one group. Choose: obj['posterior_predictive'] for the rows of the fit, "
                "obj['predictions'] for new ones."
            ),
        ),
    ],
    ids=["variables", "dims", "names", "posterior", "groups"],
)
def test_what_is_refused_says_how_to_choose(obj, expected):
    with pytest.raises(TypeError) as caught:
        tl.as_distribution(obj)
    assert str(caught.value) == expected


def test_what_the_messages_say_works():
    several = array(np.zeros((2, 3, 4, 5)), ("chain", "draw", "time", "station"))
    assert len(tl.as_distribution(several.isel(station=0))) == 4
    assert len(tl.as_distribution(several.stack(row=["time", "station"]))) == 20
    both = az.from_dict(posterior_predictive={"y": VALUES}, predictions={"y": VALUES[..., :2]})
    assert len(tl.as_distribution(both["predictions"])) == 2


def test_a_kind_that_it_is_not():
    with pytest.raises(TypeError, match=r"kind is 'quantiles', but obj is a xarray\.DataArray"):
        tl.as_distribution(array(), kind="quantiles")
