"""Every distribution, and every recalibrated form of it, keeps the contract."""

import inspect

import pytest

import trueline as tl
from tests.distributions.cases import BASES, FORMS
from trueline.testing import check_distribution

# When recalibrated, these take the same path as the normal, the mixture or their parts, so two
# forms of them suffice.
ALIKE = {name for name in BASES if name.startswith(("student", "la", "log", "mixture,", "stacked"))}
CASES = [
    (base, form) for base in BASES for form in FORMS if base not in ALIKE or form in list(FORMS)[:2]
]


@pytest.mark.parametrize("base, form", CASES)
def test_contract(base, form):
    dist = FORMS[form](BASES[base]())
    quadrature = base.startswith(("mixture", "stacked, normal"))
    # Steps under a law that is nearly flat between its tails are hard for quadrature.
    rough = base == "mixture of steps" and form.endswith("weighed")
    check_distribution(dist, tolerance=1e-4 if rough else 1e-6 if quadrature else 1e-8)


def test_no_public_class_is_left_out():
    public = {getattr(tl, name) for name in tl.__all__ if inspect.isclass(getattr(tl, name))}
    distributions = {c for c in public if issubclass(c, tl.Distribution)} - {tl.Distribution}
    assert distributions <= {type(make()) for make in BASES.values()}
