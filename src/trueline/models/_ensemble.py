"""Ensembles of networks that say how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from trueline.distributions import Mixture, Normal
from trueline.models._parameters import check_choice, check_count, check_number
from trueline.models._regressor import NetworkRegressor
from trueline.models._torch import require_torch


class DeepEnsembleRegressor(NetworkRegressor):
    """Several networks, each trained from its own start to forecast a mean and a variance.

    Each minimises the negative log-likelihood of a normal law, and the forecast is the equal
    mixture of theirs (Lakshminarayanan et al., 2017). All are trained as one stack.

    Parameters
    ----------
    hidden : sequence of int, default (128, 128)
        Widths of the hidden layers.
    n_members : int, default 5
        Networks in the ensemble. Each holds out rows of its own.
    forecast : {"mixture", "normal"}, default "mixture"
        The exact mixture, or the normal law with its mean and variance.
    activation : {"prelu", "relu", "silu", "tanh"}, default "prelu"
    adversarial : float, optional
        Train also on inputs moved by this much, in standard deviations of each feature, in
        the direction that makes the loss grow (the fast gradient sign method). The paper takes
        0.01 times the range of a feature.
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
    weight_decay : float, default 0
        Times the weights, added to the gradient of the loss.
    device : str, default "cpu"
        As torch names it. The number of threads is torch's own: see ``torch.set_num_threads``.
    progress : bool, default False
        Show on the standard error how far training is.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        With an integer, fits on one machine repeat bit for bit. Forecasts of a fitted model
        repeat in any case.

    Attributes
    ----------
    weights_ : dict of str to ndarray
        The weights by name, float32, the network first.
    n_epochs_ : (n_members,) ndarray
        Epochs trained.
    loss_ : (n_members,) ndarray
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
    Lakshminarayanan, Pritzel and Blundell, "Simple and Scalable Predictive Uncertainty Estimation
    using Deep Ensembles", NeurIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.models import DeepEnsembleRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2.0, 2.0, size=(300, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=300)
    >>> model = DeepEnsembleRegressor(hidden=(32, 32), max_epochs=60, random_state=0).fit(X, y)
    >>> F = model.predict_dist([[0.0], [1.5]])
    >>> len(F.components), bool(np.all(np.abs(F.mean() - np.sin([0.0, 1.5])) < 0.2))
    (5, True)
    """

    _n_outputs: ClassVar[int] = 2

    def __init__(
        self,
        hidden: Sequence[int] = (128, 128),
        *,
        n_members: int = 5,
        forecast: str = "mixture",
        activation: str = "prelu",
        adversarial: float | None = None,
        learning_rate: float = 1e-3,
        batch_size: int = 32,
        max_epochs: int = 400,
        patience: int = 30,
        validation_fraction: float = 0.1,
        weight_decay: float = 0.0,
        device: str = "cpu",
        progress: bool = False,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.n_members = n_members
        self.forecast = forecast
        self.activation = activation
        self.adversarial = adversarial
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.weight_decay = weight_decay
        self.device = device
        self.progress = progress
        self.random_state = random_state

    def _check_params(self) -> None:
        super()._check_params()
        check_number(self, "weight_decay", least=0.0)
        check_count(self, "n_members")
        check_choice(self, "forecast", ("mixture", "normal"))
        if self.adversarial is not None:
            check_number(self, "adversarial", least=0.0)

    def _choices(self) -> dict[str, Any]:
        return {
            "adversarial": float(self.adversarial or 0.0),
            "weight_decay": float(self.weight_decay),
        }

    def _n_networks(self) -> int:
        return self.n_members

    def predict_dist(self, X: Any) -> Mixture | Normal:
        Z = self._features(X)
        require_torch()
        from trueline.models._prediction import members

        mean, var = members(self._recipe(self.n_features_in_), self.weights_, Z)
        unit = self.standardiser_
        means, scales = unit.y_mean + unit.y_scale * mean, unit.y_scale * np.sqrt(var)
        mixture = Mixture([Normal(m, s) for m, s in zip(means, scales, strict=True)])
        return mixture if self.forecast == "mixture" else Normal(mixture.mean(), mixture.std())
