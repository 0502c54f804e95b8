"""Dropout as a Bayesian approximation, with given or learned rates."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, NoReturn

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit

from trueline._validation import FloatArray, check_count
from trueline.distributions import Normal
from trueline.models._parameters import check_number
from trueline.models._regressor import Job, NetworkRegressor

# Bounds of the log of the noise variance, in units of the variance of the target.
_LOG_NOISE = (-20.0, 5.0)
# Least scale of a forecast, in standard deviations of the target: all samples may be equal.
_LEAST_SCALE = 1e-9


@dataclass(eq=False, repr=False)
class DropoutRegressor(NetworkRegressor):
    """A network that also drops units at prediction, so that its forecasts have a spread.

    The forecast is normal, with the mean and variance of `n_samples` networks thinned by dropout
    (Gal and Ghahramani, 2016), plus the variance of the observation noise. Each sample drops the
    same units in all rows, so the forecast of a row does not depend on other rows. Kuleshov et al.
    use this network, without noise, in their Table 1.

    Parameters
    ----------
    hidden : sequence of int, default (128, 128)
        Widths of the hidden layers.
    dropout : float, default 0.5
        Share of the units dropped after each hidden layer, in [0, 1).
    activation : {"prelu", "relu", "silu", "tanh"}, default "prelu"
        Activation of the hidden layers.
    n_samples : int, default 100
        Number of thinned networks per forecast.
    noise : "learned", None or float, default "learned"
        The observation noise. "learned" is its maximum-likelihood value on the held-out rows,
        given the spread of the samples; None leaves it out, as the paper does; a number is its
        standard deviation in units of y.
    learning_rate : float, default 1e-3
        Learning rate of Adam.
    batch_size, max_epochs : int, default 32 and 400
        Rows per training step, and the largest number of passes over the rows.
    patience : int, default 100
        Training stops after this many epochs without a smaller error on the held-out rows. The
        weights of the best epoch are kept. Networks that drop half of their units learn slowly
        and hardly overfit, so the default is long.
    validation_fraction : float, default 0.1
        Share of the rows to hold out for early stopping. With 0, or with fewer than 10 rows, all
        rows train and training runs for `max_epochs`.
    weight_decay : float, default 1e-4
        This times the weights is added to the gradient of half the mean squared error.
    device : str, default "cpu"
        Device, as torch names it. ``torch.set_num_threads`` sets the number of threads.
    progress : bool, default False
        Whether to show the progress of training on the standard error.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        With an integer, fits repeat bit for bit on one machine. Forecasts of a fitted model always
        repeat.

    Attributes
    ----------
    weights_ : dict of str to ndarray
        Weights by name, float32, with one network per entry of the first axis.
    noise_ : float
        Standard deviation of the observation noise, in units of y.
    n_epochs_, loss_ : (1,) ndarray
        Epochs trained, and half the mean squared error on the held-out rows, standardised.
    standardiser_ : object
        Means and scales of features and target.
    seed_ : int
        Seed that `random_state` was converted to.
    n_features_in_, feature_names_in_ : int, ndarray
        Number of features and, if X had any, their names.

    References
    ----------
    Gal and Ghahramani, "Dropout as a Bayesian Approximation: Representing Model Uncertainty in
    Deep Learning", ICML 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.models import DropoutRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2.0, 2.0, size=(300, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=300)
    >>> model = DropoutRegressor(hidden=(32, 32), dropout=0.1, max_epochs=60, random_state=0)
    >>> F = model.fit(X, y).predict_dist([[0.0], [1.5]])
    >>> bool(np.all(np.abs(F.mean() - np.sin([0.0, 1.5])) < 0.2))
    True
    """

    _: KW_ONLY
    dropout: float = 0.5
    n_samples: int = 100
    noise: Any = "learned"
    patience: int = 100
    weight_decay: float = 1e-4

    _n_outputs: ClassVar[int] = 1

    def _check_params(self) -> None:
        super()._check_params()
        check_number(self, "weight_decay", least=0.0)
        check_number(self, "dropout", least=0.0, below=1.0)
        check_count(self.n_samples, "n_samples")
        if isinstance(self.noise, Real):
            check_number(self, "noise", least=0.0)
        elif not (self.noise is None or self.noise == "learned"):
            raise ValueError(
                f"noise is {self.noise!r}; expected 'learned', None, or a standard deviation in "
                f"units of y."
            )

    def _choices(self) -> dict[str, Any]:
        return {
            "rates": (0.0, *[float(self.dropout)] * (self._n_sites() - 1)),
            "weight_decay": float(self.weight_decay),
        }

    def _finish(self, job: Job) -> None:
        if self.noise is None:
            self.noise_ = 0.0
        elif isinstance(self.noise, Real):
            self.noise_ = float(self.noise)
        else:
            member = job.members[0]
            rows = member.held_out if len(member.held_out) else member.train
            Z = job.rows.X[rows].astype(np.float64)
            mean, var, _ = self._sample_moments(Z, self.n_samples)
            weight = job.rows.weight[rows].astype(np.float64)
            noise = likeliest_noise(np.square(job.rows.y[rows] - mean), var, weight)
            self.noise_ = float(np.sqrt(noise)) * self.standardiser_.y_scale

    def _restore(self, document: dict[str, Any], refuse: Callable[[str], NoReturn]) -> None:
        noise: Any = document.get("noise")
        if type(noise) not in (int, float) or not 0 <= noise < np.inf:
            refuse(f"noise is {reprlib.repr(noise)}, not a finite number of 0 or more")
        self.noise_ = float(noise)

    def _noise_scale(self, var: FloatArray) -> float:
        return self.noise_ / self.standardiser_.y_scale

    def predict_dist(self, X: Any) -> Normal:
        mean, var, _ = self._sample_moments(self._features(X), self.n_samples)
        unit = self.standardiser_
        scale = np.sqrt(np.maximum(var + self._noise_scale(var) ** 2, _LEAST_SCALE**2))
        return Normal(unit.y_mean + unit.y_scale * mean, unit.y_scale * scale)


def likeliest_noise(square: FloatArray, var: FloatArray, weight: FloatArray) -> float:
    """Return the noise variance, added to `var`, that maximises the likelihood of the errors."""

    def loss(log_noise: float) -> float:
        total = var + np.exp(log_noise)
        return float(weight @ (np.log(total) + square / total))

    return float(np.exp(minimize_scalar(loss, bounds=_LOG_NOISE, method="bounded").x))


@dataclass(eq=False, repr=False)
class ConcreteDropoutRegressor(NetworkRegressor):
    """A network that learns its dropout rates and the noise of every row.

    Training draws masks from a continuous relaxation of the Bernoulli law, so that gradients reach
    the dropout rates: one for the inputs and one per hidden layer. The loss is the negative
    log-likelihood of a normal law plus a term, divided by the number of rows, that grows with the
    weights and with the distance of the rates from 1/2 (Gal, Hron and Kendall, 2017, equations 2
    to 5). The learned rates therefore fall as the number of rows grows. Forecasts drop whole
    units; they are normal, with the mean of the samples, and the variance between the samples plus
    the mean variance of their noise.

    A network that memorises few rows forecasts no noise and learns rates of 0. Early stopping on
    the held-out rows prevents this; ``validation_fraction=0`` switches it off.

    Parameters and attributes not listed here are those of `DropoutRegressor`, with the same
    defaults. There is no `dropout`, `noise`, `weight_decay` or `noise_`.

    Parameters
    ----------
    initial_rate : float, default 0.1
        Dropout rate of all layers before training, in (0, 1).
    length_scale : float, default 1e-2
        Length scale of the prior on the weights; a larger one pulls them more strongly to 0.
    patience : int, default 30
        Training stops after this many epochs without a smaller loss on the held-out rows. The
        weights of the best epoch are kept.

    Attributes
    ----------
    rates_ : ndarray
        Learned dropout rates, of the inputs and then of each hidden layer.
    n_epochs_, loss_ : (1,) ndarray
        Epochs trained, and the loss on the held-out rows in standardised units.

    References
    ----------
    Gal, Hron and Kendall, "Concrete Dropout", NeurIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.models import ConcreteDropoutRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2.0, 2.0, size=(300, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=300)
    >>> model = ConcreteDropoutRegressor(hidden=(32, 32), max_epochs=60, random_state=0).fit(X, y)
    >>> model.rates_.shape
    (3,)
    >>> F = model.predict_dist([[0.0], [1.5]])
    >>> bool(np.all(np.abs(F.mean() - np.sin([0.0, 1.5])) < 0.3))
    True
    """

    _: KW_ONLY
    n_samples: int = 100
    initial_rate: float = 0.1
    length_scale: float = 1e-2

    _n_outputs: ClassVar[int] = 2

    def _check_params(self) -> None:
        super()._check_params()
        check_count(self.n_samples, "n_samples")
        check_number(self, "initial_rate", above=0.0, below=1.0)
        check_number(self, "length_scale", least=0.0)

    def _choices(self) -> dict[str, Any]:
        return {
            "rates": (float(self.initial_rate),) * self._n_sites(),
            "concrete": True,
            "length_scale": float(self.length_scale),
        }

    @property
    def rates_(self) -> FloatArray:
        """Learned dropout rates."""
        return np.asarray(expit(self.weights_["rate_logits"][0].astype(np.float64)))

    def predict_dist(self, X: Any) -> Normal:
        mean, var, noise = self._sample_moments(self._features(X), self.n_samples)
        unit = self.standardiser_
        return Normal(unit.y_mean + unit.y_scale * mean, unit.y_scale * np.sqrt(var + noise))
