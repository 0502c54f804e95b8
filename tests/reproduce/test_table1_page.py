"""How Table 1 is written down: numbers, sentences and pictures from records."""

import copy
import csv
import io
import itertools
import math

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import trueline as tl
from reproduce import table1_cells, table1_plots
from reproduce.paper import TABLE1, chance_to_reach, perfect_errors
from reproduce.table1_cells import Cell, cells
from reproduce.table1_page import csv_of, page, table
from reproduce.table1_plots import draw, rows_worth
from trueline.datasets import info, names

MODELS = ["bayesian-ridge", "dropout", "concrete-dropout", "deep-ensemble"]
VARIANTS = ["before", "training", "refit", "averaged", "crossfit"]
FITTED = ("training", "refit", "crossfit")
MADE = "Made by `trueline reproduce table1` with Python 3."
#: Calibration error in units of the floor.
RATIO = {"before": 8.0, "training": 2.5, "refit": 1.2, "averaged": 5.0, "crossfit": 1.1}
CRPS = {"before": 1.0, "training": 0.95, "refit": 0.85, "averaged": 0.9, "crossfit": 0.8}


def record(dataset, model, split, rng):
    rows = next(known.rows for known in info() if known.name == dataset)
    n_test = math.ceil(rows / 4)
    n_train = rows - n_test
    variants = {}
    for name in VARIANTS:
        floor = tl.calibration_floor(n_test, n_train if name in FITTED else None)
        noise = rng.uniform(0.95, 1.05, size=6)
        variants[name] = {
            "mape": 0.1 * noise[0],
            "calibration_error": RATIO[name] * floor * noise[1],
            "calibration_floor": floor,
            "sharpness": rows * noise[2],
            # All splits alike, so that which CRPS is lower does not hang on chance.
            "crps": CRPS[name] * (1.0 + 0.1 * split),
            "coverage": 0.9 * noise[4],
            "width": rows * noise[5],
            "curve": np.sort(rng.uniform(size=19)).tolist(),
        }
    zeros = {"crime": 2, "bank": 28}.get(dataset, 0)
    return {
        "dataset": dataset,
        "model": model,
        "split": split,
        "n_train": n_train,
        "n_test": n_test,
        "zero_targets": zeros,
        "seconds": 1.0,
        "variants": variants,
    }


def make(sets=None, models=MODELS, splits=3):
    rng = np.random.default_rng(0)
    made = [record(*key, rng) for key in itertools.product(sets or names(), models, range(splits))]
    return [made[i] for i in rng.permutation(len(made))]


@pytest.fixture(scope="module")
def records():
    return make()


@pytest.fixture
def mended():
    """Records of which a test may spoil some."""
    return make()


def of(records, dataset, model, variant, measure):
    """Values of the splits, read without the module under test."""
    return [
        r["variants"][variant][measure]
        for r in records
        if (r["dataset"], r["model"]) == (dataset, model)
    ]


def set_(records, dataset, model, variant, measure, value):
    for r in records:
        if (r["dataset"], r["model"]) == (dataset, model):
            r["variants"][variant][measure] = value


def one_line(text):
    """Sentences without their line breaks."""
    return " ".join(text.split())


def row(text, start):
    """Cells of the first line of a table that starts so."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {start} "))
    return [cell.strip() for cell in line.split("|")[1:-1]]


def standard_error(values):
    return np.std(values, ddof=1) / math.sqrt(len(values))


# The paper's numbers


@pytest.mark.parametrize(
    "dataset, model, mape, before, recalibrated",
    [
        ("mpg", "bayesian-ridge", 0.107, 0.053, 0.057),
        ("auto", "dropout", 0.027, 0.205, 0.017),
        ("kinematics", "concrete-dropout", 0.097, 0.228, None),
        ("cpu", "dropout", 0.351, 0.163, 0.065),
        ("bank", "bayesian-ridge", 0.572, 0.073, 0.083),
        ("wine", "deep-ensemble", 0.099, 0.096, None),
    ],
)
def test_the_papers_table(dataset, model, mape, before, recalibrated):
    expected = {"mape": mape, "before": before, "recalibrated": recalibrated}
    assert TABLE1[dataset][model] == expected


def test_the_papers_table_is_whole():
    assert list(TABLE1) == names()
    assert all(list(row) == MODELS for row in TABLE1.values())
    given = [cell["recalibrated"] is not None for row in TABLE1.values() for cell in row.values()]
    assert sum(given) == 16


# A perfect forecaster


@pytest.mark.parametrize("n_test, n_fit, splits", [(40, 119, 5), (98, None, 1), (500, 1500, 3)])
def test_the_error_of_a_perfect_forecaster_has_the_known_mean(n_test, n_fit, splits):
    errors = perfect_errors(n_test, n_fit, splits)
    # The variance of a share is p (1 - p) / T, and that of Dirichlet shares p (1 - p) / (n + 2)
    # in place of the floor's 1 / n.
    between = 0.0 if n_fit is None else 1.0 / (n_fit + 2)
    expected = 1.65 * (between + (1.0 - between) / n_test)
    assert abs(errors.mean() - expected) < 4.0 * standard_error(errors)
    if n_fit is None:
        assert expected == pytest.approx(tl.calibration_floor(n_test), rel=1e-12)


def test_a_perfect_forecaster_is_what_isotonic_recalibration_of_a_true_one_gives():
    # Fit and test with the library itself: 400 errors of 30 test rows after a map of 60 rows.
    rng = np.random.default_rng(3)
    found = []
    for _ in range(400):
        fit, test = rng.normal(size=60), rng.normal(size=30)
        R = tl.Isotonic().fit(fit, tl.Normal(np.zeros(60), 1.0))
        found.append(tl.calibration_error(test, R.transform(tl.Normal(np.zeros(30), 1.0))))
    drawn = perfect_errors(30, 60, 1)
    assert abs(np.mean(found) - drawn.mean()) < 4.0 * standard_error(found)
    share = np.mean(np.array(found) <= 0.05)
    chance = chance_to_reach(0.05, 30, 60, 1)
    assert abs(share - chance) < 4.0 * math.sqrt(chance * (1.0 - chance) / 400)


def test_the_chance_to_reach_a_limit():
    # One test row: its share jumps from 0 to 1 at one of the ten intervals, so that the smallest
    # error is that of a jump in the middle, and one in five rows has it.
    least = 2.0 * sum(p**2 for p in (0.1, 0.2, 0.3, 0.4)) + 0.5**2
    assert chance_to_reach(least - 1e-9, 1, None, 1) == 0.0
    assert abs(chance_to_reach(least + 1e-9, 1, None, 1) - 0.2) < 4.0 * math.sqrt(0.16 / 20_000)
    # A map adds to the error; more splits bring their mean nearer to the floor.
    floor = tl.calibration_floor(40)
    assert chance_to_reach(floor / 2, 40, 119, 5) < chance_to_reach(floor / 2, 40, None, 5)
    assert chance_to_reach(floor / 2, 40, None, 5) < chance_to_reach(floor / 2, 40, None, 1)


# The CSV file


def test_the_csv_holds_every_mean_and_standard_error(records):
    found = list(csv.DictReader(io.StringIO(csv_of(records))))
    order = [(r["model"], r["dataset"], r["variant"]) for r in found]
    assert order == list(itertools.product(MODELS, names(), VARIANTS))
    for line in found:
        key = line["dataset"], line["model"], line["variant"]
        for measure in ("mape", "calibration_error", "sharpness", "crps", "coverage", "width"):
            values = of(records, *key, measure)
            assert float(line[measure]) == pytest.approx(np.mean(values), rel=1e-12)
            assert float(line[f"{measure}_se"]) == pytest.approx(standard_error(values), rel=1e-9)
        n_test, n_train = int(line["n_test"]), int(line["n_train"])
        n_fit = n_train if line["variant"] in FITTED else None
        floor = tl.calibration_floor(n_test, n_fit)
        assert float(line["calibration_floor"]) == pytest.approx(floor, rel=1e-12)
        assert line["splits"] == "3"
        paper = TABLE1[line["dataset"]][line["model"]]
        assert float(line["paper_before"]) == paper["before"]
        assert float(line["paper_mape"]) == paper["mape"]
        recalibrated = paper["recalibrated"]
        assert line["paper_recalibrated"] == ("" if recalibrated is None else repr(recalibrated))
    zeros = {r["dataset"]: r["zero_targets"] for r in found}
    assert zeros["crime"] == "6"
    assert zeros["bank"] == "84"
    assert zeros["mpg"] == "0"


# The table of all sets


def test_the_overall_table(records):
    text = table(records)
    assert text in page(records, MADE)
    assert len(text.splitlines()) == 2 + 20
    for model, variant, label in [
        ("dropout", "refit", "MC dropout, refitted"),
        ("dropout", "crossfit", "MC dropout, cross-fitted"),
        ("deep-ensemble", "training", "Deep ensemble, training set"),
    ]:
        per_set = {
            name: [np.mean(of(records, name, model, variant, m)) for m in table1_cells.MEASURES]
            for name in names()
        }
        _, error, floor, _, crps, coverage, _ = np.array(list(per_set.values())).T
        before = [np.mean(of(records, name, model, "before", "crps")) for name in names()]
        worst = int(np.argmax(error / floor))
        assert row(text, label) == [
            label,
            f"{np.mean(error / floor):.2f}",
            f"{error.sum() / floor.sum():.2f}",
            f"{names()[worst]} {(error / floor)[worst]:.2f}",
            f"{np.mean(crps / before):.3f}",
            f"{100 * np.mean(np.abs(coverage - 0.9)):.1f}%",
        ]


# The page


def test_the_page_says_how_it_was_made(records):
    text = page(records, MADE)
    assert text.startswith("# Table 1")
    assert f"{MADE} Seeds 0 to 2, one a split." in text
    assert "Each of 8 data sets is split 3 times at random" in one_line(text)
    assert "\n\n\n" not in text
    for model in MODELS:
        assert f"({model}.png)" in text


def test_the_main_table_of_a_model(records):
    section = page(records, MADE).partition("\n## MC dropout\n")[2]
    values = [of(records, "cpu", "dropout", v, "calibration_error") for v in VARIANTS]
    shown = [f"{np.mean(v):.4f} ± {standard_error(v):.4f}" for v in values]
    mape = of(records, "cpu", "dropout", "before", "mape")
    assert row(section, "cpu") == [
        "cpu",
        *(shown[0], shown[1], shown[2], shown[4]),
        f"{1.65 / 53:.4f}",
        f"{1.65 * (1 / 53 + 1 / 156):.4f}",
        "0.163",
        "0.065",
        f"{np.mean(mape):.3f} ± {standard_error(mape):.3f}",
        "0.351",
    ]


def test_the_second_tables_of_a_model(records):
    section = page(records, MADE).partition("\n## Deep ensemble\n")[2]
    crps = section.partition("\nCRPS:\n")[2]
    shown = [
        "1.100 ± 0.058",
        "1.045 ± 0.055",
        "0.9350 ± 0.0491",
        "0.9900 ± 0.0520",
        "0.8800 ± 0.0462",
    ]
    assert row(crps, "mpg") == ["mpg", *shown]
    coverage = section.partition("\nCoverage of 90% intervals:\n")[2]
    values = of(records, "bank", "deep-ensemble", "averaged", "coverage")
    assert row(coverage, "bank")[4] == f"{np.mean(values):.3f} ± {standard_error(values):.3f}"
    width = section.partition("\nWidth of 90% intervals:\n")[2]
    values = of(records, "bank", "deep-ensemble", "before", "width")
    assert row(width, "bank")[1] == f"{np.mean(values):,.0f} ± {standard_error(values):,.0f}"


def test_what_it_shows_of_a_model(records):
    text = one_line(page(records, MADE))
    ratio = {
        v: np.mean(
            [
                np.mean(of(records, name, "dropout", v, "calibration_error"))
                / np.mean(of(records, name, "dropout", v, "calibration_floor"))
                for name in names()
            ]
        )
        for v in VARIANTS
    }
    assert (
        f"MC dropout: the calibration error is, on average over 8 sets, {ratio['before']:.2f} "
        f"before, {ratio['training']:.2f} on the training set, {ratio['refit']:.2f} refitted "
        f"and {ratio['crossfit']:.2f} cross-fitted, in units of its floor. The CRPS is "
        f"15.0% lower than before refitted, and 20.0% lower cross-fitted. Of the "
        f"latter, averaging five models alone makes it 10.0% lower, and recalibrating those five "
        f"11.1% lower than averaged."
    ) in text


def test_a_gain_of_averaging_alone_is_not_put_down_to_recalibration(mended):
    for name in names():
        set_(mended, name, "dropout", "averaged", "crps", 0.75)
        set_(mended, name, "dropout", "crossfit", "crps", 0.825)
        set_(mended, name, "dropout", "before", "crps", 1.0)
    text = one_line(page(mended, MADE))
    assert (
        "and 17.5% lower cross-fitted. Of the latter, averaging five models alone makes it "
        "25.0% lower, and recalibrating those five 10.0% higher than averaged."
    ) in text


def test_a_crps_that_rises_on_average_is_told(mended):
    good = one_line(page(mended, MADE))
    assert "relative to before, is above 1 for no model." in good
    for name in names():
        set_(mended, name, "concrete-dropout", "before", "crps", 0.8)
        set_(mended, name, "concrete-dropout", "crossfit", "crps", 0.9)
        set_(mended, name, "concrete-dropout", "refit", "crps", 0.7)
    bad = one_line(page(mended, MADE))
    assert "is above 1 for Concrete dropout, cross-fitted (1.125)." in bad


honest = pytest.mark.parametrize(
    "variant, label", [("refit", "refitted"), ("crossfit", "cross-fitted")]
)


@honest
def test_a_cell_above_three_floors_is_named(mended, variant, label):
    claim = f"After recalibration ({label}), the error is above 3 times its floor in"
    assert f"{claim} none of 32 cells." in one_line(page(mended, MADE))
    floor = of(mended, "wine", "deep-ensemble", variant, "calibration_floor")[0]
    set_(mended, "wine", "deep-ensemble", variant, "calibration_error", 3.25 * floor)
    set_(mended, "mpg", "dropout", variant, "calibration_error", 2.9 * floor)
    bad = one_line(page(mended, MADE))
    assert (
        f"{claim} 1 of 32 cells: wine with Deep ensemble "
        f"({3.25 * floor:.4f} ± 0.0000, 3.25 times the floor of {floor:.4f})."
    ) in bad
    assert bad.count("in none of 32 cells") == 1


@honest
def test_a_crps_that_should_fall_and_does_not_is_named(mended, variant, label):
    claim = f"Recalibration ({label}) lowers the CRPS in"
    assert f"in 32 of 32 cells. {claim} all of these." in one_line(page(mended, MADE))
    # Equal is not lower.
    set_(mended, "stocks", "bayesian-ridge", variant, "crps", 2.5)
    set_(mended, "stocks", "bayesian-ridge", "before", "crps", 2.5)
    # A cell that was well calibrated is not asked to gain.
    floor = of(mended, "cpu", "dropout", "before", "calibration_floor")[0]
    set_(mended, "cpu", "dropout", "before", "calibration_error", 2.9 * floor)
    set_(mended, "cpu", "dropout", variant, "crps", 9.0)
    assert (
        f"in 31 of 32 cells. {claim} 30 of these, and not in stocks with "
        "Bayesian ridge (from 2.500 to 2.500, a difference of 0.000 ± 0.000)."
    ) in one_line(page(mended, MADE))


def test_beside_the_paper(mended):
    for name, model in itertools.product(names(), MODELS[:2]):
        limit = TABLE1[name][model]["recalibrated"]
        set_(mended, name, model, "crossfit", "calibration_error", limit)
    text = page(mended, MADE)
    assert "is at or below it in 16 of 16." in one_line(text)
    assert "not reached" not in text
    set_(mended, "auto", "dropout", "crossfit", "calibration_error", 0.0175)
    set_(mended, "bank", "bayesian-ridge", "crossfit", "calibration_error", 0.0831)
    text = page(mended, MADE)
    assert "is at or below it in 14 of 16." in one_line(text)
    chances = chance_to_reach(0.017, 40, 119, 3), chance_to_reach(0.017, 40, None, 3)
    assert 0.001 < chances[0] < chances[1] < 0.1
    assert row(text, "auto with MC dropout") == [
        "auto with MC dropout",
        "0.0175 ± 0.0000",
        "0.017",
        f"{1.65 * (1 / 40 + 1 / 119):.4f}",
        *(f"{100 * chance:.{2 if chance < 0.01 else 1}f}%" for chance in chances),
    ]
    assert row(text, "bank with Bayesian ridge")[-2:] == ["above 99.9%", "above 99.9%"]
    assert "\n\n\n" not in text


def test_zero_targets_are_counted_once_however_many_models_there_are(records):
    text = one_line(page(records, MADE))
    assert "target is 0: 6 rows of crime and 84 rows of bank, summed over the splits." in text
    assert "(its smallest has 194 rows, ours 159)" in text
    assert "target is 0: none here." in one_line(page(make(["mpg"], ["dropout"]), MADE))


# Some sets, some models, one split


def test_one_split_has_no_standard_error():
    few = make(["mpg", "cpu"], ["deep-ensemble"], 1)
    text = page(few, MADE)
    assert "±" not in text
    assert f"{MADE} Seed 0." in text
    assert "split once at random" in text
    found = list(csv.DictReader(io.StringIO(csv_of(few))))
    assert [r["dataset"] for r in found] == ["mpg"] * 5 + ["cpu"] * 5
    assert {r["crps_se"] for r in found} == {""}
    # No model with a recalibrated number in the paper.
    assert "The paper has a recalibrated error" not in text
    assert "Bayesian ridge" not in text


def test_models_need_not_have_the_same_sets_and_splits():
    ragged = make(["mpg", "auto"], ["dropout"], 2) + make(["mpg"], ["bayesian-ridge"], 4)
    text = one_line(page(ragged, MADE))
    assert "Each of 2 data sets is split 2 to 4 times at random" in text
    assert "Bayesian ridge: the calibration error is, on average over 1 set, " in text
    assert "The paper has a recalibrated error in 3 of these cells." in text
    without = [r for r in make(["mpg"], ["dropout"], 4) if r["split"] != 1]
    assert "Seeds 0, 2 and 3, one a split." in page(without, MADE)


# The pictures


def drawn(monkeypatch, records, model, path):
    """The figure that was written."""
    kept = []
    write = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *a, **k: (kept.append(self), write(self, *a, **k))
    )
    draw(path, records, model)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    return kept[0]


def test_a_panel_a_set_with_the_mean_curves(records, monkeypatch, tmp_path):
    figure = drawn(monkeypatch, records, "dropout", tmp_path / "dropout.png")
    assert len(figure.axes) == 8
    panel = figure.axes[names().index("cpu")]
    assert panel.get_title() == "cpu (53 rows)"
    lines = {line.get_label(): line for line in panel.get_lines()}
    for label, variant in [("before", "before"), ("cross-fitted", "crossfit")]:
        np.testing.assert_allclose(lines[label].get_xdata(), np.linspace(0.05, 0.95, 19))
        expected = np.mean(of(records, "cpu", "dropout", variant, "curve"), axis=0)
        np.testing.assert_allclose(lines[label].get_ydata(), expected)
    curves = [lines[label] for label in ("before", "training set", "refitted", "cross-fitted")]
    assert len({line.get_linestyle() for line in curves}) == 4
    assert len({line.get_marker() for line in curves}) == 4
    error = np.mean(of(records, "cpu", "dropout", "crossfit", "calibration_error"))
    ratio = error / tl.calibration_floor(53, 156)
    assert panel.texts[0].get_text().endswith(f"cross-fitted {ratio:.1f}")
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["before", "training set", "refitted", "cross-fitted", "chance (95%)"]


@pytest.mark.parametrize("sets", [["wine"], ["mpg", "auto", "cpu"], names()[:5]])
def test_nothing_is_clipped_or_overlaps(sets, monkeypatch, tmp_path):
    figure = drawn(monkeypatch, make(sets, ["dropout"], 1), "dropout", tmp_path / "a.png")
    assert [ax.get_title().split()[0] for ax in figure.axes] == sets
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [ax.get_tightbbox(renderer) for ax in figure.axes]
    boxes += [figure.legends[0].get_window_extent(renderer)]
    boxes += [figure._suptitle.get_window_extent(renderer)]
    width, height = figure.bbox.size
    for box in boxes:
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)


def test_the_same_records_give_the_same_picture(records, tmp_path):
    for name in ("a.png", "b.png"):
        draw(tmp_path / name, copy.deepcopy(records), "bayesian-ridge")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_what_the_tested_rows_of_overlapping_splits_are_worth():
    # A true forecast: the PIT values of N rows are uniform, and each split tests T of them.
    N, T, S, repeats = 80, 20, 5, 4000
    rng = np.random.default_rng(7)
    means = np.empty(repeats)
    for i in range(repeats):
        below = rng.uniform(size=N) <= 0.5
        means[i] = np.mean([below[rng.permutation(N)[:T]].mean() for _ in range(S)])
    cell = Cell("mpg", "dropout", [{"n_train": N - T, "n_test": T}] * S)
    expected = 0.25 / rows_worth(cell)
    # The standard error of a variance is about sqrt(2 / repeats) of it.
    assert abs(means.var() / expected - 1.0) < 4.0 * math.sqrt(2.0 / repeats)
    assert rows_worth(cell) == pytest.approx(2.5 * T)
    assert rows_worth(cell._replace(records=cell.records[:1])) == pytest.approx(T)


def test_the_band_is_that_of_the_rows_worth(records):
    cell = cells(records, "dropout")[0]
    lower, upper = table1_plots.band(cell)
    # 98 of 392 rows in 3 splits are worth 98 / (1/4 + 3/4/3) = 196.
    y = np.linspace(-2, 2, 196)
    curve = tl.calibration_curve(y, tl.Normal(np.zeros(196), 1.0), np.arange(41) / 40)
    np.testing.assert_array_equal(lower, curve.lower)
    np.testing.assert_array_equal(upper, curve.upper)
