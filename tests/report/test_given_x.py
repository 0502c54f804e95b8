"""The section about coverage given x shows what `conditional_coverage` finds."""

import re

import numpy as np
import pandas as pd
import pytest

import trueline as tl
from tests.report.parsing import parse


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"place": rng.choice(["<north>", "south"], size=3000), "x": rng.normal(size=3000)}
    )
    return X, rng.normal(size=3000) * np.where(X.place == "south", 2.0, 1.0)


def section(page):
    return next(
        (s for s in page.find("section") if s.find("h2")[0].text == "Is it true given x?"), None
    )


def made(tmp_path, *args, **options):
    return parse(tl.report(*args, tmp_path / "report.html", **options).read_text(encoding="utf-8"))


def test_regions_are_told_and_drawn(tmp_path, rows):
    X, y = rows
    F = tl.Normal(np.zeros(3000), 1.6)
    found = tl.conditional_coverage(y, F, X)
    page = made(tmp_path, y, F, x=X)
    part = section(page)
    assert found.sentence in part.text
    regions, numbers = part.find("table")
    titles = [t.children[0] for t in regions.find("th", "title")]
    assert titles == [r.rule for r in found.regions] == ["place is 'south'", "place is '<north>'"]
    assert [td.text for td in regions.find("td", "off")] == ["too narrow", "too wide"]
    drawings = regions.find("svg")
    at = [float(d.find("circle")[0].attributes["cx"]) for d in drawings]
    target = [float(d.find("line", "target")[0].attributes["x1"]) for d in drawings]
    assert at[0] < target[0] == target[1] < at[1]
    low = float(re.search(r"from (\d+)% to 100%", part.text)[1]) / 100
    shares = [low + (x - 8) / 224 * (1 - low) for x in at]
    np.testing.assert_allclose(shares, [r.coverage for r in found.regions], atol=0.01)
    assert f"{found.worst_slab:.1%} ± {found.worst_slab_error:.1%}" in numbers.text
    finding = page.find("ul", "findings")[0].text
    assert "do not hold in 2 of 2 regions: where place is 'south', they hold" in finding


def test_several_forecasts_have_their_own_numbers(tmp_path, rows):
    X, y = rows
    true = tl.Normal(np.zeros(3000), np.where(X.place == "south", 2.0, 1.0))
    part = section(made(tmp_path, y, {"flat": tl.Normal(np.zeros(3000), 1.6), "true": true}, x=X))
    assert "For “true”: No region was found in which 90% intervals do not hold." in part.text
    names = [th.text for th in part.find("table")[-1].find("th", "title")]
    assert names == ["true", "flat"]


def test_it_takes_features_and_intervals(tmp_path, rows):
    X, y = rows
    assert section(made(tmp_path, y, tl.Normal(np.zeros(3000), 1.6))) is None
    assert section(made(tmp_path, y, tl.Point(np.zeros(3000)), x=X)) is None
    R = tl.Isotonic().fit(y[:1000], tl.Point(np.zeros(1000)))
    G = R.transform(tl.Point(np.zeros(2000)))
    pair = {"before": tl.Point(np.zeros(2000)), "after": G}
    part = section(made(tmp_path, y[1000:], pair, x=X[1000:]))
    assert [th.text for th in part.find("table")[-1].find("th", "title")] == ["after"]


def test_few_rows_are_said_to_be_few(tmp_path, rows):
    X, y = rows
    part = section(made(tmp_path, y[:50], tl.Normal(np.zeros(50), 1.6), x=X[:50]))
    assert "50 rows are too few to tell where 90% intervals hold" in part.text
    assert not part.find("table")


def test_weights_and_their_zeros_count(tmp_path, rows):
    X, y = rows
    F, w = tl.Normal(np.zeros(3000), 1.6), np.arange(3000) % 3
    found = tl.conditional_coverage(y, F, X, sample_weight=w)
    assert found.sentence in section(made(tmp_path, y, F, x=X, sample_weight=w)).text
