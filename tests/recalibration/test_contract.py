"""The promises that all recalibrators share, on every kind of forecast."""

import pytest

import trueline as tl
from trueline.testing import check_recalibrator
from trueline.testing._trial import BASES

RECALIBRATORS = [
    tl.Isotonic(),
    tl.Isotonic(finite_sample=False),
    tl.Smooth(),
    tl.Smooth(n_knots=5),
    tl.BetaCalibration(),
    tl.Scaling(),
    tl.Auto(cv=2),
    tl.Grouped(),
    tl.Grouped(tl.Isotonic(finite_sample=False), shrinkage=0.0),
    tl.Grouped(tl.Smooth(), shrinkage=5),
    tl.Grouped(tl.BetaCalibration()),
    tl.Grouped(tl.Scaling(), shrinkage=0.5),
    tl.Grouped(tl.Auto([tl.Scaling(), tl.Isotonic()], cv=2)),
    tl.IDR(),
]


# Five folds of four candidates take their time, so with all defaults on one base only.
def test_contract_of_auto_with_its_defaults():
    check_recalibrator(tl.Auto(), [BASES["Normal"]], tolerance=0.0)


def test_contract_of_smooth_isotonic_laws():
    check_recalibrator(tl.IDR(smooth=True), [BASES["Point"]], tolerance=0.0)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("recalibrator", RECALIBRATORS, ids=repr)
def test_contract(recalibrator, base):
    check_recalibrator(recalibrator, [BASES[base]], tolerance=0.0)
