"""The networks of this package as recurrent ones, for rows that are sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trueline._validation import FloatArray
from trueline.models._concrete import ConcreteDropoutRegressor
from trueline.models._dropout import DropoutRegressor
from trueline.models._ensemble import DeepEnsembleRegressor
from trueline.models._parameters import check_count, check_number
from trueline.models._recipe import Recipe, Standardiser
from trueline.models._regressor import NetworkRegressor


class _Recurrent(NetworkRegressor):
    """Makes the hidden layers of a network GRU layers. Abstract."""

    n_steps: int

    def _check_params(self) -> None:
        super()._check_params()
        check_count(self, "n_steps")

    def _check_features(self, n_features: int) -> None:
        if n_features % self.n_steps:
            raise ValueError(
                f"X has {n_features} features and n_steps is {self.n_steps}; expected as many "
                f"features at each step: columns are those of the first step, then of the second, "
                f"and so on. Set n_steps to the length of your sequences."
            )

    def _recipe(self, n_features: int) -> Recipe:
        return replace(super()._recipe(n_features), n_steps=int(self.n_steps))

    def _n_sites(self) -> int:
        """Where dropout can act: on inputs and state of each layer, and before the head."""
        return 2 * len(self.hidden) + 1

    def _standardiser(self, X: FloatArray, y: FloatArray, weight: FloatArray) -> Standardiser:
        return Standardiser.fit_sequences(X, y, weight, self.n_steps)


class GRURegressor(_Recurrent, DropoutRegressor):
    """A recurrent network whose units are dropped at prediction too, so that its forecasts spread.

    A row is a sequence: `n_steps` steps of as many features each, the oldest first. Stacked GRU
    layers read it, and the last state gives the forecast. Dropout is variational (Gal and
    Ghahramani, 2016): a sequence has one mask for the inputs of each layer, one for its state and
    one before the output, the same at every step. The forecast is made as `DropoutRegressor`
    makes it. Kuleshov et al. forecast sales with this network, two layers and a dropout of 0.5,
    from the four days before.

    Parameters
    ----------
    hidden : sequence of int, default (64, 64)
        Units of the GRU layers.
    n_steps : int, default 4
        Steps of the sequence in a row. With d features a step, X has n_steps * d columns: those
        of the first step, then of the second, and so on. Each feature is standardised over all
        steps together; features that are 0 or 1 are left as they are.
    dropout : float, default 0.5
        Share of the units dropped, in [0, 1): of the inputs of each layer but the first, of the
        states, and before the output.
    input_dropout : float, optional
        Share of the features dropped, in [0, 1); as `dropout` by default.
    n_samples : int, default 100
        Thinned networks a forecast is made of.
    noise : "learned", None or float, default "learned"
        The observation noise. "learned" is the one most likely on the rows held out from
        training, given the spread of the samples; None leaves it out, as the paper does; a
        number is its standard deviation in units of y.
    learning_rate : float, default 1e-3
        Of Adam.
    batch_size : int, default 32
    max_epochs : int, default 400
    patience : int, default 100
        Epochs without a smaller error on the rows held out after which training stops. The
        weights of the best epoch are kept.
    validation_fraction : float, default 0.1
        Share of the rows to hold out for that. With 0, or fewer than 10 rows, none are, and
        training runs for `max_epochs`.
    weight_decay : float, default 1e-4
        Times the weights, added to the gradient of half the mean squared error.
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
        The weights by name, float32, the network first. Layer i has matrices 2i, which reads
        its inputs, and 2i + 1, which reads its state; columns are those of torch.nn.GRU: what to
        reset, what to keep, what is new. The last matrix is the output's.
    noise_ : float
        Standard deviation of the observation noise, in units of y.
    n_epochs_ : (1,) ndarray
        Epochs trained.
    loss_ : (1,) ndarray
        Half the mean squared error on the rows held out, in standardised units.
    standardiser_ : object
        Means and scales of features and target.
    seed_ : int
        What `random_state` came to.
    n_features_in_ : int
        Number of features, all steps together.
    feature_names_in_ : ndarray
        Their names, if X had any.

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

    def __init__(
        self,
        hidden: Sequence[int] = (64, 64),
        *,
        n_steps: int = 4,
        dropout: float = 0.5,
        input_dropout: float | None = None,
        n_samples: int = 100,
        noise: Any = "learned",
        learning_rate: float = 1e-3,
        batch_size: int = 32,
        max_epochs: int = 400,
        patience: int = 100,
        validation_fraction: float = 0.1,
        weight_decay: float = 1e-4,
        device: str = "cpu",
        progress: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            hidden,
            dropout=dropout,
            activation="tanh",
            n_samples=n_samples,
            noise=noise,
            learning_rate=learning_rate,
            batch_size=batch_size,
            max_epochs=max_epochs,
            patience=patience,
            validation_fraction=validation_fraction,
            weight_decay=weight_decay,
            device=device,
            progress=progress,
            random_state=random_state,
        )
        self.n_steps = n_steps
        self.input_dropout = input_dropout

    def _check_params(self) -> None:
        super()._check_params()
        if self.input_dropout is not None:
            check_number(self, "input_dropout", least=0.0, below=1.0)

    def _choices(self) -> dict[str, Any]:
        choices = super()._choices()
        first = self.dropout if self.input_dropout is None else self.input_dropout
        return {**choices, "rates": (float(first), *choices["rates"][1:])}


class ConcreteDropoutGRURegressor(_Recurrent, ConcreteDropoutRegressor):
    """A recurrent network that learns how much to drop, and the noise of every row.

    The network of `GRURegressor`, trained and asked as `ConcreteDropoutRegressor` is: each of
    its masks has a rate of its own that is learned.

    Parameters
    ----------
    hidden : sequence of int, default (64, 64)
        Units of the GRU layers.
    n_steps : int, default 4
        Steps of the sequence in a row. With d features a step, X has n_steps * d columns: those
        of the first step, then of the second, and so on. Each feature is standardised over all
        steps together; features that are 0 or 1 are left as they are.
    n_samples : int, default 100
        Thinned networks a forecast is made of.
    initial_rate : float, default 0.1
        Of dropout everywhere before training, in (0, 1).
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
        Learned rates of dropout: of inputs and state of each layer in turn, then before the
        output.
    weights_ : dict of str to ndarray
        The weights by name, float32, the network first, as those of `GRURegressor`.
    n_epochs_ : (1,) ndarray
        Epochs trained.
    loss_ : (1,) ndarray
        Loss on the rows held out, in standardised units.
    standardiser_ : object
        Means and scales of features and target.
    seed_ : int
        What `random_state` came to.
    n_features_in_ : int
        Number of features, all steps together.
    feature_names_in_ : ndarray
        Their names, if X had any.

    References
    ----------
    Gal, Hron and Kendall, "Concrete Dropout", NeurIPS 2017.

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

    def __init__(
        self,
        hidden: Sequence[int] = (64, 64),
        *,
        n_steps: int = 4,
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
        super().__init__(
            hidden,
            activation="tanh",
            n_samples=n_samples,
            initial_rate=initial_rate,
            length_scale=length_scale,
            learning_rate=learning_rate,
            batch_size=batch_size,
            max_epochs=max_epochs,
            patience=patience,
            validation_fraction=validation_fraction,
            device=device,
            progress=progress,
            random_state=random_state,
        )
        self.n_steps = n_steps


class DeepEnsembleGRURegressor(_Recurrent, DeepEnsembleRegressor):
    """Several recurrent networks, each trained from its own start to forecast mean and variance.

    The network of `GRURegressor` without dropout, trained and asked as `DeepEnsembleRegressor`
    is.

    Parameters
    ----------
    hidden : sequence of int, default (64, 64)
        Units of the GRU layers.
    n_steps : int, default 4
        Steps of the sequence in a row. With d features a step, X has n_steps * d columns: those
        of the first step, then of the second, and so on. Each feature is standardised over all
        steps together; features that are 0 or 1 are left as they are.
    n_members : int, default 5
        Networks in the ensemble. Each holds out rows of its own.
    forecast : {"mixture", "normal"}, default "mixture"
        The exact mixture, or the normal law with its mean and variance.
    adversarial : float, optional
        Train also on inputs moved by this much, in the units in which they are read, in the
        direction that makes the loss grow (the fast gradient sign method).
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
        The weights by name, float32, the network first, as those of `GRURegressor`.
    n_epochs_ : (n_members,) ndarray
        Epochs trained.
    loss_ : (n_members,) ndarray
        Loss on the rows held out, in standardised units.
    standardiser_ : object
        Means and scales of features and target.
    seed_ : int
        What `random_state` came to.
    n_features_in_ : int
        Number of features, all steps together.
    feature_names_in_ : ndarray
        Their names, if X had any.

    References
    ----------
    Lakshminarayanan, Pritzel and Blundell, "Simple and Scalable Predictive Uncertainty Estimation
    using Deep Ensembles", NeurIPS 2017.

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

    def __init__(
        self,
        hidden: Sequence[int] = (64, 64),
        *,
        n_steps: int = 4,
        n_members: int = 5,
        forecast: str = "mixture",
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
        super().__init__(
            hidden,
            n_members=n_members,
            forecast=forecast,
            activation="tanh",
            adversarial=adversarial,
            learning_rate=learning_rate,
            batch_size=batch_size,
            max_epochs=max_epochs,
            patience=patience,
            validation_fraction=validation_fraction,
            weight_decay=weight_decay,
            device=device,
            progress=progress,
            random_state=random_state,
        )
        self.n_steps = n_steps
