"""Words of regions say exactly which rows are inside; slabs are the worst there are."""

import itertools
import re

import numpy as np
import pytest

from trueline.features import Table, directions, held_out_chance, learn_regions, worst_slab


def holds(rule, row):
    """Whether a row, a dict of its values, fulfils the words of a region."""
    return rule == "all rows" or all(_fulfils(part, row) for part in rule.split(" and "))


def _fulfils(part, row):
    allowed = part.endswith(" (or missing)")
    part = part.removesuffix(" (or missing)")
    if found := re.fullmatch(r"(\w+) is (not )?missing", part):
        return (row[found[1]] is None) != bool(found[2])
    name = re.search(r"[a-z]+", part)[0]
    value = row[name]
    if value is None:
        return allowed
    if found := re.fullmatch(rf"{name} is (not )?(.+)", part):
        names = re.findall(r"'(\w+)'", found[2])
        inside = value in names if names else value == float(found[2])
        return inside != bool(found[1])
    if found := re.fullmatch(rf"(\S+) < {name} <= (\S+)", part):
        return float(found[1]) < value <= float(found[2])
    sign, edge = re.fullmatch(rf"{name} (<=|>) (\S+)", part).groups()
    return value <= float(edge) if sign == "<=" else value > float(edge)


@pytest.mark.parametrize("seed", range(12))
def test_the_words_of_a_region_are_true(seed):
    rng = np.random.default_rng(seed)
    n = 1500
    number = np.round(10.0 ** rng.normal(size=n) * rng.choice([-1, 1], size=n), 3)
    few = rng.integers(4, size=n).astype(float)
    place = rng.choice(["north", "south", "east", "west"], size=n)
    gone = rng.uniform(size=(3, n)) < 0.2
    table = {
        "number": [None if g else v for v, g in zip(number.tolist(), gone[0], strict=True)],
        "few": [None if g else v for v, g in zip(few.tolist(), gone[1], strict=True)],
        "place": [None if g else v for v, g in zip(place.tolist(), gone[2], strict=True)],
    }
    wild = np.isin(place, ["north", "west"])
    chance = 0.02 + 0.3 * (number > 0.2) + 0.3 * (few == 2) + 0.3 * wild
    chance = np.where(gone[seed % 3], 0.7, chance)
    event = rng.uniform(size=n) < chance
    found = learn_regions(Table.read(table, n), event, None, np.arange(0, n, 2), 20)
    assert len(found) > 2
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    for rule, inside in found:
        np.testing.assert_array_equal([holds(rule, row) for row in rows], inside)
    assert (np.sum([inside for _, inside in found], axis=0) == 1).all()


def test_times_and_rare_values_have_words():
    n = 1000
    rng = np.random.default_rng(0)
    day = np.datetime64("2024-01-01") + rng.integers(100, size=n)
    event = rng.uniform(size=n) < np.where(day < np.datetime64("2024-02-01"), 0.9, 0.1)
    found = learn_regions(Table.read({"day": day}, n), event, None, np.arange(n), 20)
    assert [rule for rule, _ in found] == ["day <= 2024-01-31", "day > 2024-01-31"]
    kind = np.where(rng.uniform(size=n) < 0.3, [f"k{i}" for i in range(n)], "usual")
    found = learn_regions(Table.read({"kind": kind}, n), kind != "usual", None, np.arange(n), 20)
    assert [rule for rule, _ in found] == ["kind is 'usual'", "kind is a rare value"]


def test_names_in_words_are_safe_to_print():
    n = 400
    x = np.arange(n) % 2
    table = Table.read({"a\x1b[2J" + 50 * "b": x}, n)
    rules = [rule for rule, _ in learn_regions(table, x == 1, None, np.arange(n), 20)]
    assert all(rule.isprintable() and len(rule) < 60 for rule in rules)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ties", [False, True])
def test_the_worst_slab_is_that_of_a_search_through_all(seed, ties):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(60, 2))
    Z = np.round(Z) if ties else Z
    w = rng.uniform(0.5, 2.0, size=60)
    event = rng.uniform(size=60) < 0.3
    along = directions(2, 6, rng)
    best = np.average(event, weights=w)
    for direction in along:
        at = (Z * direction).sum(axis=1)
        for low, high in itertools.product(np.unique(at), repeat=2):
            inside = (low <= at) & (at <= high)
            if w[inside].sum() >= 0.2 * w.sum():
                best = max(best, np.average(event[inside], weights=w[inside]))
    found = worst_slab(Z, event, w, along, 0.2)
    assert found.share == pytest.approx(best, abs=1e-12)
    inside = found.contains(Z)
    assert np.average(event[inside], weights=w[inside]) == pytest.approx(best, abs=1e-12)


def test_chances_of_rows_are_learned_on_others():
    rng = np.random.default_rng(0)
    event = rng.uniform(size=3000) < 0.9
    X = {"id": np.arange(3000).astype(str), "x": rng.normal(size=3000)}
    p = held_out_chance(Table.read(X, 3000), event, None, rng)
    # Of noise nothing can be learned, so that the chances are no better than the mean.
    assert abs(np.corrcoef(p, event)[0, 1]) < 3.0 / np.sqrt(3000)
    assert abs(p.mean() - 0.9) < 0.02


def test_ranks_have_no_unit():
    X = np.random.default_rng(0).normal(size=(50, 1))
    np.testing.assert_allclose(Table.read(X, 50).ranked(), Table.read(np.exp(X), 50).ranked())
    table = Table.read({"a": [np.inf, 1.0, None, -1.0], "b": list("xxyx"), "c": [1.0] * 4}, 4)
    assert table.ranked().shape == (4, 4)  # ranks, missing, x, y
    np.testing.assert_allclose(table.ranked().mean(axis=0), 0.0, atol=1e-12)
