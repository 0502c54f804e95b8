"""Reports that several tests look at."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import BayesianRidge

import trueline as tl
from tests.report.parsing import parse
from trueline.demo import forecast

HOSTILE = "<script>alert(1)</script>"


class Case:
    """An over-confident model of the diabetes data, before and after recalibration."""

    def __init__(self):
        data = load_diabetes(as_frame=True, scaled=False)
        order = np.random.default_rng(0).permutation(len(data.target))
        train, cal, test = order[:142], order[142:292], order[292:]
        X, y = data.data, data.target
        model = BayesianRidge().fit(X.iloc[train], y.iloc[train])
        self.X, self.y = X.iloc[test], y.iloc[test].to_numpy()
        self.F = forecast(model, self.X)
        recalibrator = tl.Isotonic().fit(y.iloc[cal], forecast(model, X.iloc[cal]))
        self.G = recalibrator.transform(self.F)
        self.n_fit = len(cal)
        self.groups = np.where(self.X.age < 50, "under 50", "50 and over")
        self.forecasts = {"before": self.F, "after": self.G}


@pytest.fixture(scope="session")
def case():
    return Case()


@pytest.fixture(scope="session")
def report_path(case, tmp_path_factory):
    """The report of that model, with everything that can be asked for."""
    return tl.report(
        case.y,
        case.forecasts,
        tmp_path_factory.mktemp("report") / "report.html",
        x=case.X,
        groups=case.groups,
        n_fit=case.n_fit,
        title="Diabetes",
        y_name="disease progression",
        unit="points",
    )


@pytest.fixture(scope="session")
def report_page(report_path):
    return parse(report_path.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def hostile_path(tmp_path_factory):
    """A report in which every text of the user is markup, or longer than any line."""
    return write_named(tmp_path_factory.mktemp("hostile") / "report.html", HOSTILE)


def write_named(path, name):
    """Write a report in which every name is this one, and some are long."""
    rng = np.random.default_rng(1)
    n = 300
    x = rng.normal(size=n)
    y = rng.normal(size=n) * np.where(x > 1.0, 4.0, 1.0)  # a segment that is off
    long = f"{name} {'verylong' * 8}"
    return tl.report(
        y,
        {name: tl.Normal(np.zeros(n), 0.5), long: tl.Normal(np.zeros(n), 1.0)},
        path,
        x={name: x, long: rng.choice([name, long], n)},
        groups=rng.choice([name, long], n),
        title=name,
        y_name=long,
        unit=name,
    )
