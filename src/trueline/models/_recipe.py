"""What to train, on what, and what came of it: plain data between estimators and the core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray

# Weights of a network by name, each with one slice a member along the first axis.
Weights = Mapping[str, NDArray[np.float32]]

# Of a unit of a recurrent layer: what to forget, what to keep, and what is new.
GATES = 3
# Rows are never held out from fewer than this: what is left would teach too little.
_LEAST_ROWS = 10


@dataclass(frozen=True)
class Recipe:
    """All that members of a stack have in common; members of equal recipes train together."""

    n_features: int
    hidden: tuple[int, ...]
    n_outputs: int  # 1: the mean; 2: the mean and what gives the variance
    activation: str
    rates: tuple[float, ...]  # of dropout, one a site; see widths
    concrete: bool  # whether those rates are learned, from these on
    length_scale: float
    adversarial: float
    learning_rate: float
    batch_size: int
    max_epochs: int
    patience: int
    weight_decay: float
    device: str
    n_steps: int = 0  # of the sequence that recurrent layers read a row as; 0: they are none

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """Units that each matrix of weights reads, and numbers that it makes of them.

        A recurrent layer has two: one reads its inputs, the next its own state, and both make
        the three gates of each unit. The last matrix is the head.
        """
        if not self.n_steps:
            return tuple(pairwise((self.n_features, *self.hidden, self.n_outputs)))
        units = (self.n_features // self.n_steps, *self.hidden)
        recurrent = [pair for i, h in pairwise(units) for pair in ((i, GATES * h), (h, GATES * h))]
        return (*recurrent, (units[-1], self.n_outputs))

    @property
    def widths(self) -> tuple[int, ...]:
        """Units at each place where dropout acts: before every matrix of weights."""
        return tuple(inner for inner, _ in self.layers)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights of one member, by name."""
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
    """Standardised rows to train on; several members may share them."""

    X: NDArray[np.float32]
    y: NDArray[np.float32]
    weight: NDArray[np.float32]  # 1 on average

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.y)


@dataclass(frozen=True)
class Member:
    """One network: its rows, those it holds out, and its own source of randomness."""

    rows: Rows
    train: NDArray[np.int64]
    held_out: NDArray[np.int64]
    seed: np.random.SeedSequence


@dataclass(frozen=True)
class Trained:
    """What came of a member."""

    weights: dict[str, NDArray[np.float32]]  # shapes as the recipe says
    n_epochs: int
    loss: float  # on the rows held out, or those trained on where there are none


@dataclass(frozen=True)
class Standardiser:
    """Affine maps that give features and target mean 0 and standard deviation 1."""

    x_mean: FloatArray
    x_scale: FloatArray
    y_mean: float
    y_scale: float

    @classmethod
    def fit(cls, X: FloatArray, y: FloatArray, weight: FloatArray) -> Standardiser:
        """Learn the maps; what is constant is only shifted."""
        x_mean, x_scale = _feature_moments(X, weight)
        y_mean, y_scale = _moments(y[:, None], weight)
        # A constant target has no scale; a thousandth of it keeps forecasts beside it.
        if not y_scale[0] > 0:
            y_scale = 1e-3 * np.where(y_mean == 0, 1.0, np.abs(y_mean))
        return cls(x_mean, x_scale, float(y_mean[0]), float(y_scale[0]))

    @classmethod
    def fit_sequences(
        cls, X: FloatArray, y: FloatArray, weight: FloatArray, n_steps: int
    ) -> Standardiser:
        """Learn the maps of rows that are sequences: a feature has one map for all its steps.

        Weights are shared by the steps, so what a step says must not depend on which it is. Of
        features that are 0 or 1 nothing is changed: an indicator of one week in 52, divided by
        its standard deviation, would be 7 where all else is of order 1.
        """
        steps = X.reshape(len(X) * n_steps, -1)
        x_mean, x_scale = _feature_moments(steps, np.repeat(weight, n_steps))
        binary = ((steps == 0) | (steps == 1)).all(axis=0)
        constant = (steps == steps[0]).all(axis=0)  # which rounding of the mean may hide
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
    """Means and scales of features; that of a constant is 1."""
    mean, scale = _moments(X, weight)
    return mean, np.where(scale > 0, scale, 1.0)


def _moments(a: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted mean and standard deviation of columns; 0 where rounding is all that varies."""
    largest = np.abs(a).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)  # so that no square overflows or vanishes
    share = weight / weight.sum()
    scaled = a / unit
    mean = share @ scaled
    scale = np.sqrt(share @ np.square(scaled - mean))
    scale[scale <= 10 * np.finfo(float).eps] = 0.0
    return mean * unit, scale * unit


def hold_out(n: int, share: float, seed: np.random.SeedSequence) -> tuple[NDArray[np.int64], ...]:
    """Draw the rows to train on and those to hold out; few rows all train."""
    held = 0 if n < _LEAST_ROWS or share == 0 else min(max(1, round(share * n)), n - 1)
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[held:]), np.sort(order[:held])
