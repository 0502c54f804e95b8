"""Ensembles of networks that forecast mean and variance."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from trueline._validation import check_count
from trueline.distributions import Mixture, Normal
from trueline.models._parameters import check_choice, check_number, require_torch
from trueline.models._regressor import NetworkRegressor


@dataclass(eq=False, repr=False)
class DeepEnsembleRegressor(NetworkRegressor):
    """Several networks with different initial weights, each forecasting mean and variance.

    Each network minimises the negative log-likelihood of a normal law. The forecast is the mixture
    of their normal forecasts with equal weights (Lakshminarayanan et al., 2017). All networks are
    trained as one stack.

    Parameters and attributes not listed here are those of `DropoutRegressor`, with the same
    defaults. There is no `dropout`, `n_samples`, `noise` or `noise_`.

    Parameters
    ----------
    n_members : int, default 5
        Number of networks. Each holds out different rows.
    forecast : {"mixture", "normal"}, default "mixture"
        The exact mixture, or a normal law with its mean and variance.
    adversarial : float, optional
        Train also on inputs moved by this many standard deviations of each feature in the
        direction that increases the loss (the fast gradient sign method). The paper moves them by
        0.01 times the range of a feature.
    patience : int, default 30
        Training stops after this many epochs without a smaller loss on the held-out rows. The
        weights of the best epoch are kept.
    weight_decay : float, default 0
        This times the weights is added to the gradient of the loss.

    Attributes
    ----------
    n_epochs_, loss_ : (n_members,) ndarray
        Epochs trained, and the loss on the held-out rows in standardised units.

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

    _: KW_ONLY
    n_members: int = 5
    forecast: str = "mixture"
    adversarial: float | None = None
    weight_decay: float = 0.0

    _n_outputs: ClassVar[int] = 2

    def _check_params(self) -> None:
        super()._check_params()
        check_number(self, "weight_decay", least=0.0)
        check_count(self.n_members, "n_members")
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
