"""Dropout with learned rates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np
from scipy.special import expit

from trueline._validation import FloatArray, check_count
from trueline.distributions import Normal
from trueline.models._parameters import check_number
from trueline.models._regressor import Job, NetworkRegressor


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

    Parameters
    ----------
    hidden : sequence of int, default (128, 128)
        Widths of the hidden layers.
    activation : {"prelu", "relu", "silu", "tanh"}, default "prelu"
        Activation of the hidden layers.
    n_samples : int, default 100
        Number of thinned networks per forecast.
    initial_rate : float, default 0.1
        Dropout rate of all layers before training, in (0, 1).
    length_scale : float, default 1e-2
        Length scale of the prior on the weights; a larger one pulls them more strongly to 0.
    learning_rate : float, default 1e-3
        Learning rate of Adam.
    batch_size, max_epochs : int, default 32 and 400
        Rows per training step, and the largest number of passes over the rows.
    patience : int, default 30
        Training stops after this many epochs without a smaller loss on the held-out rows. The
        weights of the best epoch are kept.
    validation_fraction : float, default 0.1
        Share of the rows to hold out for early stopping. With 0, or with fewer than 10 rows, all
        rows train and training runs for `max_epochs`.
    device : str, default "cpu"
        Device, as torch names it. ``torch.set_num_threads`` sets the number of threads.
    progress : bool, default False
        Whether to show the progress of training on the standard error.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        With an integer, fits repeat bit for bit on one machine. Forecasts of a fitted model always
        repeat.

    Attributes
    ----------
    rates_ : ndarray
        Learned dropout rates, of the inputs and then of each hidden layer.
    weights_ : dict of str to ndarray
        Weights by name, float32, with one network per entry of the first axis.
    n_epochs_, loss_ : (1,) ndarray
        Epochs trained, and the loss on the held-out rows in standardised units.
    standardiser_ : object
        Means and scales of features and target.
    seed_ : int
        Seed that `random_state` was converted to.
    n_features_in_, feature_names_in_ : int, ndarray
        Number of features and, if X had any, their names.

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

    def _finish(self, job: Job) -> None:
        self._set_rates()

    def _restore(self, document: dict[str, Any], refuse: Callable[[str], NoReturn]) -> None:
        self._set_rates()

    def _set_rates(self) -> None:
        self.rates_: FloatArray = expit(self.weights_["rate_logits"][0].astype(np.float64))

    def predict_dist(self, X: Any) -> Normal:
        mean, var, noise = self._sample_moments(self._features(X), self.n_samples)
        unit = self.standardiser_
        return Normal(unit.y_mean + unit.y_scale * mean, unit.y_scale * np.sqrt(var + noise))
