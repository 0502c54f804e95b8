"""Dropout whose rates are learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np
from scipy.special import expit

from trueline._validation import FloatArray
from trueline.distributions import Normal
from trueline.models._parameters import check_count, check_number
from trueline.models._regressor import Job, NetworkRegressor


class ConcreteDropoutRegressor(NetworkRegressor):
    """A network that learns how much to drop, and the noise of every row.

    In training, masks are drawn from a relaxation of the Bernoulli law that lets gradients reach
    the rates, one a layer, that of the inputs included; the loss is the negative log-likelihood
    of a normal law, and a term that grows as the rates leave 1/2 and as weights grow, divided
    by the number of rows (Gal, Hron and Kendall, 2017, equations 2 to 5). So the rates fall as rows
    come in. Forecasts drop whole units, and are the normal law with the mean of the samples
    and the variance among them plus the mean variance of their noise.

    A network that learns few rows by heart forecasts no noise and has no reason to drop units.
    The rows held out stop training before; without them (``validation_fraction=0``) the rates of
    a wide network on few rows fall to 0.

    Parameters
    ----------
    hidden : sequence of int, default (128, 128)
        Widths of the hidden layers.
    activation : {"prelu", "relu", "silu", "tanh"}, default "prelu"
    n_samples : int, default 100
        Thinned networks a forecast is made of.
    initial_rate : float, default 0.1
        Of dropout in all layers before training, in (0, 1).
    length_scale : float, default 1e-2
        Of the prior on the weights: larger is a stronger pull to 0.
    learning_rate : float, default 1e-3
        Of Adam.
    batch_size : int, default 32
    max_epochs : int, default 400
    patience : int, default 30
        Epochs without a smaller loss on the rows held out after which training stops. The
        weights of the best epoch are kept.
    validation_fraction : float, default 0.1
        Share of the rows to hold out for that. With 0, or fewer than 10 rows, none are, and
        training runs for `max_epochs`.
    device : str, default "cpu"
        As torch names it. The number of threads is torch's own: see ``torch.set_num_threads``.
    progress : bool, default False
        Show on the standard error how far training is.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        With an integer, fits on one machine repeat bit for bit. Forecasts of a fitted model
        repeat in any case.

    Attributes
    ----------
    rates_ : ndarray
        Learned rates of dropout: of the inputs, then after each hidden layer.
    weights_ : dict of str to ndarray
        The weights by name, float32, the network first.
    n_epochs_ : (1,) ndarray
        Epochs trained.
    loss_ : (1,) ndarray
        Loss on the rows held out, in standardised units.
    standardiser_ : object
        Means and scales of features and target.
    seed_ : int
        What `random_state` came to.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Their names, if X had any.

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

    _n_outputs: ClassVar[int] = 2

    def __init__(
        self,
        hidden: Sequence[int] = (128, 128),
        *,
        activation: str = "prelu",
        n_samples: int = 100,
        initial_rate: float = 0.1,
        length_scale: float = 1e-2,
        learning_rate: float = 1e-3,
        batch_size: int = 32,
        max_epochs: int = 400,
        patience: int = 30,
        validation_fraction: float = 0.1,
        device: str = "cpu",
        progress: bool = False,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.activation = activation
        self.n_samples = n_samples
        self.initial_rate = initial_rate
        self.length_scale = length_scale
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.device = device
        self.progress = progress
        self.random_state = random_state

    def _check_params(self) -> None:
        super()._check_params()
        check_count(self, "n_samples")
        check_number(self, "initial_rate", above=0.0, below=1.0)
        check_number(self, "length_scale", least=0.0)

    def _choices(self) -> dict[str, Any]:
        return {
            "rates": (float(self.initial_rate),) * self._n_sites(),
            "concrete": True,
            "length_scale": float(self.length_scale),
        }

    def _n_networks(self) -> int:
        return 1

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
