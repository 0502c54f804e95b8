"""Recurrent variants of the networks, for rows that are sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from trueline._validation import FloatArray, check_count
from trueline.models._dropout import ConcreteDropoutRegressor, DropoutRegressor
from trueline.models._ensemble import DeepEnsembleRegressor
from trueline.models._parameters import check_number
from trueline.models._recipe import Recipe, Standardiser
from trueline.models._regressor import NetworkRegressor


@dataclass(eq=False, repr=False)
class _Recurrent(NetworkRegressor):
    """A network whose hidden layers are GRU layers. Abstract."""

    hidden: Sequence[int] = (64, 64)
    _: KW_ONLY
    n_steps: int = 4
    # The activation of GRU layers is not a parameter.
    activation: str = field(default="tanh", init=False)

    def _check_params(self) -> None:
        super()._check_params()
        check_count(self.n_steps, "n_steps")

    def _check_features(self, n_features: int) -> None:
        if n_features % self.n_steps:
            raise ValueError(
                f"X has {n_features} features and n_steps is {self.n_steps}; expected a "
                f"multiple of n_steps: the columns are the features of the first step, then of the "
                f"second, and so on. Set n_steps to the length of your sequences."
            )

    def _recipe(self, n_features: int) -> Recipe:
        return replace(super()._recipe(n_features), n_steps=int(self.n_steps))

    def _n_sites(self) -> int:
        """Return the number of dropout masks: inputs and state of each layer, and the head."""
        return 2 * len(self.hidden) + 1

    def _standardiser(self, X: FloatArray, y: FloatArray, weight: FloatArray) -> Standardiser:
        return Standardiser.fit_sequences(X, y, weight, self.n_steps)


@dataclass(eq=False, repr=False)
class GRURegressor(_Recurrent, DropoutRegressor):
    """A recurrent network that also drops units at prediction.

    A row is a sequence of `n_steps` steps with the same features, the oldest step first. Stacked
    GRU layers read it, and the last state gives the forecast, as in `DropoutRegressor`. Dropout is
    variational (Gal and Ghahramani, 2016): a sequence has one mask for the inputs of each layer,
    one for its state and one before the output, the same at every step. Kuleshov et al. forecast
    sales with this network, two layers and a dropout of 0.5, from the four days before.

    Parameters and attributes not listed here are those of `DropoutRegressor`, with the same
    defaults.

    Parameters
    ----------
    hidden : sequence of int, default (64, 64)
        Units of the GRU layers.
    n_steps : int, default 4
        Steps in a row. With d features per step, X has n_steps * d columns: those of the first
        step, then of the second, and so on. Each feature is standardised over all steps together;
        features that are 0 or 1 are not standardised.
    dropout : float, default 0.5
        Share of the units dropped, in [0, 1): of the inputs of each layer but the first, of the
        states, and before the output.
    input_dropout : float, optional
        Share of the features dropped, in [0, 1). It is `dropout` by default.

    Attributes
    ----------
    weights_ : dict of str to ndarray
        Weights by name, float32, with one network per entry of the first axis. In layer i, matrix
        2i reads the inputs and matrix 2i + 1 the state; their columns are those of torch.nn.GRU:
        the reset gate, the update gate, the new state. The last matrix is that of the output.

    References
    ----------
    Gal and Ghahramani, "A Theoretically Grounded Application of Dropout in Recurrent Neural
    Networks", NeurIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.models import GRURegressor
    >>> series = np.sin(0.7 * np.arange(300))
    >>> X = np.lib.stride_tricks.sliding_window_view(series[:-1], 4)
    >>> y = series[4:]
    >>> model = GRURegressor(hidden=(16, 16), dropout=0.1, max_epochs=30, random_state=0)
    >>> F = model.fit(X[:200], y[:200]).predict_dist(X[200:])
    >>> bool(np.abs(F.mean() - y[200:]).mean() < 0.2)
    True
    """

    _: KW_ONLY
    input_dropout: float | None = None
    patience: int = 100  # as in DropoutRegressor; _Recurrent has that of NetworkRegressor

    def _check_params(self) -> None:
        super()._check_params()
        if self.input_dropout is not None:
            check_number(self, "input_dropout", least=0.0, below=1.0)

    def _choices(self) -> dict[str, Any]:
        choices = super()._choices()
        input_rate = self.dropout if self.input_dropout is None else self.input_dropout
        return {**choices, "rates": (float(input_rate), *choices["rates"][1:])}


@dataclass(eq=False, repr=False)
class ConcreteDropoutGRURegressor(_Recurrent, ConcreteDropoutRegressor):
    """A recurrent network that learns its dropout rates and the noise of every row.

    This is the network of `GRURegressor`, trained as `ConcreteDropoutRegressor`: each of its masks
    has a learned rate. Parameters and attributes not listed here are those of that class, with the
    same defaults.

    Parameters
    ----------
    hidden : sequence of int, default (64, 64)
        Units of the GRU layers.
    n_steps : int, default 4
        Steps in a row. With d features per step, X has n_steps * d columns, as in `GRURegressor`.

    Attributes
    ----------
    rates_ : ndarray
        Learned dropout rates, of inputs and state of each layer in turn, then before the output.
    weights_ : dict of str to ndarray
        Weights by name, as in `GRURegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.models import ConcreteDropoutGRURegressor
    >>> series = np.sin(0.7 * np.arange(300))
    >>> X = np.lib.stride_tricks.sliding_window_view(series[:-1], 4)
    >>> y = series[4:]
    >>> model = ConcreteDropoutGRURegressor(hidden=(16, 16), max_epochs=30, random_state=0)
    >>> F = model.fit(X[:200], y[:200]).predict_dist(X[200:])
    >>> model.rates_.shape, bool(np.abs(F.mean() - y[200:]).mean() < 0.2)
    ((5,), True)
    """


@dataclass(eq=False, repr=False)
class DeepEnsembleGRURegressor(_Recurrent, DeepEnsembleRegressor):
    """Several recurrent networks with different initial weights, forecasting mean and variance.

    This is the network of `GRURegressor` without dropout, trained as `DeepEnsembleRegressor`.
    Parameters and attributes not listed here are those of that class, with the same defaults.

    Parameters
    ----------
    hidden : sequence of int, default (64, 64)
        Units of the GRU layers.
    n_steps : int, default 4
        Steps in a row. With d features per step, X has n_steps * d columns, as in `GRURegressor`.
    adversarial : float, optional
        Train also on inputs moved by this much, in standardised units, in the direction that
        increases the loss (the fast gradient sign method).

    Attributes
    ----------
    weights_ : dict of str to ndarray
        Weights by name, as in `GRURegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.models import DeepEnsembleGRURegressor
    >>> series = np.sin(0.7 * np.arange(300))
    >>> X = np.lib.stride_tricks.sliding_window_view(series[:-1], 4)
    >>> y = series[4:]
    >>> model = DeepEnsembleGRURegressor(hidden=(16, 16), max_epochs=30, random_state=0)
    >>> F = model.fit(X[:200], y[:200]).predict_dist(X[200:])
    >>> len(F.components), bool(np.abs(F.mean() - y[200:]).mean() < 0.2)
    (5, True)
    """
