"""Cells add up, whatever the order of rows and however they are split."""

import numpy as np
import pytest

from trueline.scores import Cells, _cells, collapse, round_scores


def values_of_every_size(n):
    """Zeros of both signs, subnormals, ties, and exponents from end to end."""
    rng = np.random.default_rng(0)
    x = np.ldexp(rng.normal(size=n), rng.integers(-1070, 1020, size=n))
    x[:8] = [0.0, -0.0, 5e-324, -5e-324, 1.0, -1.0, 1.0 + 2.0**-18, 1.0 + 2.0**-16]
    return np.concatenate([x, rng.normal(size=n).round(2), rng.normal(size=n)])


def expected(x, terms):
    """Rounded values, and their sums, by sorting."""
    rounded = round_scores(x)
    order = np.argsort(rounded, kind="stable")
    parts = [collapse(rounded[order], term[order]) for term in terms]
    return parts[0][0], np.array([sums for _, sums in parts])


@pytest.mark.parametrize("tables", [0, 3, 8], ids="{} tables".format)
@pytest.mark.parametrize("cuts", [[], [1], [700, 701, 4000]], ids=["whole", "one", "parts"])
def test_sums_are_those_of_sorted_rows(tables, cuts, monkeypatch):
    monkeypatch.setattr(_cells, "_MOST_TABLES", tables)
    monkeypatch.setattr(_cells, "_WAITING", 500)
    monkeypatch.setattr(_cells, "_BLOCK", 256)
    x = values_of_every_size(2000)
    # Whole numbers, whose sums do not round.
    terms = np.random.default_rng(1).integers(1, 10, size=(2, x.size)).astype(float)
    cells = Cells(2)
    for rows in np.split(np.random.default_rng(2).permutation(x.size), cuts):
        part = Cells(2)
        part.add(x[rows], *terms[:, rows])
        before = part.filled()
        cells = cells.merge(part)
        for mine, first in zip(part.filled(), before, strict=True):
            np.testing.assert_array_equal(mine, first)
    values, sums = cells.filled()
    wanted, wanted_sums = expected(x, terms)
    np.testing.assert_array_equal(values, wanted)
    np.testing.assert_array_equal(sums, wanted_sums)


def test_merging_leaves_both_as_they_were():
    first, second = Cells(1), Cells(1)
    first.add(np.array([1.0]), 1.0)
    second.add(np.array([1.0, 2.0]), 1.0)
    merged = first.merge(second)
    merged.add(np.array([1.0]), 1.0)
    np.testing.assert_array_equal(merged.filled()[1], [[3.0, 1.0]])
    np.testing.assert_array_equal(first.filled()[1], [[1.0]])
    np.testing.assert_array_equal(second.filled()[1], [[1.0, 1.0]])


def test_cells_without_weight_are_left_out():
    cells = Cells(1)
    cells.add(np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 2.0]))
    np.testing.assert_array_equal(cells.filled()[0], [1.0, 3.0])


def test_what_is_not_next_to_each_other_in_memory():
    cells = Cells(1)
    cells.add(np.arange(10.0)[::3], 1.0)
    np.testing.assert_array_equal(cells.filled()[0], [0.0, 3.0, 6.0, 9.0])


def test_memory_is_bounded_whatever_the_values():
    cells = Cells(1)
    x = values_of_every_size(100_000)
    cells.add(x, 1.0)
    assert cells._table.nbytes == 8 * cells._used == 64 * 2**19
    held = sum(cell.nbytes + sums.nbytes for cell, sums in cells._waiting)
    assert held <= 12 * x.size
