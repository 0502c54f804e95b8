"""The panel about where the CRPS of several forecasts comes from."""

import numpy as np

import trueline as tl
from tests.report.parsing import parse


def figures(tmp_path, y, forecasts, **options):
    page = parse(tl.report(y, forecasts, tmp_path / "r.html", **options).read_text("utf-8"))
    return [f for f in page.find("figure") if f.find("h3")[0].text == "Where the CRPS comes from"]


def test_the_panel_has_every_model_and_its_numbers(tmp_path):
    x, noise = np.random.default_rng(0).normal(size=(2, 600))
    forecasts = {f"{s:g} wide": tl.Normal(x, s) for s in (0.3, 0.6, 1.0, 1.5, 2.0)}
    (panel,) = figures(tmp_path, x + noise, forecasts, unit="mm")
    titles = [hit.find("title")[0].text for hit in panel.find("g", "hit")]
    assert len(titles) == 5
    part = tl.crps_decomposition(x + noise, forecasts["0.3 wide"])
    (own,) = [title for title in titles if title.startswith("0.3 wide")]
    assert f"miscalibration {part.miscalibration:.3g}" in own
    assert f"discrimination {part.discrimination:.3g}" in own
    assert panel.find("p", "across")[0].text == "miscalibration (mm)"
    assert len(panel.find("line", "limit")) > 1


def test_one_forecast_and_one_without_a_crps_have_no_place_in_it(tmp_path):
    y = np.random.default_rng(1).normal(size=100)
    F = tl.Normal(np.zeros(100), 1.0)
    assert figures(tmp_path, y, F) == []
    endless = tl.StudentT(np.zeros(100), 1.0, df=0.4)
    (panel,) = figures(tmp_path, y, {"a": F, "b": endless})
    assert len(panel.find("g", "hit")) == 1


def test_equal_outcomes(tmp_path):
    F = tl.Normal(np.zeros(50), 1.0)
    (panel,) = figures(tmp_path, np.zeros(50), {"a": F, "b": tl.Normal(np.ones(50), 1.0)})
    assert len(panel.find("g", "hit")) == 2
