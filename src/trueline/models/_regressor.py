"""The scikit-learn estimator that all networks of rows are built on."""

from __future__ import annotations

import os
import reprlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from trueline._progress import QUIET, Steps
from trueline._validation import FloatArray, check_count, weights as check_weights
from trueline.distributions import Distribution
from trueline.models._parameters import (
    as_seed,
    check_choice,
    check_number,
    check_widths,
    require_torch,
)
from trueline.models._progress import training_progress
from trueline.models._recipe import Member, Recipe, Rows, Standardiser, Trained, Weights, hold_out

if TYPE_CHECKING:
    from trueline.models._persistence import TensorFile

# Largest number of networks in a stack. More are not faster and need much memory for masks.
_STACK = 64

ACTIVATIONS = ("prelu", "relu", "silu", "tanh")

Model = TypeVar("Model", bound="NetworkRegressor")


@dataclass(frozen=True)
class Job:
    """One estimator with its standardised rows and the networks to train for it."""

    model: NetworkRegressor
    recipe: Recipe
    standardiser: Standardiser
    rows: Rows
    members: list[Member]
    seed: int


@dataclass(eq=False, repr=False)
class NetworkRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor made of one or more networks of one shape. Abstract.

    The fields are the parameters of the constructor, as scikit-learn reads them.
    """

    hidden: Sequence[int] = (128, 128)
    _: KW_ONLY
    activation: str = "prelu"
    learning_rate: float = 1e-3
    batch_size: int = 32
    max_epochs: int = 400
    patience: int = 30
    validation_fraction: float = 0.1
    device: str = "cpu"
    progress: bool = False
    random_state: Any = None

    _n_outputs: ClassVar[int]

    # ---- what a final class defines ----------------------------------------------------

    @abstractmethod
    def _choices(self) -> dict[str, Any]:
        """Return the entries of the recipe that this class sets."""

    def _n_networks(self) -> int:
        """Return the number of networks to train."""
        return 1

    @property
    def varies_between_fits(self) -> bool:
        """Whether two fits differ much, as those of one network do.

        `trueline.CalibratedRegressor` averages such models and refits others.
        """
        return self._n_networks() == 1

    @abstractmethod
    def predict_dist(self, X: Any) -> Distribution:
        """Forecast the distribution of the target.

        Parameters
        ----------
        X : (n, d) array-like

        Returns
        -------
        Distribution
            One row per row of X. Repeated calls give the same forecasts.
        """

    def _n_sites(self) -> int:
        """Return the number of dropout masks: on the inputs and after each hidden layer."""
        return len(self.hidden) + 1

    def _check_features(self, n_features: int) -> None:
        """Raise unless the network can read rows with this number of features."""

    def _standardiser(self, X: FloatArray, y: FloatArray, weight: FloatArray) -> Standardiser:
        return Standardiser.fit(X, y, weight)

    def _finish(self, job: Job) -> None:
        """Learn what depends on the trained networks."""

    # ---- fit ---------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the network or networks.

        Parameters
        ----------
        X : (n, d) array-like
            Features. They are standardised internally.
        y : (n,) array-like
            Outcomes. They are standardised internally.
        sample_weight : (n,) array-like, optional
            Weights of rows in the loss, the standardisation and early stopping. Rows of weight 0
            are left out.
        """
        fit_jobs([self._job(X, y, sample_weight)], progress=self.progress)
        return self

    def _fit_copies(
        self, sets: Iterable[tuple[Any, ArrayLike, dict[str, Any]]], steps: Steps = QUIET
    ) -> list[Self]:
        """Train a copy on each (X, y, fit parameters) as one stack.

        `trueline.CalibratedRegressor` calls this to train the models of its folds, and its `steps`
        show the epochs.
        """
        copies = [(clone(self), *rows) for rows in sets]
        jobs = [copy._job(X, y, **params) for copy, X, y, params in copies]
        fit_jobs(jobs, progress=self.progress, steps=steps)
        return [copy for copy, *_ in copies]

    def _job(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Job:
        """Check and standardise the rows, without training."""
        self._check_params()
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None; expected one outcome per row."
            )
        X, given = validate_data(self, X, y, dtype=np.float64, y_numeric=True, multi_output=True)
        self._check_features(X.shape[1])
        outcome: FloatArray = column_or_1d(given, dtype=np.float64, warn=True)
        weight = check_weights(sample_weight, len(outcome))
        if weight is None:
            weight = np.ones(len(outcome))
        else:
            some = weight > 0
            X, outcome, weight = X[some], outcome[some], weight[some] / weight[some].mean()
        standardiser = self._standardiser(X, outcome, weight)
        rows = Rows(
            standardiser.features(X).astype(np.float32),
            standardiser.target(outcome).astype(np.float32),
            weight.astype(np.float32),
        )
        seed = as_seed(self.random_state)
        members = []
        for sequence in np.random.SeedSequence(seed).spawn(self._n_networks()):
            split, rest = sequence.spawn(2)
            train, held_out = hold_out(len(outcome), self.validation_fraction, split)
            members.append(Member(rows, train, held_out, rest))
        return Job(self, self._recipe(X.shape[1]), standardiser, rows, members, seed)

    def _recipe(self, n_features: int) -> Recipe:
        return Recipe(
            n_features=n_features,
            hidden=tuple(int(width) for width in self.hidden),
            n_outputs=self._n_outputs,
            activation=self.activation,
            learning_rate=float(self.learning_rate),
            batch_size=int(self.batch_size),
            max_epochs=int(self.max_epochs),
            patience=int(self.patience),
            device=str(self.device),
            **{"rates": (0.0,) * self._n_sites(), **self._choices()},
        )

    def _learn(self, job: Job, trained: list[Trained]) -> None:
        """Store the result of training."""
        names = trained[0].weights
        stacked = {name: np.stack([t.weights[name] for t in trained]) for name in names}
        self.weights_: Weights = stacked
        self.n_epochs_ = np.array([t.n_epochs for t in trained])
        self.loss_ = np.array([t.loss for t in trained])
        self.standardiser_: Standardiser = job.standardiser
        self.n_features_in_: int = job.recipe.n_features
        self.seed_ = job.seed
        self._finish(job)

    def _check_params(self) -> None:
        """Check all parameters."""
        widths = "the widths of one or more hidden layers, such as (128, 128)"
        check_widths(self, "hidden", 1, widths)
        check_choice(self, "activation", ACTIVATIONS)
        for name in ("batch_size", "max_epochs", "patience"):
            check_count(getattr(self, name), name)
        check_number(self, "learning_rate", above=0.0)
        check_number(self, "validation_fraction", least=0.0, below=1.0)

    # ---- predict -----------------------------------------------------------------------

    def predict(self, X: Any) -> FloatArray:
        """Return the means of the forecasts.

        Parameters
        ----------
        X : (n, d) array-like

        Returns
        -------
        ndarray, (n,)
        """
        return self.predict_dist(X).mean()

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Return central intervals of the forecasts.

        Parameters
        ----------
        X : (n, d) array-like
        coverage : float, default 0.9
            Probability of the intervals, in (0, 1).

        Returns
        -------
        lower, upper : ndarray, (n,)
        """
        return self.predict_dist(X).interval(coverage)

    def predict_quantiles(self, X: Any, levels: ArrayLike) -> FloatArray:
        """Return quantiles of the forecasts.

        Parameters
        ----------
        X : (n, d) array-like
        levels : (m,) array-like or scalar
            Probabilities in (0, 1).

        Returns
        -------
        ndarray, (n, m), or (n,) for a scalar
        """
        return self.predict_dist(X).ppf(levels)

    def _features(self, X: Any) -> FloatArray:
        """Check and standardise X."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.standardiser_.features(X)

    def _sample_moments(
        self, Z: FloatArray, n_samples: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return mean, variance and mean noise variance of thinned networks, standardised."""
        require_torch()
        from trueline.models._prediction import moments

        recipe = self._recipe(self.n_features_in_)
        return moments(recipe, self.weights_, Z, n_samples, self.seed_)

    def _path_sampler(
        self, n_paths: int, random_state: Any = None
    ) -> Callable[[FloatArray], FloatArray]:
        """Return a function that draws outcomes, from features (n_paths, n, d) to (n_paths, n).

        `trueline.series` calls it step by step and feeds drawn outcomes back as features. Path k
        uses one network at all steps, so the uncertainty of the weights is the same along a path;
        the noise of the outcomes is drawn again at each call.
        """
        check_is_fitted(self)
        check_count(n_paths, "n_paths")
        rng = np.random.default_rng(as_seed(random_state))
        recipe = self._recipe(self.n_features_in_)
        require_torch()
        from trueline.models._prediction import Paths

        networks = Paths(recipe, self.weights_, n_paths, rng)
        unit = self.standardiser_

        def draw(X: FloatArray) -> FloatArray:
            X = np.asarray(X, dtype=np.float64)
            if X.ndim != 3 or X.shape[::2] != (n_paths, self.n_features_in_):
                raise ValueError(
                    f"X has shape {X.shape}; expected ({n_paths}, n, {self.n_features_in_}): the "
                    f"features of n rows on each of {n_paths} paths."
                )
            mean, var = networks.outputs(unit.features(X))
            scale = self._noise_scale(var)
            drawn: FloatArray = mean + scale * rng.standard_normal(mean.shape)
            return unit.y_mean + unit.y_scale * drawn

        return draw

    def _noise_scale(self, var: FloatArray) -> FloatArray | float:
        """Return the scale of the noise of a network's forecasts, in standardised units."""
        return np.sqrt(var)

    # ---- files -------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a safetensors file, which holds only numbers and JSON.

        `trueline.models.load` reads it again.

        Parameters
        ----------
        path : path
            File to write. It is written completely or not at all.
        """
        check_is_fitted(self)
        require_torch()
        from trueline.models._persistence import write_model

        names = getattr(self, "feature_names_in_", None)
        learned = {
            "n_features": self.n_features_in_,
            "feature_names": None if names is None else [str(name) for name in names],
            "noise": getattr(self, "noise_", None),
            "n_epochs": self.n_epochs_.tolist(),
            "loss": self.loss_.tolist(),
        }
        write_model(self, path, learned)

    @classmethod
    def _from_file(cls, file: TensorFile) -> Self:
        """Make the fitted model that `save` wrote."""
        model = file.blank(cls)
        k, d = model._n_networks(), file.integer("n_features", 1)
        model.n_features_in_ = d
        model.seed_ = file.integer("seed", 0)
        try:
            model._check_features(d)
        except ValueError as error:
            file.refuse(f"n_features is wrong: {error}")
        shapes = {name: (k, *shape) for name, shape in model._recipe(d).shapes().items()}
        model.weights_, model.standardiser_ = file.network(shapes, d)
        model.n_epochs_ = file.numbers("n_epochs", k, k)
        model.loss_ = file.numbers("loss", k, k)
        names: Any = file.document.get("feature_names")
        if names is not None:
            plain = isinstance(names, list) and len(names) == d
            if not plain or not all(isinstance(name, str) for name in names):
                file.refuse(f"feature_names are {reprlib.repr(names)}, not {d} names")
            model.feature_names_in_ = np.array(names, dtype=object)
        model._restore(file.document, file.refuse)
        return model

    def _restore(self, document: dict[str, Any], refuse: Callable[[str], NoReturn]) -> None:
        """Set the attributes that only this class learns."""


def fit_many(
    models: Model | Sequence[Model], data: Iterable[Sequence[Any]], *, progress: bool = False
) -> list[Model]:
    """Fit networks on several data sets in one batched computation.

    Folds, splits and ensembles are many small networks of one shape, and a processor trains them
    several times faster together than one after another. Each network has its own random numbers
    and early stopping, so each equals ``clone(model).fit(X, y)`` up to the rounding of sums.
    During training this difference can grow to that between two seeds.

    Parameters
    ----------
    models : model or sequence of models
        One model for all data sets, or one for each. Copies are fitted. Models that differ in the
        number of features, or in a parameter other than `random_state`, are trained in turn.
    data : iterable of (X, y) or (X, y, sample_weight)
        The data sets.
    progress : bool, default False
        Whether to show the progress of training on the standard error.

    Returns
    -------
    list of models
        The fitted models, in the order of the data sets.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import KFold
    >>> from trueline.models import DropoutRegressor, fit_many
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> y = X[:, 0] + rng.normal(size=100)
    >>> model = DropoutRegressor(hidden=(16,), max_epochs=10, random_state=0)
    >>> folds = [(X[train], y[train]) for train, test in KFold(5).split(X)]
    >>> [len(m.predict(X)) for m in fit_many(model, folds)]
    [100, 100, 100, 100, 100]
    """
    sets = [tuple(rows) for rows in data]
    for i, rows in enumerate(sets):
        if len(rows) not in (2, 3):
            raise ValueError(
                f"data[{i}] has {len(rows)} parts; expected (X, y) or (X, y, sample_weight)."
            )
    given = [models] * len(sets) if isinstance(models, NetworkRegressor) else list(models)
    if len(given) != len(sets):
        raise ValueError(
            f"there are {len(given)} models and {len(sets)} data sets; expected one model for all "
            f"or one for each."
        )
    for model in given:
        if not isinstance(model, NetworkRegressor):
            raise TypeError(f"got a {type(model).__name__}; expected a model of trueline.models.")
    fitted = [clone(model) for model in given]
    jobs = [model._job(*rows) for model, rows in zip(fitted, sets, strict=True)]
    if jobs:
        fit_jobs(jobs, progress=progress)
    return fitted


def fit_jobs(jobs: Sequence[Job], *, progress: bool, steps: Steps = QUIET) -> None:
    """Train the networks of all jobs; networks with equal recipes form one stack."""
    require_torch()
    from trueline.models._training import Trainer

    for recipe in dict.fromkeys(job.recipe for job in jobs):
        alike = [job for job in jobs if job.recipe == recipe]
        members = [member for job in alike for member in job.members]
        label = type(alike[0].model).__name__
        trained: list[Trained] = []
        for start in range(0, len(members), _STACK):
            stack = members[start : start + _STACK]
            with training_progress(progress, label, len(stack), steps) as report:
                trained += Trainer(recipe, stack).run(report)
        for job in alike:
            mine, trained = trained[: len(job.members)], trained[len(job.members) :]
            job.model._learn(job, mine)
