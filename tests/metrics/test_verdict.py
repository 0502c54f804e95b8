"""One verdict: its law, its thresholds, and that every place that prints it agrees."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import betabinom, binom

import trueline as tl
from trueline._report._words import Facts, headline
from trueline.cli._words import evaluation_in_words
from trueline.metrics import FileEvaluation, chance_range, decide_coverage
from trueline.metrics._kolmogorov import p_value

PERFECT = tl.evaluate(np.zeros(2), tl.Normal([0.0, 0.0], 1.0))


def evaluation(n, coverage, target=0.9, n_fit=None, times=1.0, statistic=0.0):
    """An evaluation of these numbers, with a calibration error of so many times its floor."""
    floor = tl.calibration_floor(n, n_fit)
    return replace(
        PERFECT,
        n=round(n),
        n_effective=float(n),
        n_fit=n_fit,
        coverage=coverage,
        coverage_target=target,
        coverage_expected=target,
        calibration_error=times * floor,
        calibration_floor=floor,
        ks_statistic=statistic,
        p_value=p_value(statistic, n, n_fit),
    )


@pytest.mark.parametrize("n", [1, 7, 50, 1000, 123_456])
@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("level", [0.05, 0.001])
def test_the_range_of_chance_leaves_out_no_more_than_it_says(n, coverage, level):
    low, high = (np.rint(share * n) for share in chance_range(n, coverage, None, level))
    assert binom.cdf(low - 1, n, coverage) <= level / 2
    assert binom.sf(high, n, coverage) <= level / 2
    # and is no wider than it must be: the ends themselves are likely enough
    assert binom.cdf(low, n, coverage) >= level / 2
    assert binom.sf(high - 1, n, coverage) >= level / 2


@pytest.mark.parametrize("n", [1, 2, 7, 150, 1000, 9000])
@pytest.mark.parametrize("n_fit", [1, 12.5, 200, 5000])
@pytest.mark.parametrize("coverage", [0.2, 0.5, 0.9, 0.99])
def test_with_the_rows_of_a_fit_the_range_is_that_of_the_beta_binomial_law(n, n_fit, coverage):
    """The exact law of the number of n fresh rows between two ranks of the fit.

    See tests/recalibration/test_coverage_law.py.
    """
    a, b = coverage * (n_fit + 1), (1 - coverage) * (n_fit + 1)
    mass = betabinom.pmf(np.arange(n + 1), n, a, b)
    low = np.argmax(np.cumsum(mass) > 0.025)
    high = n - np.argmax(np.cumsum(mass[::-1]) > 0.025)
    found = [round(float(end) * n) for end in chance_range(n, coverage, n_fit)]
    assert found == [low, high]


def test_ranges_of_many_parts_are_those_of_each():
    n = np.array([1, 20, 3000, 20])
    low, high = chance_range(n, 0.9, 400, 0.01)
    for i, rows in enumerate(n):
        assert (low[i], high[i]) == chance_range(rows, 0.9, 400, 0.01)


def test_the_normal_law_of_many_rows_continues_the_exact_one():
    exact, normal = (np.array(chance_range(n, 0.9, n)) for n in (100_000, 100_001))
    np.testing.assert_allclose(exact, normal, atol=3e-5)


@pytest.mark.parametrize(
    "n, coverage, target, n_fit, decision, words",
    [
        (5000, 0.903, 0.9, None, "holds", "as they should, up to chance"),
        (5000, 0.87, 0.9, None, "too narrow", "too narrow"),
        (5000, 0.93, 0.9, None, "too wide", "too wide"),
        # What three places called too narrow, explained by chance, and as it should be.
        (100_000, 0.8955, 0.9, None, "holds", "as they should; the gap is too small to matter"),
        (100_000, 0.889, 0.9, None, "too narrow", "too narrow"),
        # At 99% a point is as much as all misses: a tenth of them is the limit.
        (1_000_000, 0.9885, 0.99, None, "too narrow", "too narrow"),
        (1_000_000, 0.9895, 0.99, None, "holds", "as they should; the gap is too small to matter"),
        # The rows of the fit widen what chance explains.
        (5000, 0.87, 0.9, 200, "holds", "as they should, up to chance"),
        (5000, 0.7, 0.9, 200, "too narrow", "too narrow"),
        (12, 0.75, 0.9, None, "too few rows to tell", "too few rows to tell"),
        (12, 0.25, 0.9, None, "too narrow", "too narrow"),
        (300, 1.0, 0.99, None, "too few rows to tell", "too few rows to tell"),
        (5000, 0.9, 0.9, 30, "too few rows to tell", "too few rows to tell"),
    ],
)
def test_coverage(n, coverage, target, n_fit, decision, words):
    found = evaluation(n, coverage, target, n_fit).verdict.coverage
    assert (found.decision, found.words) == (decision, words)


@pytest.mark.parametrize(
    "n, n_fit, times, statistic, decision",
    [
        (1000, None, 1.9, 0.5, "at the floor"),
        (1000, None, 3.0, 0.03, "explained by chance"),
        (1000, None, 3.0, 0.06, "recalibrate"),
        (1000, 200, 3.0, 0.06, "explained by chance"),  # the map's own noise
        (1_000_000, None, 3.0, 0.01, "too small to matter"),
        (49, None, 3.0, 0.1, "too few rows to tell"),
        (1000, 49, 1.0, 0.1, "too few rows to tell"),
        (20, None, 9.0, 0.6, "recalibrate"),
    ],
)
def test_calibration(n, n_fit, times, statistic, decision):
    found = evaluation(n, 0.9, n_fit=n_fit, times=times, statistic=statistic).verdict
    assert found.calibration.decision == decision


def test_the_distance_is_that_of_the_curve():
    y = np.random.default_rng(0).normal(size=500)
    F = tl.Normal(np.zeros(500), 0.8)
    curve = tl.calibration_curve(y, F)
    expected = np.sqrt(np.mean((curve.observed - curve.levels)[1:-1] ** 2))
    for n_fit in (None, 300):
        found = tl.evaluate(y, F, n_fit=n_fit).verdict.calibration.distance
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_weights_count_as_their_effective_number_of_rows():
    rng = np.random.default_rng(0)
    y, F = rng.normal(size=1000), tl.Normal(np.zeros(1000), 1.0)
    w = rng.exponential(size=1000)
    found = tl.evaluate(y, F, sample_weight=w)
    np.testing.assert_allclose(found.n_effective, w.sum() ** 2 / (w @ w))
    low, high = chance_range(found.n_effective, 0.9)
    assert (found.verdict.coverage.low, found.verdict.coverage.high) == (low, high)


def test_a_true_forecast_is_seldom_said_to_be_off():
    """Also after recalibration, where the binomial law alone would err in a third of the cases.

    400 repetitions with a probability of at most 0.05: 34 or fewer are off with probability 0.998.
    """
    rng = np.random.default_rng(0)
    off = naive = 0
    for _ in range(400):
        y, F = rng.normal(size=600), tl.Normal(np.zeros(600), 0.5)
        G = tl.Isotonic().fit(y[:200], F[:200]).transform(F[200:])
        found = tl.evaluate(y[200:], G, n_fit=200)
        off += found.verdict.coverage.off
        naive += replace(found, n_fit=None).verdict.coverage.off
    assert off <= 34
    assert naive > 60


def test_a_point_forecast_has_no_intervals():
    found = tl.evaluate([1.0, 2.0], tl.Point([0.0, 0.0])).verdict.coverage
    assert (found.decision, found.off) == ("no intervals", True)
    assert decide_coverage(0.0, 0.9, 0.5, 1.0, width=0.0).sentence == found.sentence


def cases(number):
    """Numbers of rows, rows of the fit, targets, true coverages, and what came out."""
    rng = np.random.default_rng(0)
    for _ in range(number):
        n = int(10 ** rng.uniform(0, 6))
        n_fit = None if rng.random() < 0.4 else float(int(10 ** rng.uniform(1, 5)))
        target = float(rng.choice([0.5, 0.8, 0.9, 0.95, 0.99]))
        true = float(np.clip(target + rng.choice([0.0, 0.004, 0.03, 0.2]) * rng.normal(), 0, 1))
        times = float(rng.choice([1.0, 1.5, 2.5, 30.0]))
        statistic = float(min(rng.exponential() / np.sqrt(n), 1.0))
        yield evaluation(n, rng.binomial(n, true) / n, target, n_fit, times, statistic)


def test_evaluation_command_line_and_report_agree_on_a_thousand_cases():
    decisions = set()
    for found in cases(1000):
        verdict = found.verdict
        facts = Facts("forecast", found)
        assert facts.verdict is verdict
        coverage, calibration = verdict.coverage, verdict.calibration
        printed = evaluation_in_words(FileEvaluation(found, {}, exact=True))
        for text in (repr(found), printed):
            assert coverage.sentence in text.splitlines()
            assert calibration.sentence in text.splitlines()
        assert headline(facts).endswith(f" of the time: {coverage.words}.")
        word = "as they should" if coverage.decision == "holds" else coverage.decision
        assert all(word in text for text in (repr(found), printed, headline(facts)))
        assert facts.off == (coverage.decision in {"too narrow", "too wide"})
        assert facts.settled == ("recalibrate" not in calibration.sentence)
        decisions |= {("coverage", coverage.words), ("calibration", calibration.decision)}
    assert len(decisions) == 5 + 5  # every one occurs
