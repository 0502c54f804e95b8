"""The calls that `same.py` makes, grouped by area, and the data that they use.

A call is an expression, evaluated with the names that `same.py` defines. A word in angle brackets
stands for choices: the expression is evaluated with each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor

import trueline as tl

# ---- data ------------------------------------------------------------------------------------


def make_rows(n: int, seed: int) -> SimpleNamespace:
    """Features, forecasts that are too narrow, outcomes, weights and groups."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    std, groups = rng.uniform(0.2, 0.5, size=n), rng.choice(["north", "south", "a,b"], size=n)
    y = X[:, 0] + 3.0 * std * rng.normal(size=n) * np.where(groups == "south", 2.0, 1.0)
    weight = rng.integers(0, 4, size=n).astype(float)
    return SimpleNamespace(X=X, mean=X[:, 0], std=std, y=y, weight=weight, groups=groups)


PAST, NEW, TIED = make_rows(80, 0), make_rows(6, 1), make_rows(80, 0)
TIED.mean, TIED.std, TIED.y = TIED.mean.round(), np.full(80, 0.5), TIED.y.round()
LEVELS = np.array([1e-9, 0.01, 0.1, 0.5, 0.77, 0.99])
GRID = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
# Outcomes in the body of every row and far out in both tails.
AROUND = NEW.y[:, None] + np.array([-50.0, -1.0, 0.0, 0.5, 50.0])
# Options of networks that train fast.
SMALL = {"hidden": (8,), "max_epochs": 3, "learning_rate": 0.01, "random_state": 0}
TINY = {"layers": (1, 1, 2), "growth_rate": 4, "first_channels": 6, "n_samples": 4, "n_epochs": 2}
# A tree without a seed of its own draws from numpy's global state, and rounds as it draws.
BOOSTED = {"n_estimators": 5, "Base": DecisionTreeRegressor(random_state=0), "verbose": False}
ARCSINH = {"func": np.arcsinh, "inverse_func": np.sinh}
# A learner for `Conditional` that is not the library's own.
LEARNER = SimpleNamespace(
    fit=lambda X, s: None, predict_quantiles=lambda X, levels: X[:, :1] + np.log(levels)
)


def windows(**options: Any) -> Any:
    """Windows of two daily series with gaps, a missing value and a promotion."""
    n, rng = 200, np.random.default_rng(0)
    shop = np.repeat(["north", "south"], n)
    value = np.where(shop == "north", 100.0, 60.0) + 10.0 * np.sin(0.9 * np.arange(2 * n))
    value += rng.normal(scale=5.0, size=2 * n)
    value[60] = np.nan
    date = np.tile(np.datetime64("2015-06-01") + np.arange(n), 2)
    promotion = (rng.random(2 * n) < 0.2).astype(float)
    frame = {"date": date, "shop": shop, "value": value, "promotion": promotion}
    keep = ~np.isin(np.arange(2 * n), [40, n + 90, n + 91])
    frame = {name: column[keep] for name, column in frame.items()}
    return tl.series.windows(frame, series="shop", **options)


def sales() -> SimpleNamespace:
    """Four weeks of demand, with forecasts of six, and the same with a day when it is closed."""
    mean = np.resize([60.0, 57.0, 89.0, 48.0, 61.0, 83.0, 102.0], 42)
    demand = np.rint(np.random.default_rng(0).normal(mean[:28], 12.0))
    dates, closed = np.datetime64("2017-01-02") + np.arange(28), np.arange(28) == 9
    forecasts = tl.Normal(mean, 0.2 * mean)
    return SimpleNamespace(
        demand=demand, open=demand * ~closed, dates=dates, closed=closed, F=forecasts
    )


# ---- calls -----------------------------------------------------------------------------------

#: Modules that expressions name; one that is not installed is left out.
MODULES = {
    "compose": "sklearn.compose",
    "estimators": "trueline.estimators",
    "folds": "sklearn.model_selection",
    "inventory": "trueline.inventory",
    "linear": "sklearn.linear_model",
    "models": "trueline.models",
    "ngboost": "ngboost",
    "pandas": "pandas",
    "polars": "polars",
    "pyarrow": "pyarrow",
    "recalibration": "trueline.recalibration",
    "series": "trueline.series",
    "skpro": "skpro.distributions",
    "sklearn": "sklearn",
    "stats": "scipy.stats",
    "torch": "torch",
    "trees": "sklearn.ensemble",
    "xarray": "xarray",
}

#: What stands for a word in angle brackets, one per line or between bars.
CHOICES = {
    "forecast": """
        tl.Normal(m, s)
        tl.StudentT(m, s, 4.0)
        tl.StudentT(m, s, np.resize([1.0, 2.5, 30.0], len(m)))
        tl.Laplace(m, s)
        tl.Logistic(m, s)
        tl.Point(m)
        tl.Samples(tl.Normal(m, s).sample(9, random_state=3))
        tl.Quantiles(GRID, tl.Normal(m, s).ppf(GRID))
        tl.Quantiles([0.1, 0.5, 0.9], np.stack([m, m, m + s], axis=1))
        tl.Mixture([tl.Normal(m, s), tl.Laplace(m + 1.0, s)], [0.3, 0.7])
        tl.Mixture([tl.Normal(m, s), tl.Samples(np.stack([m, m + s], axis=1))])
        tl.as_distribution(stats.gamma(a=1.0 + abs(m), scale=s))""",
    "map": """
        tl.Isotonic()
        tl.Isotonic(finite_sample=False)
        tl.Smooth()
        tl.Smooth(n_knots=5)
        api.Beta()
        tl.Scaling()
        tl.Auto(cv=3)
        tl.Auto([tl.Scaling(), tl.Isotonic()], random_state=2)
        tl.Grouped()
        tl.Grouped(api.Beta(), shrinkage=3.0)
        tl.Conditional(recalibration.QuantileForest(10, random_state=0), n_levels=19)
        tl.Online()
        tl.Online(tl.Scaling(), window=30)
        tl.Online(half_life=10.0)
        tl.Online(coverage=0.8, rate=0.05)
        tl.Online(tl.Smooth(), coverage=0.9, window=40)""",
    "online": """
        tl.Online()
        tl.Online(tl.Scaling(), window=30)
        tl.Online(half_life=10.0)
        tl.Online(coverage=0.8, rate=0.05)""",
    # What is asked of every forecast, before and after recalibration.
    "asked": """
        cdf(AROUND) | sf(AROUND) | logcdf(AROUND) | logsf(AROUND) | pdf(AROUND) | logpdf(AROUND)
        crps(AROUND) | score(AROUND) | mean() | var() | std() | median() | interval() | ppf(LEVELS)
        interval([0.5, 0.8]) | sample(3, random_state=5) | __getitem__(2).ppf(0.3)
        __getitem__(slice(1, 3)).cdf(0.3)
        __getitem__([4, 0]).mean() | __getitem__(NEW.y > 0).std()""",
    "option": "plain | weights | ties",
    "weight": "None | PAST.weight",
    "yes": "True | False",
    # Distributions and recalibrators
    "scale": "1e-300 | 1e-9 | 1e300",
    "far": "cdf([0.0, 2.0]) | crps(1.0) | ppf(0.9) | logsf(1e3)",
    "forest": "predict_quantiles(NEW.X, GRID) | out_of_bag_quantiles(GRID, slice(9))",
    "attribute": "levels_ | drift_ | rows_seen_ | compression_error_",
    # Metrics, displays and reports
    "metric": """
        coverage | crps | interval_score | log_score | calibration_curve | calibration_error | ence
        pit_difference | pit_histogram | evaluate""",
    "by_row": "coverage | crps | interval_score | log_score",
    "of_widths": "sharpness | interval_widths",
    "bins": "10 | 4 | [0.0, 0.2, 0.7, 1.0]",
    "floor": "100 | 100, 50 | 30.5, None, GRID | 100, 50, None, 'counts'",
    "display": "CalibrationDisplay | PITDisplay | SharpnessDisplay",
    "any": "Calibration | PIT | Sharpness | Interval | Recalibration",
    "along": "x=PAST.X[:, 1] | max_rows=50, sample_weight=PAST.weight | x='forecast'",
    "page": """
        x=dict(a=PAST.X[:, 0], b=PAST.groups), n_fit=80
        groups=PAST.groups, coverage=0.5, title='a & b', unit='kg', y_name='load'
        x=PAST.X[:, 1], sample_weight=PAST.weight, random_state=4""",
    # Other packages
    "foreign": """
        (m, s)
        list(m)
        {"levels": [0.9, 0.1], "values": np.stack([m + s, m], axis=1)}
        stats.norm(m, s) | stats.t(3.0, m, s) | stats.laplace(m, s) | stats.logistic(m, s)
        stats.lognorm(s, 0.0, np.exp(m)) | stats.uniform(m, s) | stats.Normal(mu=m, sigma=s)
        torch.distributions.Normal(torch.tensor(m), torch.tensor(s))
        torch.distributions.Laplace(torch.tensor(m), torch.tensor(s))
        torch.distributions.Gumbel(torch.tensor(m), torch.tensor(s))
        torch.distributions.LogNormal(torch.tensor(m), torch.tensor(s))
        torch.distributions.StudentT(4.0, torch.tensor(m), torch.tensor(s))
        skpro.Normal(m[:, None], s[:, None]) | skpro.Laplace(m[:, None], s[:, None])
        skpro.Logistic(m[:, None], s[:, None]) | skpro.TDistribution(m[:, None], s[:, None], 5.0)
        xarray.DataArray(np.stack([m, m + s])[None], dims=("chain", "draw", "row"))
        ngboost.NGBRegressor(**BOOSTED).fit(PAST.X, PAST.y).pred_dist(NEW.X)""",
    "library": "pandas | polars | pyarrow",
    "builder": "dict | pandas.DataFrame | polars.DataFrame | pyarrow.table",
    "columns": """
        {"q0.1": m - s, "q0.5": m, "q0.9": m + s}
        {"10%": m - s, "50%": m, "90%": m + s}
        {"lower_0.9": m - s, "upper_0.9": m + s}
        {"mu": m, "var": s**2}
        {"sample_0": m, "sample_1": m + s, "sample_2": m - 2.0 * s}""",
    "scipy": "cdf(NEW.y) | logpdf(NEW.y) | ppf(GRID[:, None]) | sf(NEW.y) | mean() | var()",
    "torch": "cdf(torch.tensor(NEW.y)) | log_prob(torch.tensor(NEW.y)) | mean | variance",
    "skpro": "cdf(NEW.y[:, None]) | log_pdf(NEW.y[:, None]) | var() | quantile([0.1, 0.5])",
    "frame": "[0.2, 0.7] | coverage=0.8 | coverage=[0.5, 0.8]",
    # Estimators
    "main": """
        linear.BayesianRidge() | linear.LinearRegression()
        trees.RandomForestRegressor(8, random_state=0)""",
    "model": """
        linear.BayesianRidge() | linear.ARDRegression() | linear.LinearRegression()
        trees.RandomForestRegressor(8, random_state=0)
        trees.ExtraTreesRegressor(8, random_state=0)
        trees.BaggingRegressor(linear.Ridge(), 5, random_state=0)
        trees.HistGradientBoostingRegressor(max_iter=5)
        estimators.PerLevel(trees.HistGradientBoostingRegressor(max_iter=5, loss='quantile'))
        sklearn.gaussian_process.GaussianProcessRegressor(alpha=0.5, random_state=0)
        estimators.PerLevel(linear.QuantileRegressor(alpha=0.01), levels=[0.1, 0.5, 0.9])
        estimators.PerLevel(trees.GradientBoostingRegressor(loss='quantile', n_estimators=5))
        sklearn.pipeline.make_pipeline(sklearn.preprocessing.MaxAbsScaler(), linear.ARDRegression())
        folds.GridSearchCV(linear.Ridge(), {'alpha': [0.1, 9.0]}, cv=2)
        compose.TransformedTargetRegressor(linear.BayesianRidge(), **ARCSINH)
        compose.TransformedTargetRegressor(linear.Ridge(), **ARCSINH)
        sklearn.frozen.FrozenEstimator(linear.BayesianRidge().fit(PAST.X[:40], PAST.y[:40]))
        ngboost.NGBRegressor(**BOOSTED)""",
    "method": "isotonic | smooth | beta | scaling | grouped | auto | conditional",
    "cv": """
        folds.KFold(4) | folds.TimeSeriesSplit(3) | folds.GroupKFold(3) | 'train'
        folds.RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
        list(folds.KFold(2).split(PAST.X))""",
    "output": "pandas | polars | default",
    "predict": "predict_interval(NEW.X, 0.8) | predict_quantiles(NEW.X, [0.2, 0.6])",
    "scorer": "neg_crps | neg_calibration_error | neg_interval_score",
    # Files, clusters, deployment and the command line
    "kind": "normal | point | quantiles | intervals | samples",
    "ending": "csv | parquet | arrow",
    "named": " | weight='weight' | group='region' | weight='weight', group='region'",
    "other": "tl.Smooth() | api.Beta() | tl.Scaling() | tl.Auto() | tl.Isotonic(False)",
    "mask": "None | PAST.weight > 0",
    "verb": "fit | evaluate",
    "standard": "tl.Normal(m, s) | tl.Point(m) | tl.StudentT(m, s, 4.0)",
    "precision": "float32 | float64",
    "wanted": "level=0.8 | y='y' | y=0.25, max_knots=20",
    "file": "normal.csv | samples.csv | quantiles.parquet | point.parquet | intervals.arrow",
    "words": " | --group region | --weight weight --coverage 0.8",
    "json": " | --json",
    "line": """
        demo -o page.html --force | --version | --help | fit --help | nothing
        fit no.csv -o map.json | fit normal.csv -o map.txt | evaluate normal.csv --coverage 2""",
    # Models, series and inventory
    "network": """
        DropoutRegressor(dropout=0.1, n_samples=9, **SMALL)
        ConcreteDropoutRegressor(n_samples=9, **SMALL)
        DeepEnsembleRegressor(n_members=2, adversarial=0.01, **SMALL)
        GRURegressor(n_steps=3, n_samples=9, **SMALL)
        ConcreteDropoutGRURegressor(n_steps=3, n_samples=9, **SMALL)
        DeepEnsembleGRURegressor(n_steps=3, n_members=2, forecast='normal', **SMALL)""",
    "networks": "DropoutRegressor(**SMALL) | GRURegressor(n_steps=3, **SMALL)",
    "dense": " | aleatoric=True | loss='huber', flip=False, crop=1.0, schedule='constant'",
    "windows": """
        calendar='day_of_week' | covariates='promotion' | n_steps=7, nonnegative=True
        missing='forecast'""",
    "origins": "first='2015-09-01' | first='2015-09-01', every=14, train_span=50",
    "lead": "1 | 3",
    "path": "values | dates | at(2) | normal(3) | on(['2015-12-12'], 2, 'north')",
    "paths": "minimum=95.0 | random_state=3",
    "store": "inventory.Store(max_packs=60) | inventory.Store(3, 6, max_packs=40)",
    "policy": """
        inventory.Planner(sales().F, horizon=7)
        inventory.Planner(sales().F, horizon=7, step=12, tolerance=0.5)
        inventory.Newsvendor(sales().F) | inventory.Newsvendor(sales().F, 0.9)
        inventory.SeasonalNaive(sales().demand, weeks=2)
        lambda day, stock, known: max(0, 12 - int(stock.sum()) // 12)""",
    "open": "sales().demand, sales().dates | sales().open, sales().dates, closed=sales().closed",
    "weekday": "'Monday', horizon=7 | 2, horizon=6, step=12 | 0, horizon=5, tolerance=1.0",
    "checked": "tl.Isotonic() | tl.Smooth() | api.Beta() | tl.Grouped() | tl.Online()",
}

#: One expression per line.
CALLS = """
# distributions
forecast('<forecast>').<asked>
forecast('<forecast>').unscore(forecast('<forecast>').score(AROUND))
repr(forecast('<forecast>'))
tl.testing.check_distribution(forecast('<forecast>'))
tl.Normal([0.0, 1.0], <scale>).<far>
tl.Mixture([tl.Point([1.0, 1.5]), tl.Point([2.0, 1.0])]).<far>
tl.Mixture([recalibrated(), forecast()])
tl.Samples([[1.0, 4.0, 2.0]]).crps_fair([1.5])
# recalibrators
fit('<map>', '<forecast>', '<option>')
recalibrated('<map>', '<forecast>', '<option>').<asked>
fit_part('<map>', '<forecast>', 30, 80, 'partial_fit', fit_part('<map>', '<forecast>', 0, 30))
fit_part('<map>', '<forecast>', 0, 30).merge(fit_part('<map>', '<forecast>', 30, 80))
[(R := fitted('<map>', '<forecast>').compress(12)), R.compression_error_]
stored_and_loaded(fitted('<map>', '<forecast>'))
[repr(sklearn.base.clone(<map>)), list(<map>.get_params())]
stream('<online>', '<forecast>')
fitted('<online>').<attribute>
[fitted('tl.Auto(cv=3)').crps_, repr(fitted('tl.Auto(cv=3)').best_)]
fitted('tl.Grouped()').transform(forecast(), ['nowhere'] * 6)
beyond_the_limit_of_scores()
recalibrated('tl.Conditional(LEARNER, random_state=0)', '<forecast>').ppf(LEVELS)
recalibration.QuantileForest(20, random_state=0).fit(PAST.X, PAST.y, <weight>).<forest>
tl.testing.check_recalibrator(<checked>, [lambda m, s, rng: tl.Normal(m, s)])
# metrics
tl.<metric>(PAST.y, forecast('<forecast>', PAST), sample_weight=<weight>)
tl.<metric>(PAST.y, both()['after'], sample_weight=<weight>)
tl.<by_row>(PAST.y, forecast('<forecast>', PAST), sample_weight=<weight>, reduce=False)
tl.pinball_loss(PAST.y, forecast('<forecast>', PAST), GRID, sample_weight=<weight>, reduce=<yes>)
tl.calibration_test(PAST.y, forecast('<forecast>', PAST), sample_weight=<weight>, random_state=1)
tl.<of_widths>(forecast('<forecast>', PAST), sample_weight=<weight>)
tl.evaluate(PAST.y, forecast('<forecast>', PAST), coverage=0.5, levels=GRID, n_fit=40)
repr(tl.evaluate(PAST.y, forecast('<forecast>', PAST)))
tl.calibration_error(PAST.y, forecast('<forecast>', PAST), GRID, 'counts', return_floor=True)
tl.pit(PAST.y, forecast('<forecast>', PAST), randomized=<yes>, random_state=2)
tl.recalibration_map(fitted('<map>', '<forecast>'))
tl.recalibration_map(fitted('tl.Grouped()', '<forecast>'), group='south')
tl.brier_decomposition(PAST.y > 0, PAST.std, bins=<bins>, sample_weight=<weight>)
tl.calibration_floor(<floor>)
# displays and reports
drawn(tl.<display>.from_predictions(PAST.y, both(), sample_weight=<weight>))
drawn(tl.PITDisplay.from_predictions(PAST.y, both(), kind='difference'))
drawn(tl.IntervalDisplay.from_predictions(PAST.y, forecast(rows=PAST), <along>))
drawn(tl.RecalibrationDisplay.from_recalibrator(fitted('<map>', '<standard>')))
drawn(tl.<any>Display.from_estimator(calibrated().fit(PAST.X, PAST.y), PAST.X, PAST.y))
tl.report(PAST.y, forecast('<forecast>', PAST), 'page.html')
tl.report(PAST.y, both(), 'page.html', <page>)
api.scores(PAST.y, (PAST.mean, PAST.std), 'val_', 0.8, sample_weight=<weight>, n_fit=30)
logged(mock.Mock())
# other packages
taken_in('<foreign>')
taken_in('<builder>(<columns>)')
tl.as_distribution(np.stack([NEW.mean, NEW.std], axis=1), kind='mean_var')
tl.as_distribution(AROUND, kind='samples')
tl.interop.to_scipy(forecast('<forecast>')).<scipy>
tl.interop.to_torch(forecast('<forecast>')).<torch>
tl.interop.to_skpro(forecast('<forecast>')).<skpro>
tl.interop.to_frame(forecast('<forecast>'), <frame>, library='<library>')
tl.interop.to_frame(recalibrated(), <frame>, like=pandas.Index(list('abcdef')))
tl.interop.to_xarray(forecast('<forecast>'), 3, random_state=0)
# estimators
regress(<model>)
regress(<model>, ensemble=True, scale_estimator=None)
regress(<main>, method='<method>', scale_estimator=None, ensemble=<yes>)
regress(<main>, cv=<cv>, scale_estimator=None)
regress(<main>, PAST.weight, ensemble=<yes>, scale_estimator=linear.LinearRegression())
regress(linear.Ridge(), dist=lambda model, X: (model.predict(X), 0.5))
regress_with_a_reader()
calibrated().set_output(transform='<output>').fit(PAST.X, PAST.y).<predict>
calibrated().fit(pandas.DataFrame(PAST.X), PAST.y).predict(pandas.DataFrame(NEW.X))
tl.<scorer>(calibrated().fit(PAST.X, PAST.y), PAST.X, PAST.y, sample_weight=<weight>)
folds.cross_val_score(<main>, PAST.X, PAST.y, cv=3, scoring=tl.<scorer>)
estimators.PerLevel(linear.QuantileRegressor()).fit(PAST.X, PAST.y, <weight>).predict_dist(NEW.X)
tl.testing.check_estimator(calibrated())
# files
over_files('file', '<kind>.<ending>', 1, <named>)
over_files('parquet', 'folder', 1, <named>)
over_files('parquet', 'folder', 2, <named>)
over_files('parquet', 'large.parquet', 2, max_knots=300, group='region')
api.fit_file('normal.csv', <other>, n_jobs=1)
api.<verb>_file('german.csv', separator=';', decimal=',', n_jobs=1)
# clusters and deployment
in_batches(None, <mask>)
in_batches(<other>, <mask>)
on_dask('<kind>', <named>)
onnx_outputs(fitted('<map>', '<standard>'), '<precision>')
sql_results(fitted('<map>', '<standard>'), <wanted>)
# command line
shell('evaluate <file> <words> <json>')
shell('fit <file> -o <file>.json --force <json>')
shell('evaluate <file> --map <file>.json <json>')
shell('apply <file>.json <file> -o out-<file> --force --quantiles 0.1,0.7 --moments <json>')
shell('fit <file> -o <file>.bin --group region --force <json>')
shell('apply <file>.bin <file> -o out-<file> --group region --force <json>')
shell('report <file> -o page.html --force --x size --group region <json>')
shell('fit normal.csv -o map.json --force --method <method> <json>')
shell('report normal.csv -o page.html --force --map map.json --unit m')
shell('<line>')
# models
network(models.<network>.fit(PAST.X, PAST.y, <weight>))
[m.predict(NEW.X) for m in models.fit_many(models.<networks>, [(PAST.X, PAST.y)] * 2)]
regress(models.DropoutRegressor(n_samples=9, **SMALL), ensemble=True, scale_estimator=None)
densenet(models.DenseNetRegressor(random_state=0, **TINY, <dense>))
# series
windows(<windows>)
[windows().folded(), windows().latest(['2015-09-01'], 'north'), repr(windows())]
[windows().before('2015-09-01').y, windows().between('2015-09-01', '2015-10-01').X]
[(cv := series.rolling_origins(windows(), <origins>)).origins, cv.ends, list(cv), repr(cv)]
rolled(<origins>)
daily(<online>, <lead>)
sample_paths(linear.BayesianRidge(), <paths>)
sample_paths(models.GRURegressor(n_samples=9, **SMALL)).<path>
# inventory
inventory.simulate(<store>, <policy>, <open>)
inventory.plan(<store>, sales().F, weekday=<weekday>)
inventory.plan(<store>, tl.Samples(sales().F.sample(20, random_state=0)), weekday=<weekday>)
inventory.Oracle.solve(<store>, sales().demand[:14], sales().dates[:14], time_limit=600.0)
[(s := <store>).step(np.arange(s.shelf_life), 5, 2), s.critical_ratio, s.max_units]
environment(<store>, sales().demand)
environment(<store>, sales().F[:28])
# names
[issubclass(api.FileError, ValueError), issubclass(api.FileError, Exception)]
[tl.datasets.names(), tl.datasets.info()]
' '.join([*sorted(tl.__all__), tl.__version__])
# bad input
tl.Normal([0.0], -1.0)
tl.Normal([np.nan], 1.0)
tl.StudentT([0.0], 1.0, 0.0)
tl.Samples(np.zeros((2, 0)))
tl.Quantiles([0.9, 0.1], [[1.0, 2.0]])
tl.Mixture([])
tl.Mixture([forecast(), forecast()], [1.0])
forecast().ppf(2.0)
forecast().interval(0.0)
forecast().sample(0)
forecast()[200]
tl.as_distribution(np.zeros((3, 2)))
tl.as_distribution('mean')
tl.as_distribution([1.0], kind='normal')
tl.as_distribution(([0.0], [1.0], [2.0]))
tl.as_distribution({'a': [1.0], 'b': [2.0]})
tl.Isotonic().fit(PAST.y, forecast())
tl.Isotonic().fit(np.nan * PAST.y, forecast(rows=PAST))
tl.Isotonic().fit(PAST.y, forecast(rows=PAST), -PAST.weight)
tl.Isotonic().fit(PAST.y, forecast(rows=PAST), 0.0 * PAST.weight)
tl.Isotonic().fit(PAST.y, forecast(rows=PAST), groups=PAST.groups)
tl.Smooth().transform(forecast())
fitted().transform(forecast('tl.Point(m)'))
tl.Grouped().fit(PAST.y, forecast(rows=PAST))
tl.Grouped(tl.Grouped()).fit(PAST.y, forecast(rows=PAST), groups=PAST.groups)
tl.Conditional().fit(PAST.y, forecast(rows=PAST))
tl.Online(window=3, half_life=2.0).fit(PAST.y, forecast(rows=PAST))
fitted().compress(1)
fitted().merge(fitted('tl.Isotonic()', 'tl.Point(m)'))
fitted().merge(fitted('tl.Scaling()'))
tl.load(b'{}')
tl.load('no.json')
tl.Isotonic().set_params(knots=3)
tl.crps(PAST.y, forecast())
tl.calibration_curve(PAST.y, forecast(rows=PAST), [0.5, 1.5])
tl.brier_decomposition([0, 1], [0.5, 1.5])
regress(linear.BayesianRidge(), method='isotnic')
regress(linear.BayesianRidge(), cv='folds')
tl.Isotnic
api.fit_file('no.csv')
api.fit_file('normal.csv', columns=api.Columns(y='z'))
api.apply_file(fitted(), 'point.csv', 'out.csv')
api.to_sql(fitted(), level=0.5, dialect='oracle')
api.to_onnx(fitted(), dtype='float16')
api.fit_batches(iter([]))
tl.report(PAST.y, forecast(), 'page.html')
series.windows({'value': [1.0]})
inventory.Store(order_days=('Moonday',))
tl.interop.to_frame(forecast(), [0.5], coverage=0.5)
"""


def calls() -> Iterator[str]:
    """Every expression of the table, with each of the choices in it."""
    choices = {name: re.split(r" *\| *|\n *", text.strip()) for name, text in CHOICES.items()}
    for line in CALLS.strip().splitlines():
        used = [] if line.startswith("#") else list(dict.fromkeys(re.findall(r"<(\w+)>", line)))
        for chosen in product(*(choices[name] for name in used)):
            call = line
            for name, choice in zip(used, chosen, strict=True):
                call = call.replace(f"<{name}>", choice)
            if not call.startswith("#"):
                yield call
