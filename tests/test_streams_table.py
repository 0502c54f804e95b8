"""The experiments on streams run, in their small size, and the methods they compare are right."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def players(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module("streams_players")


def slow_aci(s, rows, alpha, rate):
    """Adaptive conformal inference, one row at a time: radii and final level."""
    level, radii = alpha, []
    for t in range(rows, len(s)):
        window = sorted(np.abs(s[t - rows : t]))
        k = int(np.ceil((1.0 - level) * (rows + 1) - 1e-9))
        radius = np.inf if k > rows else window[k - 1] if k >= 1 else -np.inf
        radii.append(radius)
        level += rate * (alpha - (abs(s[t]) > radius))
    return np.array(radii), level


def test_aci_is_the_published_algorithm(players):
    s = np.random.default_rng(0).normal(size=(3, 400)) * np.repeat([1.0, 3.0], [150, 250])
    player, radii = players.DtACI([0.05], s[:, :100]), []
    for t in range(100, 400):
        lower, upper = player.ninety(np.ones(3)).T
        np.testing.assert_array_equal(lower, -upper)
        radii.append(np.where(player.infinite, np.inf, upper))
        player.learn(s[:, t])
    for i in range(3):
        expected, level = slow_aci(s[i], 100, 0.1, 0.05)
        np.testing.assert_array_equal(np.array(radii)[:, i], expected)
        np.testing.assert_allclose(player.levels[i, players.NINETY, 0], level, rtol=1e-9)
    # The settings of the authors' code for a miscoverage of 0.1 and stretches of 500 rows.
    eight = players.DtACI(players.EXPERTS, s[:, :100])
    np.testing.assert_allclose(eight.eta[players.NINETY], 2.72, atol=0.01)


def test_fifteen_intervals_give_the_crps(players):
    """The CRPS of a standard normal forecast of standard normal outcomes is 1 / sqrt(pi)."""
    y = np.random.default_rng(0).normal(size=100_000)
    ends = np.broadcast_to(players.Oracle(None).ends(np.ones(1)), (len(y), len(players.LEVELS)))
    mean = players.crps(players.interval_scores(ends, y)).mean()
    # The midpoint rule over 15 levels is 0.3% off; the standard error is 0.001.
    np.testing.assert_allclose(mean, 1.0 / np.sqrt(np.pi), atol=0.005)


def test_the_adversary_meets_its_bound(players):
    """The levels of ACI stay within its rate of [0, 1], which bounds the share that is missed."""
    simulated = importlib.import_module("streams_simulated")
    game = simulated.play(simulated.ADVERSARY, "ACI, rate 0.04", 2, 0)
    assert game.coverage[0] < 0.9 - 0.1 / (0.04 * simulated.WINDOW) + 0.01
    assert abs(game.coverage.mean() - 0.9) < (0.9 + 0.04) / (0.04 * simulated.ROWS)


@pytest.mark.skipif(
    "TRUELINE_DATA" not in os.environ,
    reason="TRUELINE_DATA is not set: the experiments need the folder with streams/prices.csv.gz",
)
def test_the_quick_experiments_print_all_tables(tmp_path):
    output = tmp_path / "streams.md"
    command = [sys.executable, str(EXAMPLES / "streams.py"), "--quick", "--output", str(output)]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"MPLBACKEND": "Agg"}
    )
    assert run.returncode == 0, run.stderr
    text = output.read_text(encoding="utf-8")
    # The published intervals do not depend on the size of the run.
    assert "| ACI, rate 0.04, as published | 89.6% | 12.84 | 19.46 | - |" in text
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| `Online()`")]
    hour_0, _, stationary, jump = rows
    # 365 days: four standard errors of 1.6% around 90%.
    assert 83.0 < float(hour_0[1].rstrip("%")) < 97.0
    assert 14.0 < float(hour_0[3]) < 22.0
    # Two streams with windows of 300 rows: four standard errors of 1.2%, with room for the drift.
    for cells in (stationary[2:7], jump[4:7]):
        assert all(84.0 < float(cell.rstrip("%")) < 96.0 for cell in cells)
    for name in ("electricity", "simulated"):
        assert (tmp_path / "streams" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_without_data_it_says_what_is_missing(players, monkeypatch):
    monkeypatch.delenv("TRUELINE_DATA", raising=False)
    with pytest.raises(SystemExit, match=r"prices\.csv\.gz was not found: TRUELINE_DATA is"):
        importlib.import_module("streams").main(["--quick"])
