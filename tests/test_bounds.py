"""Every requirement in pyproject.toml has one lower bound, which `make lowest` can install."""

from pathlib import Path

import pytest

PACKAGES = Path(__file__).parents[1] / "packages"


@pytest.fixture(name="lowest")
def _lowest(monkeypatch):
    monkeypatch.syspath_prepend(PACKAGES)
    import lowest

    return lowest


def test_every_requirement_has_one_lower_bound(lowest):
    found = lowest.bounds(lowest.project())
    assert {"numpy", "scikit-learn", "scipy", "dask", "typer", "torch", "pytest"} <= set(found)


def test_a_requirement_without_a_bound_or_with_two_is_refused(lowest):
    assert lowest.bounds({"": ["a-b[c,d]>=1.2", "e>=2"], "more": ["e>=2"]}) == {
        "a-b": "1.2",
        "e": "2",
    }
    with pytest.raises(ValueError, match="'e' of 'more' is not of the form name>=version"):
        lowest.bounds({"": ["a>=1"], "more": ["e"]})
    with pytest.raises(ValueError, match="a has two lower bounds: 1 and 2"):
        lowest.bounds({"": ["a>=1"], "more": ["a>=2"]})
