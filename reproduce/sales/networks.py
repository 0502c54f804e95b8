"""The networks of the experiments with daily sales, and their forecasts in the order of time.

A network is trained on the days up to May 2016. Its forecasts are recalibrated in three ways, none
of which looks ahead: on the days that the network was trained on, as in the paper; on rolling
origins, where networks forecast the days after those that they were trained on; and with a map
that starts from the rolling origins and is updated every day with the sales of that day.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduce.sales.data import load_sales
from trueline.distributions import Distribution, Normal, Stacked, stack as stack_rows
from trueline.metrics import calibration_error
from trueline.recalibration import Grouped, Isotonic
from trueline.series import (
    Windows,
    recalibrate_daily,
    rolling_origins,
    sample_paths,
    windows,
)
from trueline.streams import Online

FloatArray = NDArray[np.float64]

STORES = (44, 51)
#: The forecasts that are compared, and their names.
VARIANTS = {
    "before": "before",
    "training": "training days",
    "rolling": "rolling origins",
    "daily": "day by day",
    "concrete": "concrete dropout",
    "ensemble": "deep ensemble",
}
RECALIBRATED = ("training", "rolling", "daily")
BASELINES = ("concrete", "ensemble")
#: The paper's test period.
FIRST, LAST = np.datetime64("2016-06-01"), np.datetime64("2016-12-31")
#: The first rolling origin; half of the training days come before it.
FIRST_ORIGIN = np.datetime64("2015-09-01")
#: Half-lives of the map that is updated every day, in days, from which one is chosen.
HALF_LIVES = (15, 30, 60, 120)

MODELS = ("dropout", "concrete", "ensemble")


class Size(NamedTuple):
    """The size of a run.

    Attributes
    ----------
    epochs : tuple of int
        Of each of the models.
    every : int
        Days between rolling origins.
    paths : int
        Per forecast.
    days : int
        To plan.
    """

    epochs: tuple[int, ...]
    every: int
    paths: int
    days: int

    def network(self, model: str, seed: int) -> Any:
        """Return an untrained network."""
        return make(model, seed, self.epochs[MODELS.index(model)])


#: The epochs are those that `reproduce.epochs` chooses on the training days.
FULL, QUICK = Size((80, 20, 10), 28, 100, 214), Size((10, 10, 10), 91, 20, 42)


def settings_of_maps(size: Size) -> dict[str, str]:
    """Return what the results depend on besides the networks."""
    return {
        "first origin": str(FIRST_ORIGIN),
        "half-lives": str(HALF_LIVES),
        "size": str(tuple(size)),
    }


def make(model: str, seed: int, epochs: int) -> Any:
    """Return an untrained network. None stops early: that would need days held out at random."""
    from trueline.models import (
        ConcreteDropoutGRURegressor,
        DeepEnsembleGRURegressor,
        GRURegressor,
    )

    common: dict[str, Any] = {
        "max_epochs": epochs,
        "validation_fraction": 0.0,
        "random_state": seed,
    }
    if model == "dropout":
        return GRURegressor(noise=None, **common)  # the paper leaves out the observation noise
    if model == "concrete":
        return ConcreteDropoutGRURegressor(**common)
    return DeepEnsembleGRURegressor(forecast="normal", **common)


def one_thread() -> None:
    """Use one thread in every process, so that results do not depend on the number of processes."""
    import torch

    torch.set_num_threads(1)


@dataclass(frozen=True)
class Series:
    """The windows of one store.

    Attributes
    ----------
    every : Windows
        All windows, including those whose target day has no known sales.
    train, test : Windows
        Windows of the training and the test period whose sales are known.
    frame : dict
        The sales; some days have no window.
    """

    every: Windows
    train: Windows
    test: Windows
    frame: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, store: int) -> Series:
        """Read the sales of a store."""
        frame = load_sales(store).frame
        every = windows(frame, series="store", missing="forecast", nonnegative=True)
        known = every[np.isfinite(every.y)]
        return cls(every, known.before(FIRST), known.between(FIRST, LAST), frame)

    def sales(self, dates: NDArray[np.datetime64]) -> FloatArray:
        """Return the sales of days; NaN where they are unknown or after the test period."""
        known, value = self.frame["date"], self.frame["value"]
        place = np.minimum(np.searchsorted(known, dates), len(known) - 1)
        there = (known[place] == dates) & (dates <= LAST)
        return np.where(there, value[place], np.nan)


@dataclass(frozen=True)
class Networks:
    """A network trained on all training days, and the networks of the rolling origins.

    Attributes
    ----------
    whole : regressor
    folds : list of (regressor, rows)
        Each network with the rows of the training windows that it forecasts.
    """

    whole: Any
    folds: list[tuple[Any, NDArray[np.intp]]]

    @classmethod
    def fit(cls, series: Series, seed: int, size: Size) -> Networks:
        """Train the network of the paper; all copies are trained together."""
        from trueline.models import fit_many

        W = series.train
        splits = list(rolling_origins(W, first=FIRST_ORIGIN, every=size.every))
        rows = [np.arange(len(W)), *(train for train, _ in splits)]
        model = size.network("dropout", seed)
        whole, *others = fit_many(model, [(W.X[r], W.y[r]) for r in rows])
        tested = [test for _, test in splits]
        return cls(whole, list(zip(others, tested, strict=True)))

    def rolled(self, forecast: Callable[[Any, Windows], Any], W: Windows) -> list[Any]:
        """Return the forecasts of the rolling origins, one per network."""
        return [forecast(model, W[rows]) for model, rows in self.folds]


class Rolled(NamedTuple):
    """Forecasts of training days by networks that were trained on the days before."""

    y: FloatArray
    dist: Distribution
    dates: NDArray[np.datetime64]

    @classmethod
    def by(cls, networks: Networks, train: Windows) -> Rolled:
        """Forecast each day from the day before."""
        rows = np.concatenate([rows for _, rows in networks.folds])
        parts = networks.rolled(lambda model, W: model.predict_dist(W.X), train)
        places = np.split(np.arange(len(rows)), np.cumsum([len(part) for part in parts])[:-1])
        return cls(train.y[rows], stack_rows(parts, places), train.dates[rows])

    def half_life(self) -> int:
        """Return the half-life that calibrates best on the second half of these days.

        As on the test days, the map is first fitted and then updated every day.
        """
        first, second = np.array_split(np.arange(len(self.y)), 2)
        errors = []
        for half_life in HALF_LIVES:
            start = Online(half_life=half_life).fit(self.y[first], self.dist[first])
            dist = recalibrate_daily(start, self.y[second], self.dist[second], self.dates[second])
            errors.append(calibration_error(self.y[second], dist))
        return HALF_LIVES[int(np.argmin(errors))]


def one_day(
    series: Series, networks: Networks
) -> tuple[dict[str, Distribution], dict[str, int], int]:
    """Forecast each test day from the day before.

    Returns
    -------
    forecasts : dict of Distribution
    n_fit : dict of int
        Number of rows that a map was fitted on. The map that is updated every day has no entry:
        its errors change from day to day and average out.
    half_life : int
    """
    train, test = series.train, series.test
    before = networks.whole.predict_dist(test.X)
    rolled = Rolled.by(networks, train)
    half_life = rolled.half_life()
    daily = Online(half_life=half_life).fit(rolled.y, rolled.dist)
    on_training = Isotonic().fit(train.y, networks.whole.predict_dist(train.X))
    forecasts = {
        "before": before,
        "training": on_training.transform(before),
        "rolling": Isotonic().fit(rolled.y, rolled.dist).transform(before),
        "daily": recalibrate_daily(daily, test.y, before, test.dates),
    }
    return forecasts, {"training": len(train), "rolling": len(rolled.y)}, half_life


@dataclass(frozen=True)
class Ahead:
    """Normal forecasts of several days from each of several origins, with the outcomes.

    Attributes
    ----------
    mean, std, y : (n, leads) ndarray
        y is NaN where it is unknown.
    dates : (n, leads) ndarray
        The first column holds the origins. Forecasts are made on the evening before.
    """

    mean: FloatArray
    std: FloatArray
    y: FloatArray
    dates: NDArray[np.datetime64]

    @classmethod
    def sample(
        cls, model: Any, W: Windows, series: Series, leads: int, paths: int, seed: int
    ) -> Ahead:
        """Return the moments of sampled paths."""
        sampled = sample_paths(model, W, leads, n_paths=paths, random_state=seed, minimum=0.0)
        laws = [sampled.normal(lead) for lead in range(1, leads + 1)]
        mean = np.stack([law.loc for law in laws], axis=1)
        std = np.stack([law.scale for law in laws], axis=1)
        return cls(mean, std, series.sales(sampled.dates), sampled.dates)

    @property
    def leads(self) -> NDArray[np.intp]:
        """How many days ahead each forecast is; 1 for the origin."""
        return np.broadcast_to(np.arange(1, self.mean.shape[1] + 1), self.mean.shape)

    def known_before(self, date: np.datetime64) -> NDArray[np.bool_]:
        """Return which outcomes were known before a date."""
        return np.isfinite(self.y) & (self.dates < date)

    def at(self, places: NDArray[np.bool_]) -> tuple[FloatArray, Normal]:
        """Return outcomes and forecasts at some places, ordered by origin."""
        return self.y[places], Normal(self.mean[places], self.std[places])


def stack(parts: list[Ahead]) -> Ahead:
    """Join forecasts from several origins."""
    columns = ("mean", "std", "y", "dates")
    return Ahead(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))


def by_lead(past: Ahead, new: Ahead) -> Distribution:
    """Recalibrate forecasts with one map per lead, fitted on the past; ordered by origin."""
    known = past.known_before(FIRST)
    y, dist = past.at(known)
    fitted = Grouped(Isotonic()).fit(y, dist, groups=past.leads[known])
    return fitted.transform(Normal(new.mean.ravel(), new.std.ravel()), groups=new.leads.ravel())


def by_lead_daily(past: Ahead, new: Ahead, half_life: int) -> Distribution:
    """Recalibrate forecasts with one map per lead, updated every day; ordered by origin.

    The map for h days ahead learns from forecasts for h days ahead whose outcomes are known.
    """
    parts, places = [], []
    number = np.arange(new.mean.size).reshape(new.mean.shape)
    known = past.known_before(FIRST)
    for i in range(new.mean.shape[1]):
        map_ = Online(half_life=half_life).fit(*past.at(known & (past.leads == i + 1)))
        dist = Normal(new.mean[:, i], new.std[:, i])
        parts.append(recalibrate_daily(map_, new.y[:, i], dist, new.dates[:, i], lead=i + 1))
        places.append(number[:, i])
    return Stacked(parts, places)
