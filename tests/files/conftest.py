"""Fixtures for tests on files."""

import pytest

from tests.files.cases import KINDS, make_case
from trueline.files import _source
from trueline.metrics import _evaluate as metrics_evaluate


@pytest.fixture(params=KINDS)
def case(request):
    return make_case(request.param)


@pytest.fixture
def normal():
    return make_case("normal")


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks and blocks small enough that a test's file has many."""
    monkeypatch.setattr(_source, "_MOST_ROWS", 1024)
    monkeypatch.setattr(metrics_evaluate, "_BLOCK", 256)
