"""The promises that all recalibrators share, on every kind of forecast."""

import pytest

import trueline as tl
from tests.contracts.recalibrator import BASES, check_recalibrator

RECALIBRATORS = [
    tl.Isotonic(),
    tl.Isotonic(finite_sample=False),
    tl.Smooth(),
    tl.Smooth(n_knots=5),
    tl.Beta(),
    tl.Scaling(),
    tl.Auto(),
    tl.Grouped(),
    tl.Grouped(tl.Isotonic(finite_sample=False), shrinkage=0.0),
    tl.Grouped(tl.Smooth(), shrinkage=5),
    tl.Grouped(tl.Beta()),
    tl.Grouped(tl.Scaling(), shrinkage=0.5),
    tl.Grouped(tl.Auto([tl.Scaling(), tl.Isotonic()], cv=2)),
]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("recalibrator", RECALIBRATORS, ids=repr)
def test_contract(recalibrator, base):
    check_recalibrator(recalibrator, [BASES[base]])
