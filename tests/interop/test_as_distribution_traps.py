"""What goes wrong in silence elsewhere: handled here, or refused by its name."""

from collections import namedtuple

import numpy as np
import pytest
from scipy import stats

import trueline as tl


def message(obj, error, kind=None):
    with pytest.raises(error) as caught:
        tl.as_distribution(obj, kind)
    return str(caught.value)


# ---- a variance taken for a standard deviation ---------------------------------------


def test_a_variance_is_known_by_its_name_or_by_its_kind():
    by_name = tl.as_distribution({"mean": [0.0], "var": [9.0]})
    by_kind = tl.as_distribution(([0.0], [9.0]), kind="mean_var")
    assert by_name.std() == by_kind.std() == [3.0]
    assert tl.as_distribution(([0.0], [9.0])).std() == [9.0]


def test_a_kind_that_the_names_deny_is_refused():
    assert message({"mean": [0.0], "std": [1.0]}, TypeError, "mean_var") == (
        "kind is 'mean_var', but obj is a dict whose names say that it holds a mean and a standard "
        "deviation; expected columns mean and var. Leave kind out, or rename the columns."
    )
    assert message({"mean": [0.0], "var": [1.0]}, TypeError, "mean_std") == (
        "kind is 'mean_std', but obj is a dict whose names say that it holds a mean and a "
        "variance; expected columns mean and std. Leave kind out, or rename the columns."
    )


def test_a_covariance_matrix_is_no_scale():
    assert message((np.zeros(3), np.eye(3)), TypeError) == (
        "obj is a tuple whose second item has shape (3, 3); expected (loc, scale), one number per "
        "row each. It looks like a covariance matrix: pass (mean, np.sqrt(np.diag(cov))), or ask "
        "the model for standard deviations."
    )


# ---- transposed ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "use, what", [(tl.Isotonic().fit, "dist"), (tl.crps, "the forecast"), (tl.pit, "the forecast")]
)
def test_transposed_draws_are_named_where_the_outcomes_are(use, what):
    # Four outcomes, and draws as (draws, rows): a forecast of 6 rows with 4 draws each.
    F = tl.as_distribution(np.zeros((6, 4)), kind="samples")
    with pytest.raises(ValueError, match="looks transposed") as caught:
        use(np.zeros(4), F)
    assert str(caught.value) == (
        f"y has 4 rows but {what} has 6; expected the same number. It has 4 draws in each row, so "
        f"it looks transposed: draws are (rows, draws). Transpose draws of shape (draws, rows): "
        f"draws.T."
    )
    with pytest.raises(ValueError, match=r"expected the same number\.$"):
        use(np.zeros(5), F)


def test_transposed_quantiles_are_refused():
    values = np.arange(12.0).reshape(3, 4)
    assert message({"levels": [0.1, 0.5, 0.9], "values": values}, ValueError) == (
        "values has shape (3, 4) with 3 levels; expected (n, 3), one row per forecast, in which "
        "values rise with the levels. It looks transposed: pass values.T."
    )


def test_a_transposed_pair_is_refused():
    assert message(np.ones((2, 5)), TypeError, "mean_var") == (
        "obj has shape (2, 5); expected (n, 2) for kind='mean_var', the mean and the variance in "
        "each row, or a tuple of both. It looks transposed: pass obj.T."
    )


def test_levels_and_values_in_a_tuple_are_no_loc_and_scale():
    assert message(([0.1, 0.5, 0.9], np.ones((4, 3))), TypeError) == (
        "obj is a tuple whose second item has shape (4, 3); expected (loc, scale), one number per "
        'row each. It looks like levels and values: pass {"levels": levels, "values": values}.'
    )


# ---- percent, and the order of levels ------------------------------------------------


def test_percent_is_read_where_it_is_sure():
    for names in (("5%", "95%"), ("p5", "p95"), ("q5", "q95")):
        F = tl.as_distribution({name: [1.0] for name in names})
        np.testing.assert_array_equal(F.levels, [0.05, 0.95])


def test_levels_in_percent_are_refused():
    assert message({"levels": [5, 50, 95], "values": [[1.0, 2.0, 3.0]]}, ValueError) == (
        "levels holds 5.0; expected levels in (0, 1). Write 5% as 0.05."
    )
    assert message({10: [1.0], 50: [2.0], 90: [3.0]}, TypeError).endswith(
        'They look like quantiles in percent: if so, say kind="quantiles", or write 5% as 0.05.'
    )
    assert message({"q1": [1.0], "q2": [2.0], "q3": [3.0]}, ValueError) == (
        "columns 'q1', 'q2', 'q3' look like quantiles in percent, or like ranks such as quartiles; "
        "expected unambiguous levels. Rename them to levels, such as q0.05 and q0.95."
    )
    assert message({"q0.1": [1.0], "q90": [2.0]}, ValueError) == (
        "column 'q0.1' names a level but column 'q90' looks like a percentage; expected one or the "
        "other. Rename them all to levels, such as q0.9."
    )
    assert message({"p0.5": [1.0], "p99.5": [2.0]}, ValueError) == (
        "column 'p0.5' names a level but column 'p99.5' looks like a percentage; expected one or "
        "the other. Rename them all to levels, such as q0.995."
    )
    assert message({"0%": [1.0], "50%": [2.0]}, ValueError) == (
        "column '0%' names a quantile at 0%; expected one between 0% and 100%. Leave out the "
        "ends of a forecast."
    )


def test_levels_in_any_order_are_sorted_with_their_values():
    F = tl.as_distribution({"levels": [0.9, 0.1], "values": [[2.0, 1.0], [4.0, 3.0]]})
    np.testing.assert_array_equal(F.ppf([0.1, 0.9]), [[1.0, 2.0], [3.0, 4.0]])


def test_values_in_the_reverse_order_of_their_levels_are_refused():
    assert message({"levels": [0.1, 0.9], "values": [[2.0, 1.0], [4.0, 3.0]]}, ValueError) == (
        "values falls from each level to the next in every row; expected values that rise with "
        "their levels. The values are in the reverse order of the levels: reverse one of them."
    )


def test_quantiles_that_cross_in_some_rows_are_sorted_with_a_warning():
    values = [[2.0, 1.0], [3.0, 4.0]]
    with pytest.warns(tl.CalibrationWarning, match="cross in 1 of 2 rows"):
        F = tl.as_distribution({"levels": [0.1, 0.9], "values": values})
    np.testing.assert_array_equal(F.values, [[1.0, 2.0], [3.0, 4.0]])


# ---- logarithms ----------------------------------------------------------------------


def test_a_negative_spread_may_be_a_logarithm():
    hint = (
        "Models often give logarithms: if it is a log standard deviation pass (mean, np.exp(x)), "
        "if a log variance (mean, np.exp(0.5 * x))"
    )
    assert message(([0.0, 0.0], [1.0, -2.0]), ValueError) == (
        f"scale[1] is -2.0; expected standard deviations above 0 (1 of 2 are below). {hint}."
    )
    assert message({"mean": [0.0], "var": [-2.0]}, ValueError) == (
        f"obj['var'][0] is -2.0; expected variances above 0 (1 of 1 are below). {hint}, both "
        f"without kind."
    )
    assert message([[0.0, -2.0]], ValueError, "mean_var").startswith("obj[:, 1][0] is -2.0; ")


@pytest.mark.parametrize(
    "name, noun, cure",
    [
        ("log_std", "standard deviation", "np.exp(obj['log_std'])"),
        ("logvar", "variance", "np.exp(0.5 * obj['logvar'])"),
    ],
)
def test_a_logarithm_is_known_by_its_name(name, noun, cure):
    assert message({"mean": [0.0], name: [1.0]}, TypeError) == (
        f"column {name!r} looks like the logarithm of a {noun}; expected a standard deviation or a "
        f"variance. Pass (mean, {cure})."
    )


def test_a_scale_of_zero_is_a_point_forecast():
    assert "A forecast without spread is a Point" in message(([0.0], [0.0]), ValueError)


# ---- tensors -------------------------------------------------------------------------


@pytest.fixture(name="torch")
def _torch():
    return pytest.importorskip("torch")


def test_single_precision_has_the_tails_of_double(torch):
    D = torch.distributions
    theirs = D.Normal(torch.zeros(1), torch.ones(1))
    assert theirs.cdf(torch.tensor([7.0])) == 1.0  # what single precision makes of it
    F = tl.as_distribution(theirs)
    np.testing.assert_allclose(F.sf([7.0]), stats.norm.sf(7.0), rtol=1e-12)
    gamma = tl.as_distribution(D.Gamma(torch.tensor([2.0]), torch.tensor([1.0])))
    np.testing.assert_allclose(gamma.sf([40.0]), stats.gamma(2.0).sf(40.0), rtol=1e-12)
    mixed = D.MixtureSameFamily(
        D.Categorical(logits=torch.zeros(1, 2)), D.Normal(torch.zeros(1, 2), torch.ones(1, 2))
    )
    np.testing.assert_allclose(tl.as_distribution(mixed).sf([7.0]), stats.norm.sf(7.0), rtol=1e-12)


def test_gradients_are_left_behind(torch):
    loc = torch.tensor([1.0, 2.0], requires_grad=True)
    scale = torch.nn.functional.softplus(loc)
    pair = tl.as_distribution((loc, scale))
    named = tl.as_distribution({"mean": loc, "var": scale**2})
    listed = tl.as_distribution([loc[0], loc[1]])
    levels = tl.as_distribution({0.1: loc - 1, 0.9: loc + 1})
    np.testing.assert_allclose(named.scale, pair.scale, rtol=1e-6)
    np.testing.assert_array_equal(listed.loc, [1.0, 2.0])
    np.testing.assert_array_equal(levels.values, [[0.0, 2.0], [1.0, 3.0]])
    assert loc.grad is None
    assert loc.requires_grad


class OnDevice:
    """A tensor on a device that numpy cannot read, as torch's are on a GPU."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __array__(self, *_args, **_kwargs):
        raise TypeError("can't convert cuda:0 device type tensor to numpy.")

    def detach(self):
        return OnDevice(self.tensor.detach())

    def cpu(self):
        return self.tensor


def test_a_tensor_on_a_gpu_is_fetched(torch):
    gpu = OnDevice(torch.tensor([1.0, 2.0], requires_grad=True))
    np.testing.assert_array_equal(tl.as_distribution((gpu, gpu)).scale, [1.0, 2.0])
    np.testing.assert_array_equal(tl.as_distribution(gpu).loc, [1.0, 2.0])
    theirs = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
    theirs.loc = gpu
    np.testing.assert_array_equal(tl.as_distribution(theirs).loc, [1.0, 2.0])


def test_a_tensor_without_numbers_is_refused(torch):
    expected = (
        "obj holds a tensor on the meta device, which has a shape but no numbers; expected one "
        "that was computed. Run the model on a CPU or GPU first."
    )
    loc = torch.zeros(2, device="meta")
    assert message((loc, 1.0), TypeError) == expected
    theirs = torch.distributions.Normal(loc, loc, validate_args=False)
    assert message(theirs, TypeError) == expected


# ---- names and labels that deny what numbers seem to say ------------------------------


def test_a_named_tuple_goes_by_its_names():
    pair = namedtuple("pair", "mean variance")
    np.testing.assert_array_equal(tl.as_distribution(pair([0.0, 0.0], [4.0, 9.0])).std(), [2, 3])
    turned = namedtuple("turned", "std mean")
    np.testing.assert_array_equal(tl.as_distribution(turned([1.0], [5.0])).mean(), [5.0])
    nameless = namedtuple("nameless", "a b")
    np.testing.assert_array_equal(tl.as_distribution(nameless([5.0], [1.0])).mean(), [5.0])


def test_quantiles_of_logarithms_and_of_two_variables_are_refused():
    for name in ("log_q", "log q", "ln_quantile_", "log1p_q"):
        said = message({f"{name}0.1": [1.0], f"{name}0.9": [2.0]}, ValueError)
        assert "looks like a quantile of a logarithm" in said
    assert message({"a_q0.1": [1.0], "b_q0.9": [2.0]}, ValueError) == (
        "columns 'a_q0.1' and 'b_q0.9' look like quantiles of two variables; expected one. Choose "
        "the columns of one of them."
    )
    assert "two variables" in message({"a_q0.1": [1.0], "q0.9": [2.0]}, ValueError)
    F = tl.as_distribution({"sales_q0.1": [1.0], "sales_q0.9": [2.0]})
    assert F.ppf(0.9) == [2.0]


def test_series_are_put_together_by_their_labels_or_not_at_all():
    pd = pytest.importorskip("pandas")
    mean = pd.Series([1.0, 100.0], index=["a", "b"])
    std = pd.Series([10.0, 1.0], index=["b", "a"])
    for obj in ((mean, std), {"mean": mean, "std": std}):
        assert "whose labels differ, or come in another order" in message(obj, ValueError)
    assert tl.as_distribution((mean, std.loc[["a", "b"]])).std().tolist() == [1.0, 10.0]


def test_one_row_of_a_table_is_no_rows():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({0.1: [1.0, 2.0], 0.5: [2.0, 3.0], 0.9: [3.0, 5.0]})
    said = message(table.iloc[0], TypeError)
    assert "looks like one row of a table" in said
    assert tl.as_distribution(table.iloc[0].to_frame().T).ppf(0.9) == [3.0]
    for labels in (["mean", "std"], ["q1", "q2"]):
        assert "one row of a table" in message(pd.Series([1.0, 2.0], index=labels), TypeError)
    assert len(tl.as_distribution(pd.Series([1.0, 2.0], index=["a", "b"]))) == 2


def test_levels_and_values_with_labels_of_their_own():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame([[3.0, 1.0]], columns=[0.9, 0.1])
    said = message({"levels": [0.1, 0.9], "values": table}, ValueError)
    assert "expected the same, in the same order" in said
    assert tl.as_distribution({"levels": [0.9, 0.1], "values": table}).ppf(0.9) == [3.0]
    xr = pytest.importorskip("xarray")
    values = xr.DataArray([[1.0, 2.0], [3.0, 4.0]], dims=("quantile", "row"))
    assert "may come in any order" in message({"levels": [0.1, 0.9], "values": values}, TypeError)


def test_a_summary_of_parameters_is_no_forecast():
    summary = {"mean": [0.0], "sd": [1.0], "hdi_3%": [-2.0], "r_hat": [1.0]}
    pd = pytest.importorskip("pandas")
    assert "a summary of a sampler by arviz" in message(pd.DataFrame(summary), TypeError)


def test_dims_that_may_all_hold_draws_are_refused():
    xr = pytest.importorskip("xarray")
    draws = np.random.default_rng(0).normal(size=(3, 4, 5))
    both = xr.DataArray(draws[0], dims=("draw", "sample"))
    assert "may all hold draws" in message(both, TypeError)
    stacked = xr.DataArray(draws, dims=("town", "chain", "draw")).stack(z=("chain", "draw"))
    F = tl.as_distribution(stacked)
    np.testing.assert_array_equal(F.draws, np.sort(draws.reshape(3, 20), axis=1))
    unnamed = message(xr.DataArray(draws[0], dims=("town", "iteration")), TypeError)
    assert unnamed.endswith("Rename the one that holds the draws: obj.rename(NAME='draw').")
    levels = message(xr.DataArray(draws[0], dims=("quantile", "town")), TypeError)
    assert levels.endswith("Say the levels of quantile: obj.assign_coords(quantile=levels).")
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"m": (("chain", "draw"), draws[0])})})
    assert "draws of parameters are not a forecast" in message(tree["posterior"], TypeError)


def test_percentages_are_seen_behind_a_1():
    assert message({"levels": [1, 50, 99], "values": [[1.0, 2.0, 3.0]]}, ValueError) == (
        "levels holds 50.0; expected levels in (0, 1). Write 50% as 0.5."
    )


def test_a_list_of_distributions_that_answer_to_every_name():
    class Eager:
        def __getattr__(self, name):
            return None

        def cdf(self, y):
            return 0.5

    assert "a list of distributions" in message([Eager(), Eager()], TypeError)


def test_tensors_with_gradients_are_numbers_everywhere():
    torch = pytest.importorskip("torch")
    loc = torch.zeros(3, requires_grad=True)
    F = tl.Normal(loc, torch.ones(3))
    assert tl.crps(torch.zeros(3, dtype=torch.bfloat16), F) == tl.crps(np.zeros(3), F)
    assert len(tl.Samples(torch.zeros((3, 2), requires_grad=True))) == 3
