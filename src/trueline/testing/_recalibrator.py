"""Checks of what every recalibrator must do."""

from __future__ import annotations

import inspect
import json
import pickle
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from sklearn.base import clone

from trueline._load import load
from trueline._validation import CalibrationWarning, NotFittedError
from trueline.recalibration import Recalibrator
from trueline.testing._require import (
    description,
    error_of,
    require,
    require_all,
    require_equal,
    require_inverse,
    require_nested,
    require_quantiles,
    require_same,
)
from trueline.testing._trial import BASES, Forecast, Trial, make_rows

# Levels at which quantiles must be finite.
_LEVELS = np.array(
    [1e-12, 1e-6, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0 - 1e-6, 1.0 - 1e-12]
)
_AT_Y = ("cdf", "sf", "logcdf", "logsf", "logpdf", "pdf", "crps")
# Other orders of rows, or weights, change the order of sums.
_ROUNDING = 1e-12


def check_recalibrator(
    recalibrator: Recalibrator, bases: Iterable[Forecast] = (), *, tolerance: float = 1e-9
) -> None:
    """Check that a recalibrator does what `trueline.Recalibrator` promises.

    Use it in tests of your own classes. The checks, for each kind of forecast, are:

    - ``get_params``, ``set_params`` and ``clone`` of scikit-learn keep every parameter;
    - methods that need a fitted map raise `NotFittedError` before ``fit``;
    - ``fit`` returns self, repeats, does not depend on an earlier fit, takes lists, and does not
      change y, weights, forecasts or parameters;
    - ``transform`` returns a distribution with as many rows, and no row depends on other rows;
    - quantiles are finite and rise, intervals nest, and the CDF inverts the quantiles;
    - the order of calibration rows has no effect;
    - a row equals copies of it that share its weight, a row of weight 0 has no effect, and
      weights of 1 equal no weights;
    - maps merge to the map of all rows, in any order, and merging does not change its parts;
    - a compressed map is smaller, and its reported error falls with its size;
    - JSON and `pickle` return the same map, and a clone is not fitted;
    - a recalibrated forecast keeps its score, so that recalibrating twice equals doing it once;
    - with few rows, or with all rows tied, every result is a number.

    Merging, compressing and JSON are optional: a class may refuse each with a `TypeError` or
    `NotImplementedError` that names the class and the reason. `trueline.load` reads only classes
    of the library; ``_set_state`` reads the JSON of others.

    A map that takes ``X`` at ``fit``, such as `Conditional`, may depend on the order of rows, a
    row need not equal its copies to the last digit, and its forecast need not have the score
    of its base; but a row of weight 0 must have no effect. A map that needs ``groups`` gets them.

    Parameters
    ----------
    recalibrator : Recalibrator
        A recalibrator with a fixed ``random_state`` if it draws random numbers. Copies are fitted.
    bases : iterable of callables, optional
        Functions that return a forecast of n rows from centres (n,), widths (n,) and a
        `numpy.random.Generator`. By default one for every kind of forecast in trueline.
    tolerance : float, default 1e-9
        Largest difference between maps that should be equal. Maps of the library keep 0.

    Raises
    ------
    AssertionError
        At the first check that fails, with the numbers found.

    Notes
    -----
    A subclass defines ``fit``, ``transform``, ``_is_fitted`` and ``compression_error_``, and
    implements or refuses ``merge``, ``compress``, and ``_state`` with ``_set_state`` for JSON.
    What it learns is stored in attributes, never in parameters, and ``transform`` begins with
    ``self._check_fitted()``. The class must be importable, because otherwise it cannot be pickled.

    Examples
    --------
    >>> import trueline as tl
    >>> from trueline.recalibration import QuantileForest
    >>> normal = lambda loc, scale, rng: tl.Normal(loc, scale)
    >>> tl.testing.check_recalibrator(tl.Isotonic(), [normal])
    >>> forest = QuantileForest(5, random_state=0)
    >>> tl.testing.check_recalibrator(tl.Conditional(forest), [normal])

    A map that ignores its weights:

    >>> class Unweighted(tl.Isotonic):
    ...     def fit(self, y, dist, sample_weight=None, groups=None):
    ...         return super().fit(y, dist, groups=groups)
    >>> tl.testing.check_recalibrator(Unweighted(), [normal])
    Traceback (most recent call last):
        ...
    AssertionError: a row of weight 0 counts: cdf: ...
    """
    if not isinstance(recalibrator, Recalibrator):
        found = "class" if isinstance(recalibrator, type) else type(recalibrator).__name__
        raise TypeError(
            f"recalibrator is a {found}; expected an object whose class inherits from "
            f"trueline.Recalibrator, such as Isotonic()."
        )
    # The checks use extreme levels, few rows and ties on purpose.
    with warnings.catch_warnings(action="ignore", category=CalibrationWarning):
        check_params(recalibrator)
        for base in bases or BASES.values():
            trial = Trial(recalibrator, base, tolerance)
            check_arguments_are_left_alone(trial)
            check_unfitted(trial, trial.blank())
            check_fit(trial)
            check_transform(trial)
            check_quantiles(trial)
            check_rows_without_weight(trial)
            if not recalibrator.needs_features:
                check_order_of_rows(trial)
                check_weights(trial)
                if recalibrator.keeps_scores:
                    check_recalibrated_again(trial)
            if trial.merges:
                check_merge(trial)
            if trial.compresses:
                check_compress(trial)
            check_copies(trial)
            check_few_rows_and_ties(trial)


# ---- one function per promise ----------------------------------------------------------


def check_params(recalibrator: Recalibrator) -> None:
    """Parameters come back from get_params, set_params and scikit-learn's clone."""
    params, text = recalibrator.get_params(deep=False), _params_of(recalibrator)
    kind = type(recalibrator)
    copy = kind(**params)
    for name, value in params.items():
        found = getattr(copy, name)
        require(found is value, f"the constructor changes {name} from {value!r} to {found!r}")
    twin = clone(recalibrator)
    require(_params_of(twin) == text, f"clone makes {twin!r} of {recalibrator!r}")
    defaults = inspect.signature(kind).parameters.values()
    complete = all(p.default is not p.empty for p in defaults)
    blank = kind() if complete else kind(**params)
    require(blank.set_params(**params) is blank, "set_params does not return self")
    fault = f"set_params with the parameters of {recalibrator!r} gives {blank!r}"
    require(_params_of(blank) == text, fault)
    missing = set(params) - set(recalibrator.get_params(deep=True))
    require(not missing, f"get_params(deep=True) lacks {sorted(missing)}")
    error = error_of(lambda: copy.set_params(no_such_parameter=1))
    fault = f"set_params(no_such_parameter=1) is not refused by name: {error!r}"
    require("no_such_parameter" in str(error), fault)


def _params_of(recalibrator: Recalibrator) -> str:
    """Return the class and the parameters, whether it is fitted or not."""
    params = recalibrator.get_params(deep=False)
    shown = ", ".join(f"{name}={description(value)}" for name, value in params.items())
    return f"{type(recalibrator).__name__}({shown})"


def check_arguments_are_left_alone(trial: Trial) -> None:
    """Fit returns self; neither fit nor transform changes its arguments."""
    # Two equal sets of rows that no other check has used.
    rows, kept = make_rows(trial.base, 40), make_rows(trial.base, 40)
    copy, weight = trial.blank(), trial.weight.astype(np.float64)
    text = _params_of(copy)
    require(trial.fit(rows, weight, copy) is copy, "fit does not return self")
    require_same(rows.y, kept.y, "fit changes y")
    require_same(weight, trial.weight, "fit changes sample_weight")
    require(bool((rows.groups == kept.groups).all()), "fit changes groups")
    require_same(rows.X, kept.X, "fit changes X")
    before = kept.dist.score(kept.y)
    require_same(rows.dist.score(kept.y), before, "fit changes the forecast")
    found = _params_of(copy)
    require(found == text, f"fit changes parameters from {text} to {found}")
    trial.outline(copy, rows)
    require_same(rows.dist.score(kept.y), before, "transform changes the forecast")


def check_unfitted(trial: Trial, blank: Recalibrator) -> None:
    """Methods that need a fitted map raise NotFittedError before fit."""
    uses: dict[str, tuple[bool, Callable[[], object]]] = {
        "transform": (True, lambda: trial.transform(blank, trial.rows)),
        "to_json": (trial.writes, blank.to_json),
        "compress": (trial.compresses, lambda: blank.compress(10)),
        "compression_error_": (trial.compresses, lambda: blank.compression_error_),
        "merge": (trial.merges, lambda: blank.merge(trial.fit(trial.rows))),
        "merge, on the other side,": (trial.merges, lambda: trial.fit(trial.rows).merge(blank)),
    }
    for what, (able, use) in uses.items():
        error = error_of(use)
        if error is None:
            require(not able, f"{what} works before fit")
        elif isinstance(error, NotFittedError):
            name = type(blank).__name__
            fault = f"{what} before fit does not say to call fit of {name}: {error!r}"
            require(name in str(error) and "fit(" in str(error), fault)
        else:
            fault = f"{what} before fit does not raise trueline.NotFittedError but {error!r}"
            require(not able, fault)
            trial.require_refusal(what, error)


def check_fit(trial: Trial) -> None:
    """A fit repeats, does not depend on an earlier fit, and takes lists."""
    rows = trial.rows
    trial.require_map(trial.fit(rows), "a second fit on the same rows differs")
    other = rows.take(np.arange(0, len(rows.y), 2))
    copy = trial.fit(rows, trial.weight)
    for given, fresh in ((other, trial.fit(other)), (rows, None)):
        trial.require_map(trial.fit(given, model=copy), "fit remembers earlier rows", fresh)
    lists = rows._replace(y=rows.y.tolist(), groups=rows.groups.tolist(), X=rows.X.tolist())
    trial.require_map(trial.fit(lists), "lists give another map than arrays")


def check_transform(trial: Trial) -> None:
    """No row depends on other rows."""
    fit, new = trial.fit(trial.rows), trial.new
    whole = trial.outline(fit)
    for order in (np.array([3, 0, 4, 1, 2]), np.array([2])):
        part = trial.outline(fit, new.take(order))
        expected = {name: value[order] for name, value in whole.items()}
        fault = "a row's forecast depends on the rows beside it"
        trial.require_same(part, expected, fault, _ROUNDING)


def check_quantiles(trial: Trial) -> None:
    """Quantiles are finite and rise, intervals nest, and the CDF inverts the quantiles."""
    dist = trial.transform(trial.fit(trial.rows), trial.new)
    q = np.sort(np.concatenate([_LEVELS, np.linspace(0.013, 0.987, 41)]))
    y = dist.ppf(q)
    require_quantiles(q, y)
    coverage = np.linspace(0.02, 0.98, 25)
    require_nested(coverage, *dist.interval(coverage))
    draws = dist.sample(50, random_state=0)
    require_all(np.isfinite(draws), "a draw is not finite", found=draws)
    hair = 16.0 * np.spacing(np.abs(y).max(axis=1, keepdims=True))
    require_inverse(dist, q, y, hair, slack=1e-9 * np.minimum(q, 1.0 - q) + 2e-16)


def check_rows_without_weight(trial: Trial) -> None:
    """The outcome of a row of weight 0 has no effect."""
    rows, weight = trial.rows, trial.weight
    spoiled = rows._replace(y=np.where(weight > 0, rows.y, rows.y + 1e3))
    trial.require_map(trial.fit(spoiled, weight), "a row of weight 0 counts", trial.weighted)


def check_order_of_rows(trial: Trial) -> None:
    """The order of calibration rows has no effect."""
    rows = trial.rows
    order = np.random.default_rng(5).permutation(len(rows.y))
    trial.require_map(trial.fit(rows.take(order)), "the map depends on the order of rows")
    weight = np.random.default_rng(6).uniform(0.1, 3.0, len(rows.y))
    shuffled = trial.fit(rows.take(order), weight[order])
    fault = "the map depends on the order of weighted rows"
    trial.require_map(shuffled, fault, trial.fit(rows, weight), _ROUNDING)


def check_weights(trial: Trial) -> None:
    """A row equals copies of it that share its weight, and weights of 1 equal no weights."""
    rows, n = trial.rows, len(trial.rows.y)
    # The weights are below 1, because a row with a larger weight counts as one row in guarantees.
    copies = rows.take(np.repeat(np.arange(n), trial.weight))
    shared = trial.fit(copies, np.full(len(copies.y), 0.25))
    fault = "a row is not as copies of it that share its weight"
    trial.require_map(trial.fit(rows, 0.25 * trial.weight), fault, shared)
    trial.require_map(trial.fit(rows, np.ones(n)), "weights of 1 are not as no weights")


def check_merge(trial: Trial) -> None:
    """Merged maps equal the map of all rows, for any split and order."""
    rows, n = trial.rows, len(trial.rows.y)
    one, two, three = parts = [trial.fit(rows.take(np.arange(n) % 3 == k)) for k in range(3)]
    before = [trial.state(part) for part in parts]
    joined = [one.merge(two).merge(three), one.merge(two.merge(three))]
    for part, state in zip(parts, before, strict=True):
        trial.require_same_state(trial.state(part), state, "merge changes its parts")
    for half in (np.arange(n) < 1, np.arange(n) % 3 == 0, rows.groups == "a", rows.y > 0):
        one, two = (trial.fit(rows.take(part)) for part in (half, ~half))
        trial.require_map(one.merge(two), "merged maps are not the map of all rows")
        trial.require_map(two.merge(one), "merged the other way round, maps differ")
    for three_in_one in joined:
        trial.require_map(three_in_one, "three maps merge otherwise than two")
    weight = np.random.default_rng(3).uniform(0.1, 3.0, n)
    one, two = (trial.fit(rows.take(part), weight[part]) for part in (rows.y > 0, rows.y <= 0))
    fault = "merged weighted maps are not the map of all rows"
    trial.require_map(one.merge(two), fault, trial.fit(rows, weight), _ROUNDING)
    double = trial.fit(rows).merge(trial.fit(rows))
    twice = trial.fit(rows.take(np.tile(np.arange(n), 2)))
    trial.require_map(double, "a map merged with itself is not that of the rows twice", twice)


def check_compress(trial: Trial) -> None:
    """A compressed map reports its error, which falls with its size."""
    rows = make_rows(trial.base, 300, seed=4)
    fit = trial.fit(rows)
    require_equal(fit.compression_error_, 0.0, "compression_error_ of an exact map is")
    state = trial.state(fit)
    fault = "compressing to as many knots as there are rows changes the map"
    trial.require_map(fit.compress(300), fault, fit)
    smaller = {k: fit.compress(k) for k in (2, 8, 32, 90)}
    trial.require_same_state(trial.state(fit), state, "compress changes the map it is called on")
    errors = [part.compression_error_ for part in smaller.values()]
    falls = 1.0 >= errors[0] > errors[1] > errors[2] > errors[3] > 0.0
    fault = f"compression_error_ does not fall with more knots: {errors} with {list(smaller)}"
    require(falls, fault)
    for k, part in smaller.items():
        trial.require_no_nan(part, trial.new, f"after compressing to {k} knots")
    again = smaller[90].compress(32).compression_error_
    fault = f"compression_error_ falls from {errors[3]} to {again} when compressed again"
    require(again >= errors[3], fault)
    if trial.writes:
        sizes = [len(text) for text in (smaller[8].to_json(), smaller[90].to_json(), state)]
        fault = f"8, 90 and all knots have states of {sizes} bytes; expected them to grow"
        require(sizes[0] < sizes[1] < sizes[2], fault)
    if trial.merges:
        both = smaller[90].merge(fit)
        error = both.compression_error_
        fault = f"merging loses track of compression_error_: {error} after {errors[3]}"
        require(0.0 < error < errors[2], fault)
        trial.require_no_nan(both, trial.new, "after merging a compressed map")


def check_copies(trial: Trial) -> None:
    """JSON and pickle return the same map; clone returns an unfitted one."""
    rows = trial.rows
    weight = np.random.default_rng(7).uniform(0.1, 3.0, len(rows.y))
    fits = [trial.fit(rows), trial.fit(rows, weight)]
    if trial.compresses:
        fits.append(trial.fit(rows).compress(10))
    for fit in fits:
        if trial.writes:
            check_json(trial, fit)
        twin = pickle.loads(pickle.dumps(fit))  # noqa: S301  # written on this line
        trial.require_map(twin, "pickle gives back another map", fit)
        blank = clone(fit)
        require(not blank._is_fitted(), "a clone is fitted")
        check_unfitted(trial, blank)


def check_json(trial: Trial, fit: Recalibrator) -> None:
    """The file holds the whole map, and no other file is left."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "map.json"
        text = fit.to_json()
        fit.to_json(path)
        written = path.read_text(encoding="utf-8")
        require(written == text, "the file that to_json writes is not the text that it returns")
        require_equal([p.name for p in path.parent.iterdir()], ["map.json"], "to_json leaves")
        try:
            loaded = load(path)
        except ValueError as error:
            # load reads only classes of the library; others restore their state.
            fault = f"load does not read what to_json wrote: {error}"
            require(type(fit).__name__ in str(error), fault)
            loaded = trial.blank()
            loaded._set_state(json.loads(text)["state"])
    require_equal(type(loaded), type(fit), "JSON gives back a")
    require_equal(description(loaded), description(fit), "JSON gives back")
    # Before a transform, which may complete a lazy state.
    require(loaded.to_json() == text, "JSON of a map that came from JSON differs")
    trial.require_map(loaded, "JSON gives back another map", fit)
    what = "JSON gives back a compression_error_ of"
    require_equal(loaded.compression_error_, fit.compression_error_, what)
    if trial.merges:
        fault = "a map that came from JSON merges otherwise"
        trial.require_map(loaded.merge(fit), fault, fit.merge(fit))


def check_recalibrated_again(trial: Trial) -> None:
    """A recalibrated forecast keeps its score and can be recalibrated like its base."""
    rows, new = trial.rows, trial.new
    fit = trial.fit(rows)
    recalibrated = new._replace(dist=trial.transform(fit, new))
    what = "score_kind of a recalibrated forecast is"
    require_equal(recalibrated.dist.score_kind, new.dist.score_kind, what)
    found = recalibrated.dist.score(new.y)
    require_same(found, new.dist.score(new.y), "a recalibrated forecast has another score")
    fault = "a forecast that is transformed twice differs"
    trial.require_same(trial.outline(fit, recalibrated), trial.unweighted, fault)
    again = trial.fit(rows._replace(dist=trial.transform(fit, rows)))
    trial.require_map(again, "fitted on recalibrated forecasts, the map differs")


def check_few_rows_and_ties(trial: Trial) -> None:
    """With few or tied rows, every result is a number and every quantile finite."""
    ten, new = make_rows(trial.base, 10, seed=8), make_rows(trial.base, 2, seed=9)
    first = np.zeros(10, dtype=int)
    centre = ten.dist.unscore(0.0)
    cases = {
        "1 row": ten.take([0]),
        "2 rows": ten.take(slice(2)),
        "3 rows": ten.take(slice(3)),
        "10 rows": ten,
        "1 row of score 0": ten._replace(y=centre).take([0]),
        "all tied": ten.take(first),
        "all tied at score 0": ten._replace(y=centre).take(first),
        "half tied": ten.take(np.maximum(np.arange(10) - 5, 0)),
        "two values": ten.take(np.arange(10) % 2),
        "one y": ten._replace(y=np.full(10, 2.0)),
    }
    for what, rows in cases.items():
        fit = trial.fit(rows)
        known = new._replace(groups=np.resize(np.unique(rows.groups), len(new.y)))
        # One value is a calibration outcome with its own forecast, where the atoms are.
        at = known._replace(dist=rows.dist[[0, 0]], y=np.array([rows.y[0], new.y[1]]))
        dist = trial.transform(fit, at)
        values = {"ppf": dist.ppf(_LEVELS)}
        values |= {name: getattr(dist, name)(at.y) for name in _AT_Y}
        values |= {"mean": dist.mean(), "var": dist.var()}
        for name, value in values.items():
            number = ~np.isnan(value) if name.startswith("log") else np.isfinite(value)
            require_all(number, f"{name} is not finite when fitted on {what}", found=value)
        require_quantiles(_LEVELS, values["ppf"], f" when fitted on {what}")
        fault = f"a forecast has no spread when fitted on {what}"
        require_all((values["var"] > 0) | dist._discrete, fault, var=values["var"])
        trial.require_no_nan(fit, known, f"when fitted on {what}")
