"""What a broken promise says, and that no switch of the interpreter silences it."""

import re
import subprocess
import sys

import numpy as np
import pytest

import trueline as tl
from trueline.testing._require import description, require, require_all, require_same

# A fault for each suite.
OPTIMISED = """
import numpy as np
from sklearn.linear_model import LinearRegression
import trueline as tl

class Wrong(tl.Normal):
    def interval(self, coverage=0.9):
        return super().interval(1.0 - np.asarray(coverage))

class Heedless(tl.Isotonic):
    def fit(self, y, dist, sample_weight=None, groups=None):
        return super().fit(y, dist)

def normal(loc, scale, rng):
    return tl.Normal(loc, scale)

model = tl.CalibratedRegressor(LinearRegression(), scale_estimator=None)
for check, *args in (
    (tl.testing.check_distribution, Wrong([0.0, 1.0], 1.0)),
    (tl.testing.check_recalibrator, Heedless(), [normal]),
    (tl.testing.check_estimator, model),
):
    try:
        check(*args)
    except AssertionError as error:
        print(str(error).partition(":")[0])
"""


def fails(message):
    return pytest.raises(AssertionError, match=f"^{re.escape(message)}$")


def test_the_suites_are_public():
    names = ["check_distribution", "check_estimator", "check_recalibrator"]
    assert sorted(tl.testing.__all__) == names
    for name in names:
        assert ">>> " in getattr(tl.testing, name).__doc__


def test_promises_hold_under_optimisation():
    done = subprocess.run(
        [sys.executable, "-O", "-c", OPTIMISED], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "intervals do not nest",
        "a row of weight 0 counts",
        "a second fit on the same rows differs",
    ]


def test_what_holds_passes():
    require(True, "no")
    require_all(np.array([True, True]), "no", found=3.0)
    require_same([1.0, np.inf, np.nan], [1.0, np.inf, np.nan], "no")
    require_same(1.0, 1.1, "no", rtol=0.1)
    require_same(1.0, 1.1, "no", atol=0.11)


def test_what_does_not_is_said():
    with fails("the sky fell"):
        require(False, "the sky fell")


def test_the_first_place_is_shown_with_its_numbers():
    y = np.array([[1.0, 2.0], [0.1 + 0.2, -1.0]])
    message = "y is small: y = 0.30000000000000004, limit = 0.5, at [1, 0], one of 2 of 4 places"
    with fails(message):
        require_all(y > 0.5, "y is small", y=y, limit=0.5)


def test_a_single_number_has_no_place():
    with fails("the mean is off: found = 1.0, expected = 2.0"):
        require_same(np.float64(1.0), 2.0, "the mean is off")


def test_text_is_shown_as_it_is():
    with fails("names differ: found = 'a', at [0], one of 1 of 1 places"):
        require_all([False], "names differ", found=np.array(["a"]))


def test_shapes_must_be_the_same():
    with fails("results differ: found shape (2, 1), expected (2,)"):
        require_same(np.zeros((2, 1)), np.zeros(2), "results differ")


@pytest.mark.parametrize("found", [[1.0, np.nan], [1.0, np.inf], [1.0, 2.0 + 1e-15]])
def test_nothing_is_close_unless_it_is_said(found):
    with pytest.raises(AssertionError, match="differs"):
        require_same(found, [1.0, 2.0], "it differs")


def test_addresses_are_no_part_of_a_description():
    assert description([object()]) == "[<object object>]"
    assert description(tl.Isotonic()) == "Isotonic()"
