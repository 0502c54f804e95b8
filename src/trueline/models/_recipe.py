"""Plain data passed between the estimators and the torch code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray

# Weights by name; the first axis is the member of the stack.
Weights = Mapping[str, NDArray[np.float32]]

# Reset gate, update gate and new state of a unit of a recurrent layer.
GATES = 3
# With fewer rows than this, none are held out: too few would be left to train on.
_LEAST_ROWS = 10


@dataclass(frozen=True)
class Recipe:
    """Settings that the members of a stack share; members with equal recipes train together."""

    n_features: int
    hidden: tuple[int, ...]
    n_outputs: int  # 1: the mean; 2: the mean and the inverse softplus of the variance
    activation: str
    rates: tuple[float, ...]  # of dropout, one per entry of widths
    learning_rate: float
    batch_size: int
    max_epochs: int
    patience: int
    device: str
    concrete: bool = False  # whether the rates are learned, starting from `rates`
    length_scale: float = 0.0
    adversarial: float = 0.0
    weight_decay: float = 0.0
    n_steps: int = 0  # steps of a sequence in a row; 0 if the layers are not recurrent

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """Numbers of inputs and outputs of each weight matrix.

        A recurrent layer has two matrices: one reads its inputs, the next its state, and both
        give the three gates of each unit. The last matrix is the head.
        """
        if not self.n_steps:
            return tuple(pairwise((self.n_features, *self.hidden, self.n_outputs)))
        units = (self.n_features // self.n_steps, *self.hidden)
        recurrent = [pair for i, h in pairwise(units) for pair in ((i, GATES * h), (h, GATES * h))]
        return (*recurrent, (units[-1], self.n_outputs))

    @property
    def widths(self) -> tuple[int, ...]:
        """Units at each place where dropout acts, which is before every weight matrix."""
        return tuple(inner for inner, _ in self.layers)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the weights of one member, by name."""
        layers = list(enumerate(self.layers))
        shapes: dict[str, tuple[int, ...]] = {f"weight{i}": shape for i, shape in layers}
        shapes |= {f"bias{i}": (1, outer) for i, (_, outer) in layers}
        if self.activation == "prelu":
            shapes |= {f"slope{i}": (1, 1) for i in range(len(self.hidden))}
        if self.concrete:
            shapes["rate_logits"] = (len(self.widths),)
        return shapes


@dataclass(frozen=True)
class Rows:
    """Standardised rows to train on, which several members may share."""

    X: NDArray[np.float32]
    y: NDArray[np.float32]
    weight: NDArray[np.float32]  # 1 on average

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.y)


@dataclass(frozen=True)
class Member:
    """One network: its rows, the indices of those to train on and hold out, and its seed."""

    rows: Rows
    train: NDArray[np.int64]
    held_out: NDArray[np.int64]
    seed: np.random.SeedSequence


@dataclass(frozen=True)
class Trained:
    """The result of training a member."""

    weights: dict[str, NDArray[np.float32]]  # shapes as the recipe says
    n_epochs: int
    loss: float  # on the held-out rows, or on the training rows if none are held out


@dataclass(frozen=True)
class Standardiser:
    """Affine maps that give features and target mean 0 and standard deviation 1."""

    x_mean: FloatArray
    x_scale: FloatArray
    y_mean: float
    y_scale: float

    @classmethod
    def fit(cls, X: FloatArray, y: FloatArray, weight: FloatArray) -> Standardiser:
        """Learn the maps; constant columns are only shifted."""
        x_mean, x_scale = _feature_moments(X, weight)
        y_mean, y_scale = _moments(y[:, None], weight)
        # A constant target has no scale; a thousandth of it keeps forecasts close to it.
        if not y_scale[0] > 0:
            y_scale = 1e-3 * np.where(y_mean == 0, 1.0, np.abs(y_mean))
        return cls(x_mean, x_scale, float(y_mean[0]), float(y_scale[0]))

    @classmethod
    def fit_sequences(
        cls, X: FloatArray, y: FloatArray, weight: FloatArray, n_steps: int
    ) -> Standardiser:
        """Learn the maps of rows that are sequences: a feature has one map for all its steps.

        All steps share the weights of the network, so they must share the maps. Features that are
        0 or 1 are not changed: an indicator of one week in 52, divided by its standard deviation,
        would be 7 while other features are of order 1.
        """
        steps = X.reshape(len(X) * n_steps, -1)
        x_mean, x_scale = _feature_moments(steps, np.repeat(weight, n_steps))
        binary = ((steps == 0) | (steps == 1)).all(axis=0)
        constant = (steps == steps[0]).all(axis=0)  # rounding of the mean may hide this
        x_mean = np.where(binary, 0.0, x_mean)
        x_scale = np.where(binary | constant, 1.0, x_scale)
        rows = cls.fit(X[:, :0], y, weight)
        return replace(rows, x_mean=np.tile(x_mean, n_steps), x_scale=np.tile(x_scale, n_steps))

    def features(self, X: FloatArray) -> FloatArray:
        """Standardise features."""
        return (X - self.x_mean) / self.x_scale

    def target(self, y: FloatArray) -> FloatArray:
        """Standardise the target."""
        return (y - self.y_mean) / self.y_scale


def _feature_moments(X: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means and scales of features; the scale of a constant is 1."""
    mean, scale = _moments(X, weight)
    return mean, np.where(scale > 0, scale, 1.0)


def _moments(a: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return weighted means and standard deviations of columns; 0 if only rounding varies."""
    largest = np.abs(a).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)  # so that no square overflows or underflows
    share = weight / weight.sum()
    scaled = a / unit
    mean = share @ scaled
    scale = np.sqrt(share @ np.square(scaled - mean))
    scale[scale <= 10 * np.finfo(float).eps] = 0.0
    return mean * unit, scale * unit


def hold_out(n: int, share: float, seed: np.random.SeedSequence) -> tuple[NDArray[np.int64], ...]:
    """Draw the rows to train on and those to hold out; fewer than 10 rows all train."""
    held = 0 if n < _LEAST_ROWS or share == 0 else min(max(1, round(share * n)), n - 1)
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[held:]), np.sort(order[:held])
