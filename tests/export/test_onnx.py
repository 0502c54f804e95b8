"""onnxruntime gives our numbers, to the rounding of the type."""

import json
import math
import subprocess
import sys
import warnings
from contextlib import contextmanager

import numpy as np
import onnx
import onnxruntime
import pytest

import trueline as tl
from trueline.export import to_onnx
from trueline.laws import BetaLaw, NormalLaw, SplineLaw

MAPS = [
    tl.Isotonic(),
    tl.Isotonic(finite_sample=False),
    tl.Smooth(),
    tl.Smooth(n_knots=2),
    tl.BetaCalibration(),
    tl.Scaling(),
    tl.Auto(),
]
LEVELS = [1e-9, 0.05, 0.5, 0.95, 1.0 - 1e-9]
TYPES = ["float32", "float64"]

weak = pytest.mark.filterwarnings("ignore::trueline._validation.CalibrationWarning")


@contextmanager
def weakly():
    """Ask for more than a few rows can say."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        yield


def unit(dtype):
    """Largest relative error of one rounding."""
    return float(np.finfo(dtype).eps) / 2.0


def rows(n, seed=0):
    """Outcomes and forecasts that are skewed, biased and too sure; numbers of float32."""
    rng = np.random.default_rng(seed)
    mean, std = 3.0 * rng.normal(size=n), rng.uniform(0.1, 2.0, size=n)
    return short(mean + std * (2.0 * rng.gamma(2.0, size=n) - 1.0)), short(mean), short(std)


def short(a):
    return np.asarray(a, np.float32).astype(np.float64)


def run(model, dtype="float32", **inputs):
    """Run on one thread; outputs by name."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    feed = {
        name: np.asarray(v, np.int64 if name == "group" else dtype) for name, v in inputs.items()
    }
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feed), strict=True))


def notes(model):
    return {prop.key: json.loads(prop.value) for prop in model.metadata_props}


def check_quantiles(got, G, loc, dtype):
    """One rounding each of the constant, of its product with the scale and of the sum."""
    expected = G.ppf(LEVELS)
    off = np.abs(got.astype(np.float64) - expected)
    spread = np.abs(expected - loc[:, None])
    # The last digit is for our own rounding of what we compare with.
    assert (off <= unit(dtype) * (np.abs(loc[:, None]) + 3.0 * spread) * (1.0 + 1e-6)).all()


def allowance(law, z, dtype):
    """What the formula adds to the CDF at a given score: a bound in units of one rounding.

    Piecewise: the share of a piece takes 3 roundings, of numbers up to 1, base and rise one each,
    their product and sum two, and as many again for knots that are far from z. Phi: Horner's
    scheme of degree 12 or 20 takes 24 or 40 roundings of sums up to 1.77, of a value of about
    1.13, and half of that enters a tail of up to 1/2; exp is taken to be good to 4 units in the
    last place; all else adds less than 10. Spline: 8 roundings in the height, times the density.
    Beta: the same errors in the logs, times a and b and the slope R (1 - R) of the logit.
    """
    u = unit(dtype)
    horner = (24.0 if dtype == "float32" else 40.0) * 1.77 / 1.13
    # Degree 12 is within 6e-9 of the function, degree 20 within 4e-15.
    fit = 6e-9 if dtype == "float32" else 4e-15
    phi = 0.5 * (horner * u + fit) + 14.0 * u
    if isinstance(law, NormalLaw):
        return phi
    if isinstance(law, SplineLaw):
        powers = np.abs(law._spline.c) * np.diff(law.knots) ** np.array([[3], [2], [1], [0]])
        return phi + 0.4 * 8.0 * u * powers.sum(axis=0).max()
    if isinstance(law, BetaLaw):
        from scipy.special import log_ndtr

        t = (z - law.shift) / law.scale
        small = np.abs(log_ndtr(-np.abs(t)))
        logs = 2.0 * (horner * u + fit) + 14.0 * u + 4.0 * u * small
        slope = law.cdf(z) * law.sf(z)
        return slope * ((law.a + law.b) * logs + 4.0 * u * abs(law.c)) + 14.0 * u
    return 12.0 * u


def check_cdf(got, law, y, loc, scale, dtype):
    """Between ours a little below and a little above: scores and knots are rounded too."""
    z = (y - loc) / scale
    reach = 8.0 * unit(dtype) * np.abs(z)
    more = allowance(law, z, dtype)
    got = got.astype(np.float64)
    assert (got >= law.cdf_left(z - reach) - more).all()
    assert (got <= law.cdf(z + reach) + more).all()
    assert ((got >= 0.0) & (got <= 1.0)).all()


@weak
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 2, 7, 500])
@pytest.mark.parametrize("R", MAPS, ids=repr)
def test_location_scale_forecasts(R, n, dtype):
    y, mean, std = rows(n)
    R = R.fit(y, tl.Normal(mean, std))
    new, loc, scale = rows(1000, seed=1)
    new = short(loc + (new - loc) * np.random.default_rng(2).choice([0.5, 5.0, 50.0], 1000))
    new[:n], loc[:n], scale[:n] = y, mean, std  # at the knots themselves
    out = run(to_onnx(R, levels=LEVELS, cdf=True, dtype=dtype), dtype, loc=loc, scale=scale, y=new)
    assert list(out) == ["quantiles", "cdf"]
    assert out["quantiles"].dtype == out["cdf"].dtype == dtype
    G = R.transform(tl.Normal(loc, scale))
    check_quantiles(out["quantiles"], G, loc, dtype)
    check_cdf(out["cdf"], R.law_, new, loc, scale, dtype)
    if dtype == "float64":
        np.testing.assert_allclose(out["cdf"], G.cdf(new), rtol=0, atol=1e-14)


@weak
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("R", MAPS, ids=repr)
def test_point_forecasts_have_no_scale(R, dtype):
    y, mean, _ = rows(300)
    R = R.fit(y, tl.Point(mean))
    new, loc, _ = rows(1000, seed=1)
    out = run(to_onnx(R, levels=LEVELS, cdf=True, dtype=dtype), dtype, loc=loc, y=new)
    check_quantiles(out["quantiles"], R.transform(tl.Point(loc)), loc, dtype)
    check_cdf(out["cdf"], R.law_, new, loc, 1.0, dtype)


@weak
@pytest.mark.parametrize("dtype", TYPES)
def test_ties_and_weights(dtype):
    rng = np.random.default_rng(0)
    y = rng.integers(-3, 4, size=400).astype(float)
    at = short(np.sort(np.concatenate([np.arange(-5.0, 6.0), rng.uniform(-5.0, 5.0, 500)])))
    for weight in (None, rng.uniform(0.1, 3.0, size=400), np.full(400, 0.01)):
        R = tl.Isotonic(support=None).fit(y, tl.Point(np.zeros(400)), sample_weight=weight)
        out = run(to_onnx(R, cdf=True, dtype=dtype), dtype, loc=np.zeros(len(at)), y=at)
        # Whole numbers and their differences are exact, so jumps are where ours are.
        expected, u = R.law_.cdf(at), unit(dtype)
        np.testing.assert_allclose(out["cdf"], expected, rtol=0, atol=12.0 * u + 5.0 * 8.0 * u)


def test_scores_that_float32_cannot_tell_apart():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(5000) < 0.5, 1.0, 3.0) + 1e-6 * rng.normal(size=5000)
    y[:50] = rng.normal(size=50)
    R = tl.Isotonic().fit(y, tl.Point(np.zeros(5000)))
    assert len(np.unique(short(R.law_.knots))) < 1000  # of 5000
    at = short(np.concatenate([y, rng.uniform(-5.0, 5.0, 1000)]))
    out = run(to_onnx(R, levels=None, cdf=True), loc=np.zeros(len(at)), y=at)
    check_cdf(out["cdf"], R.law_, at, 0.0, 1.0, "float32")
    # It rises within a piece, and from one to the next up to the roundings of rise and sum.
    rises = np.diff(out["cdf"][np.argsort(at)].astype(np.float64))
    assert rises.min() >= -4.0 * unit("float32")


@pytest.mark.parametrize(
    "R", [tl.Isotonic(), tl.Smooth(), tl.BetaCalibration(), tl.Scaling()], ids=repr
)
def test_far_tails_in_float32(R):
    y, mean, std = rows(1000)
    R = R.fit(y, tl.Normal(mean, std))
    ends = R.law_.ppf(np.array([1e-9, 1e-30, 1.0 - 1e-9]))
    z = short([*ends, -1e30, 1e30])
    out = run(to_onnx(R, cdf=True), loc=np.zeros(5), scale=np.ones(5), y=z)["cdf"]
    reach = 8.0 * unit("float32") * np.abs(z)
    assert out[0] >= R.law_.cdf(z - reach)[0] * (1.0 - 2e-5)
    assert out[0] <= R.law_.cdf(z + reach)[0] * (1.0 + 2e-5)
    assert 0 < out[1] < 2e-30
    assert out[2:].tolist() == [1.0, 0.0, 1.0]


@weak
def test_a_large_map_is_thinned_and_says_by_how_much():
    y, mean, std = rows(100_000)
    R = tl.Isotonic().fit(y, tl.Normal(mean, std))
    model = to_onnx(R, levels=LEVELS, cdf=True, dtype="float64")
    knots = R.law_.knots
    zero = np.zeros(len(knots))
    out = run(model, "float64", loc=zero, scale=zero + 1.0, y=knots)
    off = np.abs(out["cdf"] - R.law_.cdf(knots)).max()
    assert 0 < off < 1e-4
    assert off == pytest.approx(notes(model)["cdf_error"], abs=1e-14)
    G = R.transform(tl.Normal(0.0, 1.0))
    check_quantiles(out["quantiles"][:1], G, np.zeros(1), "float64")
    assert notes(to_onnx(R, cdf=True, max_knots=100_000))["cdf_error"] == 0.0


def test_no_array_of_rows_by_knots_and_a_search_of_logarithmic_length():
    sizes = {}
    for n in (1000, 8000):
        y, mean, std = rows(n)
        R = tl.Isotonic().fit(y, tl.Normal(mean, std))
        model = to_onnx(R, levels=[0.1, 0.9], cdf=True)
        assert {node.domain for node in model.graph.node} == {""}
        graph = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
        assert len(graph.value_info) > 50
        for value in graph.value_info:
            shape = [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
            assert shape in ([], [1], ["n"], ["n", 1], ["n", 2])
        sizes[n] = len(graph.node)
    assert sizes[8000] - sizes[1000] == 3 * 6  # three more halvings, of six operators each


def grouped(inner, **parameters):
    y, mean, std = rows(600)
    groups = np.array(["a", "b", "c"])[np.arange(600) % 3]
    y = y + 5.0 * (np.arange(600) % 3)
    # All scores of the last are the same, so that some maps fall back to a normal law.
    y[groups == "c"] = mean[groups == "c"] + std[groups == "c"]
    with weakly():
        R = tl.Grouped(inner, **parameters).fit(y, tl.Normal(mean, std), groups=groups)
    return R, y, mean, std, groups


@weak
@pytest.mark.parametrize("shrinkage", [0, 20])
@pytest.mark.parametrize("inner", MAPS, ids=repr)
def test_groups(inner, shrinkage):
    R, y, mean, std, groups = grouped(inner, shrinkage=shrinkage)
    names = np.where(np.arange(600) % 7 == 0, "new", groups)
    codes = np.array([R.groups_.index(k) if k in R.groups_ else -1 for k in names])
    codes[7] = 3  # any number that is no position will do
    codes[14] = 10**12
    model = to_onnx(R, levels=LEVELS, cdf=True, dtype="float64")
    assert notes(model)["groups"] == ["a", "b", "c"]
    out = run(model, "float64", loc=mean, scale=std, y=y, group=codes)
    G = R.transform(tl.Normal(mean, std), groups=names)
    check_quantiles(out["quantiles"], G, mean, "float64")
    np.testing.assert_allclose(out["cdf"], G.cdf(y), rtol=0, atol=1e-14)


def test_groups_with_laws_of_different_kinds():
    R, *_ = grouped(tl.Smooth(), shrinkage=0)
    kinds = [type(R.law(key)) for key in R.groups_]
    assert kinds == [SplineLaw, SplineLaw, NormalLaw]  # so that the test above says something


@weak
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "R", [tl.Isotonic(), tl.Smooth(), tl.BetaCalibration(), tl.Scaling(), tl.Grouped()], ids=repr
)
def test_rows_that_are_no_forecast_give_nan(R, dtype):
    y, mean, std = rows(50)
    by = {"groups": np.arange(50) % 2} if isinstance(R, tl.Grouped) else {}
    R = R.fit(y, tl.Normal(mean, std), **by)
    nan, inf = math.nan, math.inf
    inputs = {
        "loc": [nan, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        "scale": [1.0, nan, 1.0, 0.0, -1.0, 1.0, 1.0],
        "y": [0.0, 0.0, nan, 0.0, 0.0, inf, -inf],
    }
    if by:
        inputs["group"] = [0, 1, 2, 0, 1, 2, 0]
    out = run(to_onnx(R, cdf=True, dtype=dtype), dtype, **inputs)
    assert np.isnan(out["cdf"][:5]).all()
    assert out["cdf"][5:].tolist() == [1.0, 0.0]
    bad = [True, True, False, True, True, False, False]
    assert (np.isnan(out["quantiles"]).all(axis=1) == bad).all()
    assert (np.isnan(out["quantiles"]).any(axis=1) == bad).all()


def test_only_what_was_asked_for():
    R = tl.Scaling().fit([1.0, 3.0], tl.Normal([0.0, 0.0], 1.0))
    for levels, cdf, inputs, outputs in (
        (0.5, False, ["loc", "scale"], ["quantiles"]),
        (None, True, ["loc", "scale", "y"], ["cdf"]),
        ([0.5], True, ["loc", "scale", "y"], ["quantiles", "cdf"]),
    ):
        graph = to_onnx(R, levels=levels, cdf=cdf).graph
        assert [value.name for value in graph.input] == inputs
        assert [value.name for value in graph.output] == outputs
    assert notes(to_onnx(R, levels=0.5)) == {
        "recalibrator": "Scaling()",
        "score": "standardised",
        "levels": [0.5],
    }


def test_online_as_it_stands():
    y, mean, std = rows(2000)
    R = tl.Online(coverage=0.9)
    R.update(y, tl.Normal(mean, std))
    with weakly():
        model = to_onnx(R, levels=LEVELS, cdf=True, dtype="float64")
        out = run(model, "float64", loc=mean, scale=std, y=y)
        G = R.transform(tl.Normal(mean, std))
        check_quantiles(out["quantiles"], G, mean, "float64")
    np.testing.assert_allclose(out["cdf"], G.cdf(y), rtol=0, atol=1e-14)


def test_joined_to_a_network():
    y, mean, std = rows(200)
    R = tl.Isotonic().fit(y, tl.Normal(mean, std))
    helper, real = onnx.helper, onnx.TensorProto.FLOAT
    network = helper.make_model(
        helper.make_graph(
            [
                helper.make_node("Neg", ["x"], ["0"]),
                helper.make_node("Identity", ["0"], ["centre"]),
                helper.make_node("Abs", ["x"], ["spread"]),
            ],
            "network",
            [helper.make_tensor_value_info("x", real, ["n"])],
            [helper.make_tensor_value_info(name, real, ["n"]) for name in ("centre", "spread")],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    model = to_onnx(R, levels=[0.1, 0.9])
    joined = onnx.compose.merge_models(
        network, model, io_map=[("centre", "loc"), ("spread", "scale")]
    )
    x = np.array([-1.0, 0.25, 0.5], np.float32)
    expected = run(model, loc=-x, scale=np.abs(x))["quantiles"]
    np.testing.assert_array_equal(run(joined, x=x)["quantiles"], expected)


def test_files_are_written_whole(tmp_path):
    R = tl.Scaling().fit([1.0, 3.0], tl.Normal([0.0, 0.0], 1.0))
    model = to_onnx(R, tmp_path / "map.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["map.onnx"]
    assert onnx.load(tmp_path / "map.onnx") == model
    with pytest.raises(OSError, match="cannot write"):
        to_onnx(R, tmp_path / "nowhere" / "map.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["map.onnx"]


def test_without_onnx(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    R = tl.Scaling().fit([1.0, 3.0], tl.Normal([0.0, 0.0], 1.0))
    with pytest.raises(ImportError) as caught:
        to_onnx(R)
    assert str(caught.value) == (
        "to_onnx needs onnx, which cannot be imported (import of onnx halted; None in "
        'sys.modules). Install it with: pip install "onnx>=1.17" "onnxruntime>=1.20"'
    )


def test_import_leaves_onnx_alone():
    code = "import sys, trueline.export; print('onnx' in sys.modules, 'duckdb' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


# Of the small numbers it is the scale of the tail that must not be lost: their mean excess.
@pytest.mark.parametrize("unit_of_y, value", [(1e39, 1e39), (2.0**-133, 1.5 * 2.0**-133)])
def test_numbers_beyond_float32(unit_of_y, value):
    y = unit_of_y * np.array([1.0, 2.0, 3.0])
    R = tl.Isotonic().fit(y, tl.Point(np.zeros(3)))
    with pytest.raises(ValueError, match="range") as caught:
        to_onnx(R, levels=None, cdf=True)
    assert str(caught.value) == (
        f"the map holds {value:g}, which is out of the range of float32. Use dtype='float64' or "
        f"change the unit of the forecasts."
    )
    out = run(to_onnx(R, levels=None, cdf=True, dtype="float64"), "float64", loc=[0.0], y=y[1:2])
    assert out["cdf"] == [0.5]


def test_a_level_beyond_the_rows_warns_where_it_was_asked_for():
    R = tl.Isotonic().fit([1.0, 2.0, 3.0], tl.Point([0.0, 0.0, 0.0]))
    with pytest.warns(tl.CalibrationWarning, match="level 0.95 lies outside") as caught:
        to_onnx(R, levels=[0.5, 0.95])
    assert [w.filename for w in caught] == [__file__]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"levels": None}, "levels is None and cdf is False; expected at least one output."),
        ({"levels": [5, 95]}, "levels holds 5.0; expected levels in (0, 1). Write 5% as 0.05."),
        ({"levels": []}, "levels is empty; expected at least one level."),
        ({"cdf": "yes"}, "cdf is 'yes'; expected True or False."),
        ({"dtype": "float16"}, "dtype is 'float16'; expected 'float32' or 'float64'."),
        ({"max_knots": 1.5}, "max_knots is 1.5; expected an integer of 2 or more."),
    ],
)
def test_bad_parameters(arguments, message):
    R = tl.Scaling().fit([1.0, 3.0], tl.Normal([0.0, 0.0], 1.0))
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole message is compared
        to_onnx(R, **arguments)
    assert str(caught.value) == message


def test_maps_that_cannot_leave_python():
    y, mean, _ = rows(50)
    R = tl.Isotonic().fit(y, tl.Samples(mean[:, None] + np.array([-1.0, 0.0, 1.0])))
    with pytest.raises(ValueError, match="whole forecast") as kind:
        to_onnx(R)
    assert str(kind.value) == (
        "this Isotonic was fitted on 'normal score' scores, which need a whole forecast per row; "
        "to_onnx takes maps of location-scale forecasts and of Point. Fit it on Normal(mean, std)."
    )
    with pytest.raises(tl._validation.NotFittedError):
        to_onnx(tl.BetaCalibration())


@pytest.mark.parametrize("dtype", TYPES)
def test_a_least_width_is_added_to_the_scale(dtype):
    y, mean, std = rows(500)
    std[0] = 1e-7
    new, loc, scale = rows(200, seed=1)
    scale[0] = 1e-7
    R = tl.Isotonic().fit(y, tl.Normal(mean, std))
    assert R.least_width_ > 0
    with weakly():
        model = to_onnx(R, levels=LEVELS, cdf=True, dtype=dtype)
        G = R.transform(tl.Normal(loc, scale))
        expected = G.ppf(LEVELS)
    out = run(model, dtype, loc=loc, scale=scale, y=new)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(out["quantiles"], expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(out["cdf"], G.cdf(new), rtol=0, atol=10 * tolerance)
    below = run(model, dtype, loc=loc[:1], scale=-0.5 * R.least_width_ * np.ones(1), y=new[:1])
    assert np.isnan(below["quantiles"]).all()


def test_maps_of_outcomes_with_atoms_are_refused():
    y = np.random.default_rng(0).poisson(2.0, size=200).astype(float)
    R = tl.Isotonic().fit(y, tl.Normal(np.full(200, 2.0), 1.4))
    with pytest.raises(ValueError, match=r"to_onnx has no formula.*Isotonic\(support=None\)"):
        to_onnx(R)
