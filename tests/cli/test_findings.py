"""What fit says it found: in words, and as JSON."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import trueline as tl


def write(y, **columns) -> None:
    csv.write_csv(pa.table({"y": y, **columns}), "f.csv")


def fit(trueline, *options) -> list[str]:
    """Lines about the findings: those after the first, before the name of the map."""
    run = trueline("fit", "f.csv", "-o", "map.json", "--force", *options)
    assert run.code == 0, run.err
    lines = run.out.splitlines()
    return lines[1 : next(i for i, line in enumerate(lines) if line.startswith("map.json: "))]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_a_bias_is_told_beside_the_width(trueline, folder, rng):
    z = rng.normal(size=2000)
    write(5.0 + 1.0 + 2.0 * z, mean=np.full(2000, 5.0), std=np.ones(2000))
    F = tl.Normal(np.full(2000, 5.0), 1.0)
    y = 6.0 + 2.0 * z
    R = tl.Isotonic().fit(y, F)
    (lower, upper), shift = R.law().ppf(np.array([0.05, 0.95])), R.law().ppf(np.array(0.5))
    held = tl.evaluate(y, F).coverage
    first, second = fit(trueline)
    assert first == (
        f"90% intervals held {held:.1%} of these rows: too narrow. The map makes them about "
        f"{(upper - lower) / 3.29:.2g} times as wide."
    )
    assert second == (
        f"{(y > 5.0).mean():.1%} of the outcomes were above the median of their forecast. The map "
        f"moves it up by about {shift:.3g}."
    )
    document = json.loads(trueline("fit", "f.csv", "-o", "m.json", "--json").out)
    assert (document["coverage"], document["verdict"]) == (held, "too narrow")
    assert document["biased"] is True
    assert document["median_shift"] == pytest.approx(shift, rel=1e-12)
    assert document["interval_width_after"] == pytest.approx(upper - lower, rel=1e-12)


def test_forecasts_that_hold(trueline, folder, rng):
    write(rng.normal(size=2000), mean=np.zeros(2000), std=np.ones(2000))
    (line,) = fit(trueline)
    assert line.endswith(
        " of these rows: as they should, up to chance. The map hardly changes their width."
    )


def test_point_forecasts(trueline, folder, rng):
    write(rng.normal(size=2000), mean=np.zeros(2000))
    R = tl.files.fit("f.csv")
    lower, upper = R.transform(tl.Point(0.0)).interval(0.8)
    (line,) = fit(trueline, "--coverage", "0.8")
    assert line == (
        "Point forecasts have no intervals. The map gives them some: 80% intervals are "
        f"{(upper - lower)[0]:.4g} wide on average."
    )
    document = json.loads(trueline("fit", "f.csv", "-o", "m.json", "--json").out)
    assert (document["coverage"], document["verdict"]) == (None, "no intervals")


def test_groups_are_judged_one_by_one(trueline, folder, rng):
    """The file is sorted by group, and its first rows are of one of them."""
    factor = np.repeat([1.0, 4.0, 1.0], [3000, 3000, 3])
    group = np.repeat(["calm", "wild", "new"], [3000, 3000, 3])
    write(factor * rng.normal(size=6003), mean=np.zeros(6003), std=np.ones(6003), g=group)
    first, second = fit(trueline, "--group", "g")
    assert "The map makes them about 2.5 times as wide." in first
    assert second == (
        "3 groups have a map each. By group, the intervals were: as they should be in 1, too "
        "narrow in 1, too few rows to tell in 1."
    )


def test_atoms_and_a_least_width(trueline, folder, rng):
    y = rng.poisson(1.0, size=2000)
    write(y, mean=np.ones(2000), std=np.full(2000, 0.2))
    lines = fit(trueline)
    assert lines[-1] == (
        "Outcomes repeat values (0, 1, 2, ...): recalibrated forecasts give each of them a "
        "probability of its own."
    )
    std = np.ones(2000)
    std[:5] = 1e-9
    write(rng.normal(size=2000), mean=np.zeros(2000), std=std)
    width = tl.files.fit("f.csv")._preparation.least_width
    assert fit(trueline)[-1] == (
        "Some forecasts were so narrow that they would spoil the map of the others. All get a "
        f"least width of {width:.3g} first."
    )


def test_the_next_commands_repeat_the_options(trueline, folder, rng):
    names = {"net sales": rng.normal(size=50), "m": np.zeros(50), "s": np.ones(50)}
    csv.write_csv(pa.table({**names, "w": np.ones(50)}), "f.csv", csv.WriteOptions(delimiter=";"))
    columns = ["--y", "net sales", "--mean", "m", "--std", "s", "--weight", "w"]
    run = trueline("fit", "f.csv", *columns, "--separator", ";", "-o", "my map.json")
    *_, judge, use = run.out.splitlines()
    shared = "--mean m --std s --separator ';'"
    assert judge == (
        "judge it on other rows:    trueline evaluate other.csv --map 'my map.json' "
        f"--y 'net sales' --weight w {shared}"
    )
    assert use == (
        f"recalibrate new forecasts: trueline apply 'my map.json' new.csv {shared} "
        f"-o calibrated.csv"
    )
