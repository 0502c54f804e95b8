"""Frames of pandas, polars and pyarrow, in whichever version there is."""

import numpy as np
import pytest

import trueline as tl

COLUMNS = {"q0.9": [4.0, 6.0], "q0.1": [1.0, 0.0], "mean": [2.0, 3.0], "day": [1, 2]}
PAIR = {"mean": [1.0, 2.0], "variance": [4.0, 9.0]}


def frame(library, columns):
    module = pytest.importorskip(library)
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_by_name(library):
    F = tl.as_distribution(frame(library, COLUMNS))
    np.testing.assert_array_equal(F.levels, [0.1, 0.9])
    np.testing.assert_array_equal(F.values, [[1.0, 4.0], [0.0, 6.0]])
    np.testing.assert_array_equal(tl.as_distribution(frame(library, PAIR)).scale, [2.0, 3.0])
    draws = {f"sample_{i}": [float(i), 1.0] for i in range(12)}
    F = tl.as_distribution(frame(library, draws))
    np.testing.assert_array_equal(F.draws[0], np.arange(12.0))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_types_of_columns(library):
    whole = frame(library, {"mean": [1, 2], "std": [1, 2]})
    np.testing.assert_array_equal(tl.as_distribution(whole).scale, [1.0, 2.0])
    words = frame(library, {"mean": ["a", "b"], "std": [1, 2]})
    with pytest.raises(TypeError, match=r"obj\['mean'\] holds"):
        tl.as_distribution(words)


def test_quantiles_of_pandas_itself():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    draws = pd.DataFrame(rng.normal(size=(50, 3)))  # draws x rows, as pandas summarises them
    levels = [0.9, 0.1, 0.5]
    F = tl.as_distribution(draws.quantile(levels).T)
    np.testing.assert_allclose(F.ppf(0.5), draws.median())
    summary = draws.describe(percentiles=[0.05, 0.95]).T
    G = tl.as_distribution(summary.filter(like="%"))
    np.testing.assert_allclose(G.levels[[0, -1]], [0.05, 0.95])
    np.testing.assert_allclose(G.ppf(0.95), draws.quantile(0.95))
    with pytest.raises(TypeError, match="a mean and a standard deviation and quantiles"):
        tl.as_distribution(summary)
    np.testing.assert_allclose(tl.as_distribution(summary, kind="mean_std").std(), draws.std())


def test_nullable_and_arrow_columns_of_pandas():
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for dtype in ("Float64", "double[pyarrow]"):
        table = pd.DataFrame(PAIR).astype(dtype)
        np.testing.assert_array_equal(tl.as_distribution(table).scale, [2.0, 3.0])
