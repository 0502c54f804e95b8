"""How the rewards of the policies are written down: numbers, sentences and the picture."""

import copy
import csv
import io
import itertools

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from reproduce import inventory_cells as cells
from reproduce.inventory_page import csv_of, page, table
from reproduce.inventory_plots import draw

MADE = "Made by `trueline reproduce inventory` with Python 3. Seeds 0 to 2."
VARIANTS = ["before", "training", "rolling", "daily", "concrete", "ensemble"]
TOLERANCES = ["0", "0.25"]
#: Dollars a day that a policy earns, and what it loses and spoils in all, in store 44.
EARNS = {"before": 450.0, "training": 452.0, "rolling": 455.0, "daily": 454.0}
EARNS |= {"concrete": 453.0, "ensemble": 448.0}
UNITS = {"before": (500, 900), "training": (510, 700), "rolling": (560, 400)}
UNITS |= {"daily": (650, 300), "concrete": (505, 600), "ensemble": (500, 1000)}
#: A whole number of weeks, and four days.
DAYS = 60
SCALE = {44: 1.0, 51: 0.5}


def result(store, seed, level, units, name):
    """A policy: weeks that all policies share, days of its own, and cash that swings."""
    weeks = np.random.default_rng(store).normal(0.0, 60.0, DAYS // 7 + 1)
    own = np.random.default_rng([store, seed, *name.encode()]).normal(0.0, 1.0, DAYS)
    accrued = (SCALE[store] * (level + np.repeat(weeks, 7)[:DAYS] + own)).round(2)
    swing = np.where(np.arange(DAYS) % 2, 800.0, -800.0)
    lost, spoiled = units
    return {
        "reward": round(float(accrued.sum()), 2),
        "sold": 40000 - lost,
        "lost": lost,
        "spoiled": spoiled,
        "came": 40000 - lost + spoiled,
        "daily": (accrued + swing).round(2).tolist(),
        "accrued": accrued.tolist(),
    }


def with_seed(store, seed):
    policies = {}
    for name, tolerance in itertools.product(VARIANTS, TOLERANCES):
        key = f"planner {name} {tolerance}"
        level = EARNS[name] + 2.0 * float(tolerance)
        policies[key] = result(store, seed, level, UNITS[name], key)
    for name, level in itertools.product(("before", "rolling"), ("0.35", "0.80")):
        key = f"newsvendor {name} {level}"
        policies[key] = result(store, seed, EARNS[name] - 20.0, (3000, 100), key)
    return {"store": store, "seed": seed, "days": DAYS, "policies": policies, "seconds": 1.0}


def without_seed(store):
    policies = {
        "seasonal naive": result(store, 9, 440.0, (2000, 300), "naive"),
        "oracle": result(store, 9, 470.0, (400, 0), "oracle"),
    }
    policies["oracle"]["bound"] = policies["oracle"]["reward"]
    return {"store": store, "seed": None, "days": DAYS, "policies": policies, "seconds": 1.0}


def make(stores=(44, 51), seeds=3):
    made = [with_seed(*key) for key in itertools.product(stores, range(seeds))]
    made += [without_seed(store) for store in stores]
    return [made[i] for i in np.random.default_rng(0).permutation(len(made))]


@pytest.fixture(scope="module")
def records():
    return make()


@pytest.fixture
def mended():
    """Records of which a test may spoil some."""
    return make()


def of(records, store, policy, name):
    """Values of the seeds in their order, read without the module under test."""
    there = [r for r in records if r["store"] == store and policy in r["policies"]]
    ordered = sorted(there, key=lambda r: -1 if r["seed"] is None else r["seed"])
    return np.array([r["policies"][policy][name] for r in ordered])


def earn(records, policy, amount):
    """Let a policy earn so much more a day, in all stores."""
    for r in records:
        if policy in r["policies"]:
            found = r["policies"][policy]
            for name in ("accrued", "daily"):
                found[name] = (np.array(found[name]) + amount).tolist()
            found["reward"] = found["reward"] + DAYS * amount


def one_line(text):
    """Sentences without their line breaks."""
    return " ".join(text.split())


def row(text, start):
    """Cells of the first line of a table that starts so."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {start} "))
    return [cell.strip() for cell in line.split("|")[1:-1]]


def bootstrap(records, store, policy, name="accrued"):
    """The same draws, computed draw by draw and day by day for the first hundred."""
    daily = of(records, store, policy, name)
    n_weeks, n_seeds = -(-DAYS // 7), 3
    weeks = np.random.default_rng(2016).multinomial(n_weeks, [1 / n_weeks] * n_weeks, size=10_000)
    seeds = np.random.default_rng([2016, store]).multinomial(n_seeds, [1 / 3] * 3, size=10_000)
    totals = []
    for of_weeks, of_seeds in zip(weeks[:100], seeds[:100], strict=True):
        days = np.concatenate(
            [np.arange(7 * w, min(7 * w + 7, DAYS)) for w in np.repeat(np.arange(9), of_weeks)]
        )
        rows = [0] if len(daily) == 1 else np.repeat(np.arange(3), of_seeds)
        totals.append(DAYS * np.mean([daily[i][days].mean() for i in rows]))
    return np.array(totals)


def quantiles(drawn):
    return np.quantile(drawn, [0.025, 0.975])


# The bootstrap


def place(records, store):
    return next(p for p in cells.places(records) if p.store == store)


@pytest.mark.parametrize("policy", ["planner rolling 0", "newsvendor before 0.80", "oracle"])
def test_the_draws_are_of_whole_weeks_and_seeds(records, policy):
    for store in (44, 51):
        found = place(records, store).draws(policy)
        assert found.shape == (10_000,)
        np.testing.assert_allclose(found[:100], bootstrap(records, store, policy), rtol=1e-10)


def test_stores_share_their_weeks_and_policies_all_draws(records):
    # Nothing but the weeks, the same in both stores: so are the draws.
    flat = copy.deepcopy(records)
    for r in flat:
        for found in r["policies"].values():
            found["accrued"] = np.repeat(np.arange(9.0), 7)[:DAYS].tolist()
    first, second = cells.places(flat)
    one, other = first.draws("planner before 0"), second.draws("planner daily 0.25")
    np.testing.assert_allclose(one, other, rtol=1e-12)
    assert np.ptp(one) > 0
    # A policy that earns a dollar more each day does so in every draw.
    more = copy.deepcopy(records)
    earn(more, "planner before 0", 1.0)
    gained = place(more, 44).draws("planner before 0") - place(records, 44).draws(
        "planner before 0"
    )
    np.testing.assert_allclose(gained, DAYS)


def test_seeds_are_drawn(records):
    flat = copy.deepcopy(records)
    for r in flat:
        for found in r["policies"].values():
            found["accrued"] = [float(r["seed"] or 0)] * DAYS
    drawn = place(flat, 44).draws("planner before 0") / DAYS
    # Means of three draws from 0, 1 and 2.
    np.testing.assert_allclose(np.unique(drawn.round(6)), np.arange(7) / 3, atol=1e-6)
    # Their variance is 2/3 / 3; the standard error of a variance is about sqrt(2 / draws) of it.
    assert abs(drawn.var() / (2 / 9) - 1.0) < 4.0 * np.sqrt(2.0 / 10_000)


def test_weeks_count_with_what_they_accrue_where_that_is_known(mended):
    text = one_line(page(mended, MADE))
    assert "A week counts with what it accrues" in text
    narrow = cells.difference(cells.places(mended), "planner rolling 0", "planner before 0")
    del mended[0]["policies"][next(iter(mended[0]["policies"]))]["accrued"]
    store = mended[0]["store"]
    drawn = place(mended, store).draws("planner rolling 0")
    np.testing.assert_allclose(
        drawn[:100], bootstrap(mended, store, "planner rolling 0", "daily"), rtol=1e-10
    )
    text = one_line(page(mended, MADE))
    assert "A week counts with what it takes in less what it pays for orders." in text
    wide = cells.difference(cells.places(mended), "planner rolling 0", "planner before 0")
    assert narrow.value == wide.value


# Numbers


def test_the_table_of_a_store(records):
    section = page(records, MADE).partition("\n## Store 51\n")[2]
    policy, before = "planner rolling 0.25", "planner before 0.25"
    there = place(records, 51)
    reward = of(records, 51, policy, "reward").mean()
    low, high = quantiles(there.draws(policy))
    less, more = quantiles(there.draws(policy) - there.draws(before))
    gain = reward - of(records, 51, before, "reward").mean()
    assert row(section, "planner, rolling origins, $0.25") == [
        "planner, rolling origins, $0.25",
        f"${reward:,.0f}",
        f"{low:,.0f} to {high:,.0f}",
        f"{gain:+,.0f}",
        f"{less:+,.0f} to {more:+,.0f}",
        f"{100 * reward / of(records, 51, 'oracle', 'reward')[0]:.1f}%",
        f"{100 * 560 / 40000:.2f}%",
        f"{100 * 400 / (40000 - 560 + 400):.2f}%",
    ]
    assert row(section, "planner, before, $0.25")[3:5] == ["", ""]
    # All that is no planner is compared with the planner that has no tolerance.
    naive = of(records, 51, "seasonal naive", "reward")[0]
    gain = naive - of(records, 51, "planner before 0", "reward").mean()
    assert row(section, "seasonal naive")[3] == f"{gain:+,.0f}"
    assert row(section, "oracle")[5] == "100.0%"
    assert len([line for line in section.splitlines() if line.startswith("|")]) == 2 + 18


def test_the_table_of_the_means(records):
    text = table(records)
    assert text in page(records, MADE).partition("\n## Mean over the stores\n")[2]
    policy, before = "planner daily 0", "planner before 0"
    reward = {
        p: np.mean([of(records, s, p, "reward").mean() for s in (44, 51)]) for p in (policy, before)
    }
    first, second = cells.places(records)
    drawn = {p: (first.draws(p) + second.draws(p)) / 2 for p in (policy, before)}
    low, high = quantiles(drawn[policy])
    less, more = quantiles(drawn[policy] - drawn[before])
    assert row(text, "planner, day by day")[:5] == [
        "planner, day by day",
        f"${reward[policy]:,.0f}",
        f"{low:,.0f} to {high:,.0f}",
        f"{reward[policy] - reward[before]:+,.0f}",
        f"{less:+,.0f} to {more:+,.0f}",
    ]


def test_the_file(records):
    found = list(csv.DictReader(io.StringIO(csv_of(records))))
    assert len(found) == 3 * 18
    assert list(dict.fromkeys(r["store"] for r in found)) == ["mean", "44", "51"]
    line = next(r for r in found if (r["store"], r["policy"]) == ("44", "planner training 0.25"))
    assert (line["seeds"], line["days"], line["reference"]) == ("3", "60", "planner before 0.25")
    reward = of(records, 44, "planner training 0.25", "reward").mean()
    assert float(line["reward"]) == pytest.approx(reward, rel=1e-12)
    there = place(records, 44)
    np.testing.assert_allclose(
        [float(line["reward_low"]), float(line["reward_high"])],
        quantiles(there.draws("planner training 0.25")),
    )
    gained = there.draws("planner training 0.25") - there.draws("planner before 0.25")
    np.testing.assert_allclose(
        [float(line["difference_low"]), float(line["difference_high"])], quantiles(gained)
    )
    oracle = of(records, 44, "oracle", "reward")[0]
    assert float(line["of_oracle"]) == pytest.approx(reward / oracle)
    assert [float(line[u]) for u in ("sold", "lost", "spoiled", "came")] == [39490, 510, 700, 40190]


# What it says


def test_the_page_says_how_it_was_made(records):
    text = page(records, MADE)
    assert text.startswith("# Table 2")
    assert f"\n\n{MADE}\n\n" in text
    assert "(inventory.png)" in text
    assert "\n\n\n" not in text
    text = one_line(text)
    assert "in store 44 and store 51 on 60 days from 2016-06-01 on, 3 seeds." in text
    assert "draws whole weeks (7 days in a row, since orders follow the week) and seeds" in text
    assert "10,000 times from seed 2016" in text
    assert "Drawing from 3 seeds finds 2 / 3 of their variance" in text
    assert "35% is (price - cost) / price." in text


def test_whether_recalibration_earns_more(mended):
    start = (
        "Against the planner with the uncalibrated forecast, on average over the stores, the "
        "planner with a recalibrated one"
    )
    assert (
        f"{start} earns more with training days, rolling origins and day by day (the interval of "
        f"the difference is above 0)."
    ) in one_line(page(mended, MADE))
    # Back to what before earns, and far below: 454 - 450 and 452 - 450 dollars a day in store 44.
    earn(mended, "planner daily 0", -3.0)
    earn(mended, "planner training 0", -9.0)
    assert (
        f"{start} earns more with rolling origins (the interval of the difference is above 0); it "
        f"earns less with training days (the interval of the difference is below 0); it cannot be "
        f"told to earn more or less with day by day (the interval of the difference holds 0)."
    ) in one_line(page(mended, MADE))
    text = one_line(page(mended, MADE))
    assert "forecast at a tolerance of $0.25, on average over the stores" in text


def test_by_how_much(mended):
    before, policy = "planner before 0", "planner rolling 0"
    earn(mended, policy, -12.0)
    there = place(mended, 51)
    reward = {p: of(mended, 51, p, "reward").mean() for p in (before, policy)}
    low, high = quantiles(there.draws(policy) - there.draws(before))
    assert high < 0
    assert (
        f"rolling origins ${reward[before] - reward[policy]:,.0f} less "
        f"({100 * (reward[policy] / reward[before] - 1):+.2f}%, 95% interval -${-low:,.0f} to "
        f"-${-high:,.0f}, which excludes 0)"
    ) in one_line(page(mended, MADE)).partition("Store 51, against")[2]


def test_where_it_comes_from(mended):
    text = one_line(page(mended, MADE))
    assert "in vain costs $0.70, one that spoils $1.29." in text
    # 0.70 * 560 and 1.29 * 400; against 0.70 * 500 and 1.29 * 900.
    assert "before $350 and $1,161;" in text
    assert "rolling origins $392 and $516;" in text
    assert "the oracle $280 and $0." in text
    assert "rolling origins earns most: against before it saves $645 of waste, " in text
    # What it earns more is all accounted for: 645 - 42 and what is left at the end.
    rewards = [
        np.mean([of(mended, store, f"planner {name} 0", "reward").mean() for store in (44, 51)])
        for name in ("before", "rolling")
    ]
    left = rewards[1] - rewards[0] - 0.70 * -60 - 1.29 * 500
    word = "saves" if left >= 0 else "adds"
    assert f"adds $42 of lost sales and {word} ${abs(left):,.0f} of units that are left" in text
    earn(mended, "planner training 0", 20.0)
    assert "training days earns most: against before it saves $258" in one_line(page(mended, MADE))


def test_the_policies_that_do_not_plan(mended):
    policy, other = "newsvendor rolling 0.80", "planner rolling 0"
    group = cells.places(mended)
    less = cells.mean(group, other) - cells.mean(group, policy)
    claim = "than the planner with the same forecast"
    assert f"newsvendor, rolling origins, 80% earns ${less:,.0f} less {claim}" in one_line(
        page(mended, MADE)
    )
    earn(mended, policy, 40.0)
    more = 40.0 * DAYS - less
    assert f"newsvendor, rolling origins, 80% earns ${more:,.0f} more {claim}" in one_line(
        page(mended, MADE)
    )


def test_the_share_of_the_oracle(mended):
    def share(policy):
        earned = [
            np.mean([of(mended, s, p, "reward").mean() for s in (44, 51)])
            for p in (policy, "oracle")
        ]
        return f"{100 * earned[0] / earned[1]:.1f}%"

    assert (
        f"uncalibrated forecast earns {share('planner before 0')} of what the oracle earns; the "
        f"best of them, planner, rolling origins, $0.25, {share('planner rolling 0.25')}."
    ) in one_line(page(mended, MADE))
    earn(mended, "planner before 0", 10.0)
    assert "of what the oracle earns; no planner earns more." in one_line(page(mended, MADE))
    assert "knows all sales; no policy can earn more." in one_line(page(mended, MADE))
    for r in mended:
        if "oracle" in r["policies"]:
            r["policies"]["oracle"]["bound"] += 12.0
    assert "by over $12 in store 44 and $12 in store 51." in one_line(page(mended, MADE))


def test_beside_the_paper(mended):
    text = page(mended, MADE)
    # 61,690 / 60,082 and 61,690 / 60,894.
    assert row(text, "paper, training days") == ["paper, training days", "", "+2.68%", "+1.31%"]
    first, second = cells.places(mended)
    policy, other = "planner training 0", "planner ensemble 0"
    drawn = {p: first.draws(p) + second.draws(p) for p in (policy, other)}
    low, high = quantiles(drawn[policy] / drawn[other] - 1)
    gain = np.mean([of(mended, s, policy, "reward") for s in (44, 51)])
    gain = gain / np.mean([of(mended, s, other, "reward") for s in (44, 51)]) - 1
    section = text.partition("\n## Beside the paper\n")[2]
    shown = f"{100 * gain:+.2f}% ({100 * low:+.2f}% to {100 * high:+.2f}%)"
    assert row(section, "training days")[3] == shown
    text = one_line(section)
    assert f"against deep ensemble ({100 * low:+.2f}% to {100 * high:+.2f}%, as in the" in text
    earn(mended, "planner ensemble 0", 20.0)
    text = one_line(page(mended, MADE))
    assert "%, against the paper)." in text
    # 452 and 448 dollars a day in store 44, half of that in store 51: 3 apart on average.
    earn(mended, "planner ensemble 0", -17.0)
    assert "%, which cannot tell whether it is as in the paper)." in one_line(page(mended, MADE))


def test_one_store_and_one_seed():
    few = make([51], 1)
    text = one_line(page(few, MADE))
    assert "Mean over the stores" not in text
    assert "forecast, in store 51, the planner" in text
    assert "draws whole weeks (7 days in a row, since orders follow the week) with" in text
    assert "Of one seed the intervals do not tell how much trainings differ." in text
    assert {r["store"] for r in csv.DictReader(io.StringIO(csv_of(few)))} == {"51"}


def test_without_an_oracle_there_is_no_share_of_it():
    few = [r for r in make([44], 2) if r["seed"] is not None]
    text = page(few, MADE)
    assert "the oracle earns" not in text
    assert row(text.partition("\n## Store 44\n")[2], "planner, before")[5] == ""


# The picture


def drawn(monkeypatch, records, path):
    """The figure that was written, and nothing else."""
    kept = []
    write = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *a, **k: (kept.append(self), write(self, *a, **k))
    )
    draw(path, records)
    found = path.read_bytes()
    assert found.startswith(b"\x89PNG")
    assert found.endswith(b"IEND\xaeB`\x82")
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    return kept[0]


def marks(ax):
    """Dots and intervals by their line, in dollars."""
    dots, intervals = {}, {}
    for line in ax.get_lines():
        x, y = (np.asarray(values, dtype=float) for values in line.get_data())
        if len(x) == 1:
            dots[int(y[0])] = 1000.0 * x[0]
        elif y[0] == y[1]:
            intervals[int(y[0])] = 1000.0 * x
    return dots, intervals


def test_a_row_a_store_with_dots_and_intervals(records, monkeypatch, tmp_path):
    figure = drawn(monkeypatch, records, tmp_path / "a.png")
    assert [ax.get_title("left") for ax in figure.axes] == [
        *("Store 44", "Store 44, planners"),
        *("Store 51", "Store 51, planners"),
    ]
    left, right = figure.axes[2:]
    names = [label.get_text() for label in left.get_yticklabels()]
    assert len(names) == 17
    assert "oracle" not in names
    there = place(records, 51)
    i = names.index("planner, rolling origins")
    dots, intervals = marks(left)
    assert len(dots) == 17
    policy, before = "planner rolling 0", "planner before 0"
    assert dots[i] == pytest.approx(of(records, 51, policy, "reward").mean())
    np.testing.assert_allclose(intervals[i], quantiles(there.draws(policy)))
    oracle = next(line for line in left.get_lines() if line.get_label() == "oracle")
    expected = of(records, 51, "oracle", "reward")[0] / 1000.0
    np.testing.assert_allclose(oracle.get_xdata(), expected)
    dots, intervals = marks(right)
    assert len(dots) == 10
    np.testing.assert_allclose(intervals[i], quantiles(there.draws(policy) - there.draws(before)))


@pytest.mark.parametrize("stores, seeds", [([44], 1), ([44, 51], 2)])
def test_nothing_is_clipped_or_overlaps(stores, seeds, monkeypatch, tmp_path):
    figure = drawn(monkeypatch, make(stores, seeds), tmp_path / "a.png")
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [ax.get_tightbbox(renderer) for ax in figure.axes]
    boxes += [figure.legends[0].get_window_extent(renderer)]
    boxes += [figure._suptitle.get_window_extent(renderer)]
    width, height = figure.bbox.size
    for box in boxes:
        assert min(box.x0, box.y0) >= 0
        assert box.x1 <= width
        assert box.y1 <= height
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    for ax in figure.axes:
        for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
            seen = [
                t.get_window_extent(renderer) for t in labels if t.get_text() and t.get_visible()
            ]
            for one, other in itertools.pairwise(seen):
                assert not one.overlaps(other)


def test_the_same_records_give_the_same_picture(records, tmp_path):
    for name in ("a.png", "b.png"):
        draw(tmp_path / name, copy.deepcopy(records))
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
