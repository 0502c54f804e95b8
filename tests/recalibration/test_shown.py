"""How recalibrators are shown, before and after ``fit``."""

import numpy as np
import pytest

import trueline as tl

RNG = np.random.default_rng(0)
N = 1200
F = tl.Normal(np.zeros(N), 1.0)
Y = RNG.normal(size=N)
GROUPS = np.arange(N) % 3
FITTED = {
    "Isotonic(), fitted on 1,200 rows": lambda: tl.Isotonic().fit(Y, F),
    "Isotonic(finite_sample=False), fitted on 1,200 rows": (
        lambda: tl.Isotonic(finite_sample=False).partial_fit(Y[:1], F[:1]).partial_fit(Y[1:], F[1:])
    ),
    "Grouped(), fitted on 1,200 rows in 3 groups": lambda: tl.Grouped().fit(Y, F, groups=GROUPS),
    "Grouped(shrinkage=5), fitted on 1,200 rows in 3 groups": (
        lambda: tl.Grouped(shrinkage=5).partial_fit(Y, F, groups=GROUPS)
    ),
    "Online(window=9), fitted on 1,200 rows": lambda: tl.Online(window=9).fit(Y, F),
    "Conditional(random_state=0), fitted on 1,200 rows": (
        lambda: tl.Conditional(random_state=0).fit(Y, F, X=Y[:, None])
    ),
    "IDR(smooth=True), fitted on 1,200 rows": lambda: tl.IDR(smooth=True).fit(Y, F),
}


@pytest.mark.parametrize("text", FITTED)
def test_the_text_after_fit(text):
    assert repr(FITTED[text]()) == text


def test_the_text_before_fit_is_the_call():
    R = tl.Grouped(tl.Isotonic(finite_sample=False), shrinkage=3)
    assert repr(R) == "Grouped(recalibrator=Isotonic(finite_sample=False), shrinkage=3)"


def test_rows_that_came_in_parts_are_not_sorted_to_be_shown():
    R = tl.Isotonic().partial_fit(Y, F)
    _ = repr(R), R._repr_html_()
    assert R._scores is None


def test_the_table_holds_parameters_and_the_fit():
    R = tl.Grouped(shrinkage=5.0)
    assert "<p>not fitted</p>" in R._repr_html_()
    html = R.fit(Y, F, groups=GROUPS)._repr_html_()
    assert "<p>fitted on 1,200 rows in 3 groups</p>" in html
    assert [name in html for name in (">recalibrator<", ">shrinkage<", ">5.0<")] == [True] * 3
