"""How forecasts are shown: `repr` and the table of notebooks."""

from xml.etree.ElementTree import fromstring

import numpy as np
import pandas as pd
import pytest

import trueline as tl

RNG = np.random.default_rng(0)
N = 1254
LOC = RNG.normal(size=N)
F = tl.Normal(LOC, 1.0)
Y = LOC + RNG.normal(size=N)
GROUPS = np.arange(N) % 3


def recalibrated(recalibrator, forecast=F, y=Y, **more):
    return recalibrator.fit(y, forecast, **more).transform(forecast, **more)


def test_the_text_says_what_it_is_and_what_recalibrated_it():
    point, mixture = tl.Point(LOC), tl.Mixture([F, F])
    counts = recalibrated(tl.Isotonic(), y=RNG.poisson(2.0, size=N))
    shown = [
        F[[0]],
        F,
        recalibrated(tl.Isotonic())[:2],
        recalibrated(tl.Smooth(), point),
        recalibrated(tl.Isotonic(), mixture),
        recalibrated(tl.Grouped(), groups=GROUPS),
        recalibrated(tl.Online(window=N)),
        counts,
    ]
    assert [repr(forecast) for forecast in shown] == [
        "Normal(1 row)",
        "Normal(1,254 rows)",
        "Normal(2 rows), recalibrated by Isotonic on 1,254 rows",
        "Point(1,254 rows), recalibrated by Smooth on 1,254 rows",
        "Mixture(1,254 rows), recalibrated by Isotonic on 1,254 rows",
        "Normal(1,254 rows), recalibrated by Grouped",
        "Normal(1,254 rows), recalibrated by Online on 1,254 rows",
        "Normal(1,254 rows) with atoms, recalibrated by Isotonic on 1,254 rows",
    ]


def test_the_table_shows_the_first_rows_with_their_labels():
    labels = pd.Index([f"<day {i}>" for i in range(7)])
    frame = pd.DataFrame({"mean": np.arange(7.0), "std": 2.0}, index=labels)
    html = tl.as_distribution(frame)._repr_html_()
    header, *rows = [[cell.text for cell in row] for row in fromstring(html).iter("tr")]
    assert header == ["row", "mean", "median", "std", "lower end of 90%", "upper end of 90%"]
    assert [row[0] for row in rows] == labels[:5].tolist()
    assert rows[3][1:] == ["3", "3", "2", "-0.2897", "6.29"]
    assert "<p>and 2 more rows</p>" in html
    assert "more row" not in F[:5]._repr_html_()


class Broken(tl.Normal):
    def _var(self):
        raise RuntimeError("no variance")


@pytest.mark.parametrize(
    "forecast",
    [
        tl.Point([1.0]),
        tl.StudentT(0.0, 1.0, [0.5, 1.5]),  # moments that do not exist
        tl.Normal([1e308], 1e308),
        tl.Isotonic(support="counts").fit([1, 2, 3], tl.Point([1.0] * 3)).transform(tl.Point(2.0)),
        Broken(0.0, 1.0),
    ],
    ids=["point", "no moments", "overflow", "few counts", "broken"],
)
def test_the_table_never_raises_or_warns(forecast):
    assert forecast._repr_html_().count("<tr>") == len(forecast) + 1


def test_a_method_that_fails_leaves_a_mark():
    assert Broken(0.0, 1.0)._repr_html_().count(">?<") == 1
