"""How the forecasts of daily sales are written down: numbers, sentences and pictures."""

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
from reproduce import curves
from reproduce.forecast_page import csv_of, page, table
from reproduce.forecast_plots import draw_calibration, draw_forecast

MADE = "Made by `trueline reproduce forecast` with Python 3. Seeds 0 to 2."
VARIANTS = ["before", "training", "rolling", "daily", "concrete", "ensemble"]
NAMES = [
    "before",
    "training days",
    "rolling origins",
    "day by day",
    "concrete dropout",
    "deep ensemble",
]
MEASURES = [
    *("mape", "mdape", "calibration_error", "calibration_floor"),
    *("sharpness", "crps", "coverage", "width"),
]
#: Calibration error in units of the floor.
RATIO = {44: [50, 30, 4, 2, 20, 40], 51: [90, 60, 5, 2.5, 30, 80]}
COVERAGE = {44: [0.4, 0.8, 0.86, 0.9, 0.84, 0.7], 51: [0.3, 0.75, 0.88, 0.92, 0.9, 0.6]}
FITTED = {"training": 300, "rolling": 200}
PERIOD = np.arange(np.datetime64("2016-06-01"), np.datetime64("2017-01-01"))
CHRISTMAS = np.arange(np.datetime64("2016-12-25"), np.datetime64("2016-12-30"))
DATES = np.setdiff1d(PERIOD, CHRISTMAS)


def record(store, seed):
    rng = np.random.default_rng([store, seed])
    n = len(DATES)
    # The sales of a store are the same whatever the seed.
    sales = np.random.default_rng(store).uniform(500.0, 900.0, n).round(3)
    variants = {}
    for i, name in enumerate(VARIANTS):
        floor = tl.calibration_floor(n, FITTED.get(name))
        noise = rng.uniform(0.97, 1.03, size=7)
        mean = sales * rng.uniform(0.8, 1.3, n)
        curve = np.sort(rng.uniform(size=19))
        curve[9] = 0.5 + 0.01 * seed
        variants[name] = {
            "mape": 0.19 * noise[0],
            "mdape": 0.11 * noise[1],
            "calibration_error": RATIO[store][i] * floor * noise[2],
            "calibration_floor": floor,
            "sharpness": 5000.0 * noise[3],
            # All seeds alike, so that which CRPS is lower does not hang on chance.
            "crps": (80.0 - 4.0 * i) * (1.0 + 0.1 * seed),
            "coverage": COVERAGE[store][i] * noise[5],
            "width": 300.0 * noise[6],
            "curve": curve.tolist(),
            "mean": mean.tolist(),
            "lower": (mean - 100.0).tolist(),
            "upper": (mean + 100.0).tolist(),
        }
    return {
        "store": store,
        "seed": seed,
        "n_train": 545 if store == 44 else 540,
        "half_life": [30, 60, 30][seed],
        "n_test": n,
        "dates": DATES.astype(str).tolist(),
        "sales": sales.tolist(),
        "variants": variants,
        "seconds": 1.0,
    }


def make(stores=(44, 51), seeds=3):
    made = [record(*key) for key in itertools.product(stores, range(seeds))]
    return [made[i] for i in np.random.default_rng(0).permutation(len(made))]


@pytest.fixture(scope="module")
def records():
    return make()


@pytest.fixture
def mended():
    """Records of which a test may spoil some."""
    return make()


def of(records, store, variant, measure):
    """Values of the seeds in their order, read without the module under test."""
    ordered = sorted(records, key=lambda r: r["seed"])
    return [r["variants"][variant][measure] for r in ordered if r["store"] == store]


def set_(records, store, variant, measure, value):
    for r in records:
        if r["store"] == store:
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


def shown(values, decimals, factor=1.0):
    mean, error = factor * np.mean(values), factor * standard_error(values)
    return f"{mean:,.{decimals}f} ± {error:,.{decimals}f}"


# Numbers


def test_the_file_has_every_mean_and_standard_error(records):
    found = list(csv.DictReader(io.StringIO(csv_of(records))))
    keys = [(r["store"], r["variant"]) for r in found]
    assert keys == list(itertools.product(["44", "51"], VARIANTS))
    for line in found:
        assert (line["seeds"], line["n_test"]) == ("3", "209")
        assert line["n_train"] == {"44": "545", "51": "540"}[line["store"]]
        for measure in MEASURES:
            values = of(records, int(line["store"]), line["variant"], measure)
            assert float(line[measure]) == pytest.approx(np.mean(values), rel=1e-12)
            error = float(line[f"{measure}_se"])
            assert error == pytest.approx(standard_error(values), rel=1e-9, abs=1e-12)


def test_the_table_of_the_terminal(records):
    text = table(records)
    assert len(text.splitlines()) == 2 + 12
    error, floor, coverage = (
        np.mean(of(records, 51, "rolling", m))
        for m in ("calibration_error", "calibration_floor", "coverage")
    )
    assert row(text, "store 51, rolling origins") == [
        "store 51, rolling origins",
        f"{100 * np.mean(of(records, 51, 'rolling', 'mape')):.1f}%",
        f"{error / floor:.2f}",
        f"{np.mean(of(records, 51, 'rolling', 'crps')):.1f}",
        f"{100 * coverage:.1f}%",
        f"{np.mean(of(records, 51, 'rolling', 'width')):.0f}",
    ]


def test_the_table_of_a_store(records):
    section = page(records, MADE).partition("\n## Store 51\n")[2]
    for variant, name in zip(VARIANTS, NAMES, strict=True):
        values = {m: of(records, 51, variant, m) for m in MEASURES}
        floor = tl.calibration_floor(209, FITTED.get(variant))
        assert row(section, name) == [
            name,
            shown(values["mape"], 1, 100) + "%",
            shown(values["mdape"], 1, 100) + "%",
            shown(values["calibration_error"], 4),
            f"{floor:.4f}",
            f"{np.mean(values['calibration_error']) / floor:.2f}",
            shown(values["crps"], 2),
            shown(values["coverage"], 1, 100) + "%",
            shown(values["width"], 0),
        ]


def test_the_table_of_the_months(records):
    section = page(records, MADE).partition("\n## Store 44\n")[2].partition("\n## Store 51\n")[0]
    days = DATES.astype("datetime64[M]") == np.datetime64("2016-12")
    sales = np.array(next(r for r in records if r["store"] == 44)["sales"])
    said = np.mean(of(records, 44, "before", "mean"), axis=0)
    cells = []
    for variant in VARIANTS[:4]:
        lower, upper = (np.array(of(records, 44, variant, m)) for m in ("lower", "upper"))
        inside = (lower <= sales) & (sales <= upper)
        cells.append(f"{100 * inside[:, days].mean():.0f}%")
    assert row(section, "December 2016") == [
        "December 2016",
        "26",
        f"{sales[days].mean():.0f}",
        f"{said[days].mean():.0f}",
        f"{100 * (said[days].mean() / sales[days].mean() - 1):+.1f}%",
        *cells,
    ]


# What was done


def test_the_page_says_how_it_was_made(records):
    text = page(records, MADE)
    assert text.startswith("# Figures 3 and 6")
    assert f"\n\n{MADE}\n\n" in text
    assert "545 days of store 44 and 540 days of store 51" in one_line(text)
    assert "count half in 30 to 60 days" in one_line(text)
    assert "\n\n\n" not in text
    for picture in ("calibration.png", "store44.png", "store51.png"):
        assert f"({picture})" in text


def test_days_without_a_whole_window_are_told(mended):
    assert (
        "The stores were closed on 25 December. 26 to 29 December have no whole window of days "
        "before them and are not judged, which leaves 209 of 213 days."
    ) in one_line(page(mended, MADE))
    late = [str(day) for day in CHRISTMAS[1:]]
    for r in mended:
        r["dates"] = sorted(r["dates"] + late)
        r["sales"] += [700.0] * 4
        r["n_test"] = 213
        for variant in r["variants"].values():
            for name in ("mean", "lower", "upper"):
                variant[name] = variant[name] + [700.0] * 4
    text = one_line(page(mended, MADE))
    assert "All 213 days on which the stores were open are judged." in text
    assert "whole window" not in text


def test_one_seed_has_no_standard_error():
    few = make([51], 1)
    text = page(few, MADE)
    assert "±" not in text
    assert "by seed" not in text
    assert "count half in 30 days" in one_line(text)
    assert "Store 44" not in text
    assert "every store" not in text
    assert {r["crps_se"] for r in csv.DictReader(io.StringIO(csv_of(few)))} == {""}


# What it shows


def test_whether_the_interval_holds_enough(mended):
    for store, shares in ((44, [0.86, 0.9, 0.94]), (51, [0.80, 0.85, 0.87])):
        for seed, share in enumerate(shares):
            next(r for r in mended if (r["store"], r["seed"]) == (store, seed))["variants"][
                "rolling"
            ]["coverage"] = share
    assert (
        "Recalibrated, rolling origins: the 90% interval holds 90.00% of the days in store 44 "
        "(86.0 to 94.0% by seed) and 84.00% of the days in store 51 (80.0 to 87.0% by seed), "
        "which is within 85 to 95% in store 44 and outside 85 to 95% in store 51."
    ) in one_line(page(mended, MADE))
    set_(mended, 51, "rolling", "coverage", 0.95)
    assert "95.0% by seed), which is within 85 to 95% in every store." in one_line(
        page(mended, MADE)
    )
    outside = "which is outside 85 to 95% in every store."
    assert one_line(page(mended, MADE)).count(outside) == 1  # the training days
    for store in (44, 51):
        set_(mended, store, "rolling", "coverage", 0.951)
    assert one_line(page(mended, MADE)).count(outside) == 2


def test_whether_the_network_misses_most_days(mended):
    claim = "misses most days (Figure 3); this one does so in"
    assert f"{claim} every store." in one_line(page(mended, MADE))
    set_(mended, 44, "before", "coverage", 0.5)
    assert f"{claim} store 51." in one_line(page(mended, MADE))
    set_(mended, 51, "before", "coverage", 0.6)
    assert f"{claim} no store." in one_line(page(mended, MADE))


def test_whether_an_honest_map_is_within_three_floors(mended):
    claim = "map that has not seen the days its network was trained on is that of"
    for store in (44, 51):
        set_(mended, store, "training", "calibration_error", 0.0)
        set_(mended, store, "rolling", "calibration_error", 4 * tl.calibration_floor(209, 200))
    set_(mended, 44, "daily", "calibration_error", 2.9 * tl.calibration_floor(209))
    set_(mended, 51, "daily", "calibration_error", 2.5 * tl.calibration_floor(209))
    assert (
        f"{claim} store 44 (day by day, 2.90) and store 51 (day by day, 2.50): at most 3 in "
        f"every store."
    ) in one_line(page(mended, MADE))
    set_(mended, 51, "daily", "calibration_error", 4.5 * tl.calibration_floor(209))
    text = one_line(page(mended, MADE))
    assert (
        f"{claim} store 44 (day by day, 2.90) and store 51 (rolling origins, 4.00): at most 3 in "
        f"store 44 and above 3 in store 51."
    ) in text
    assert "error is 2.90 and 4.50 times its floor, at most 3 in store 44 and above 3 in" in text
    assert "error is 4.00 and 4.00 times its floor, above 3 in every store." in text


def test_the_crps_against_before(records):
    # 72 / 80 in every seed.
    assert (
        "the CRPS of rolling origins is 10.0% lower in store 44 and 10.0% lower in store 51."
    ) in one_line(page(records, MADE))


def test_the_baselines(mended):
    text = one_line(page(mended, MADE))
    ratio = {
        s: np.mean(of(mended, s, "concrete", "calibration_error")) / tl.calibration_floor(209)
        for s in (44, 51)
    }
    assert (
        f"concrete dropout has {ratio[44]:.2f} and {ratio[51]:.2f} times the floor, lower than "
        f"before in every store;"
    ) in text
    assert "Nearest to its floor is day by day in store 44 and day by day in store 51." in text
    set_(mended, 44, "concrete", "calibration_error", 1.0 * tl.calibration_floor(209))
    set_(mended, 51, "ensemble", "calibration_error", 200 * tl.calibration_floor(209))
    text = one_line(page(mended, MADE))
    assert (
        "times the floor, lower than before in store 44 and not lower than before in store" in text
    )
    assert "Nearest to its floor is concrete dropout in store 44 and day by day in store 51" in text


def median(records, store, variant, share):
    for values in of(records, store, variant, "curve"):
        values[9] = share


def test_a_drift_is_told_where_there_is_one(mended):
    assert "that is within chance in every store: no drift is to be seen here." in one_line(
        page(mended, MADE)
    )
    chance = 1.96 * math.sqrt(0.25 * (1 / 209 + 1 / 200))
    median(mended, 51, "rolling", 0.5 + chance + 0.001)
    text = one_line(page(mended, MADE))
    assert f"chance goes ({100 * chance:.1f}% either side" in text
    assert "in store 51: what held up to May does not hold from June on." in text
    assert "updated day by day follows this drift." in text
    assert f"rolling origins 51.0% in store 44 and {100 * (0.501 + chance):.1f}% in store" in text
    median(mended, 51, "daily", 0.5 - 1.96 * math.sqrt(0.25 / 209) - 0.001)
    assert "day by day lags behind it in store 51." in one_line(page(mended, MADE))
    median(mended, 51, "rolling", 0.5 + chance - 0.001)
    assert "no drift is to be seen here." in one_line(page(mended, MADE))


def test_what_the_network_forecasts_on_average(records):
    sold = np.mean(next(r for r in records if r["store"] == 44)["sales"])
    said = np.mean(of(records, 44, "before", "mean"))
    assert f"{said:.0f} where {sold:.0f} were sold in store 44" in one_line(page(records, MADE))


def test_mape_beside_the_paper(mended):
    for store, mape in ((44, 0.15), (51, 0.218)):
        set_(mended, store, "before", "mape", mape)
    text = one_line(page(mended, MADE))
    assert "MAPE of the network: 15.0% in store 44 (below) and 21.8% in store 51 (within)." in text
    assert "17.3 to 21.8%" in text
    assert "No day of store 51 sold less than a tenth of the mean." in text
    set_(mended, 51, "before", "mape", 0.5)
    assert "50.0% in store 51 (above)" in one_line(page(mended, MADE))


def test_days_of_next_to_no_sales(mended):
    for r in mended:
        if r["store"] == 51:
            r["sales"][3] = 0.75
    sales = np.array(next(r for r in mended if r["store"] == 51)["sales"])
    errors = np.abs(np.array(of(mended, 51, "before", "mean")) - sales) / sales
    without = np.delete(errors, 3, axis=1).mean()
    assert (
        f"1 day of store 51 sold less than a tenth of the mean and dominates it: without it it "
        f"would be {100 * without:.1f}%."
    ) in one_line(page(mended, MADE))
    for r in mended:
        if r["store"] == 51:
            r["sales"][3:5] = [60.0, 0.0]
            r["variants"]["before"]["mean"][3] = 70.0
    assert "2 days of store 51 sold less than a tenth of the mean and make some of it" in one_line(
        page(mended, MADE)
    )


# The pictures


def drawn(monkeypatch, path, draw, *args):
    """The figure that was written, and nothing else."""
    kept = []
    write = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *a, **k: (kept.append(self), write(self, *a, **k))
    )
    draw(path, *args)
    found = path.read_bytes()
    assert found.startswith(b"\x89PNG")
    assert found.endswith(b"IEND\xaeB`\x82")
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    return kept[0]


def test_a_panel_a_store_with_the_mean_curves(records, monkeypatch, tmp_path):
    figure = drawn(monkeypatch, tmp_path / "a.png", draw_calibration, records)
    titles = [ax.get_title() for ax in figure.axes]
    assert titles == ["store 44 (209 days)", "store 51 (209 days)"]
    panel = figure.axes[1]
    lines = {line.get_label(): line for line in panel.get_lines()}
    for variant, name in zip(VARIANTS, NAMES, strict=True):
        expected = np.mean(of(records, 51, variant, "curve"), axis=0)
        np.testing.assert_allclose(lines[name].get_ydata(), expected)
    assert len({lines[name].get_marker() for name in NAMES}) == 6
    told = panel.texts[0].get_text().splitlines()
    error = np.mean(of(records, 51, "daily", "calibration_error"))
    assert told[-1] == f"day by day {error / tl.calibration_floor(209):.1f}"
    assert len(told) == 7
    # All seeds share their days: the band is that of 209, whatever the number of seeds.
    (band,) = panel.collections
    lower, upper = curves.band(209)
    points = band.get_paths()[0].vertices
    assert points[:, 1].min() == pytest.approx(lower.min())
    np.testing.assert_allclose(sorted(set(points[:, 1])), sorted({*lower, *upper}))


def test_the_forecast_before_and_after(mended, monkeypatch, tmp_path):
    records = mended
    for upper in of(records, 51, "daily", "upper"):
        upper[:] = [value + 900.0 for value in upper]  # far above those before
    figure = drawn(monkeypatch, tmp_path / "a.png", draw_forecast, records, 51)
    above, below = figure.axes
    for ax, variant, title in (
        (above, "before", "Before recalibration"),
        (below, "daily", "Recalibrated, day by day"),
    ):
        # The first seed there is.
        first = next(r for r in records if (r["store"], r["seed"]) == (51, 0))
        result, sales = first["variants"][variant], np.array(first["sales"])
        held = 100 * result["coverage"]
        assert ax.get_title("left") == f"{title}: the 90% interval holds {held:.1f}% of days"
        lines = {line.get_label(): line for line in ax.get_lines()}
        out = (sales < np.array(result["lower"])) | (sales > np.array(result["upper"]))
        np.testing.assert_array_equal(lines["day missed"].get_ydata(), sales[out])
        np.testing.assert_array_equal(lines["day missed"].get_xdata(), DATES[out])
        assert 0 < out.sum() < len(sales)
        assert ax.get_ylim()[0] == 0.0
        assert ax.get_ylim()[1] > max(result["upper"])
        # No line over the days that are not there.
        y = np.asarray(lines["sales"].get_ydata())
        np.testing.assert_array_equal(np.flatnonzero(np.isnan(y)), np.arange(207, 212))
        np.testing.assert_array_equal(y[~np.isnan(y)], sales)


@pytest.mark.parametrize("stores", [[44], [44, 51]])
def test_nothing_is_clipped_or_overlaps(stores, monkeypatch, tmp_path):
    few = make(stores, 1)
    for i, (draw, *args) in enumerate([(draw_calibration, few), (draw_forecast, few, 44)]):
        folder = tmp_path / str(i)
        folder.mkdir()
        with monkeypatch.context() as patch:
            figure = drawn(patch, folder / "a.png", draw, *args)
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


def test_the_same_records_give_the_same_pictures(records, tmp_path):
    for name in ("a.png", "b.png"):
        draw_calibration(tmp_path / name, copy.deepcopy(records))
        draw_forecast(tmp_path / f"44{name}", copy.deepcopy(records), 44)
    for name in ("", "44"):
        first, second = (tmp_path / f"{name}{letter}.png" for letter in "ab")
        assert first.read_bytes() == second.read_bytes()
