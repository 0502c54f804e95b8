"""Isotonic maps beside those of netcal."""

import contextlib
import io
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

import trueline as tl
from tests.recalibration.test_references import N, empirical_frequency


@pytest.fixture(scope="module")
def netcal_isotonic():
    with warnings.catch_warnings():
        # netcal brings in torch and gpytorch, which warn of their own deprecations at import.
        warnings.simplefilter("ignore")
        regression = pytest.importorskip("netcal.regression", reason="netcal is not installed")
    return regression.IsotonicRegression


@pytest.mark.parametrize("bias, factor", [(0.0, 1.0), (0.5, 2.0), (-0.5, 0.5)])
def test_netcal_where_it_is_right(netcal_isotonic, bias, factor):
    """At moderate miscalibration: the same at the knots, and within one step between them.

    netcal draws straight lines in the PIT value and stops at the outermost knots; trueline
    draws them in the score and goes on with tails. Between the same two knots both differ by
    one step, 1 / n, at most. netcal clips its CDF at float32's epsilon.
    """
    rng = np.random.default_rng(5)
    loc, scale = rng.normal(size=(2, N))
    scale = np.exp(0.3 * scale)
    y = loc + scale * (bias + factor * rng.normal(size=N))
    old, new = slice(0, 400), slice(400, N)
    points = np.linspace(-6.0, 6.0, 81)
    reference = netcal_isotonic().fit((loc[old], scale[old]), y[old])
    _, _, theirs = reference.transform((loc[new], scale[new]), t=points)
    theirs = theirs[:, :, 0].T

    map_ = tl.Isotonic(finite_sample=False).fit(y[old], tl.Normal(loc[old], scale[old]))
    recalibrated = map_.transform(tl.Normal(loc[new], scale[new]))
    ours = recalibrated.cdf(points[None, :])
    epsilon = float(np.finfo(np.float32).eps)
    assert np.abs(ours - theirs).max() <= 1 / 400 + epsilon

    knots = recalibrated.unscore(np.sort((y[old] - loc[old]) / scale[old])[None, :])
    _, _, theirs = reference.transform((loc[new], scale[new]), t=knots.T)
    np.testing.assert_allclose(
        recalibrated.cdf(knots), theirs[:, :, 0].T, rtol=0, atol=1e-6 + epsilon
    )


def test_netcal_saturates_where_trueline_does_not(netcal_isotonic):
    """Thirty-fold over-confidence: PIT values are 0 and 1, scores are not."""
    y = np.random.default_rng(6).normal(size=N)
    forecast = tl.Normal(np.zeros(N), 1 / 30)
    pit = ndtr(30 * y)
    assert ((pit == 0) | (pit == 1)).mean() > 0.2
    recalibrated = tl.Isotonic(finite_sample=False).fit(y, forecast).transform(forecast)
    np.testing.assert_allclose(recalibrated.cdf(y), empirical_frequency(y), rtol=0, atol=1e-12)
    reference = netcal_isotonic().fit((np.zeros(N), np.full(N, 1 / 30)), y)
    _, _, theirs = reference.transform((np.zeros(1), np.full(1, 1 / 30)), t=np.sort(y))
    assert np.abs(theirs[:, 0, 0] - empirical_frequency(np.sort(y))).max() > 0.1


def test_the_lines_in_the_documentation(netcal_isotonic):
    """The start of the page and the lines of netcal run, and print what the page shows."""
    page = (Path(__file__).parents[1] / "docs" / "coming-from.md").read_text("utf-8")
    start = re.search(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    lines = re.search(
        r"^```{code-block} python\n(.*?)^```\n\n```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL
    )
    names, out = {}, io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(start[1] + lines[1], "docs/coming-from.md", "exec"), names)
    assert out.getvalue() == lines[2]
