"""What to train, on what, and what came of it: plain data between estimators and the core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray

# Weights of a network by name, each with one slice a member along the first axis.
Weights = Mapping[str, NDArray[np.float32]]

# Rows are never held out from fewer than this: what is left would teach too little.
_LEAST_ROWS = 10


@dataclass(frozen=True)
class Recipe:
    """All that members of a stack have in common; members of equal recipes train together."""

    n_features: int
    hidden: tuple[int, ...]
    n_outputs: int  # 1: the mean; 2: the mean and what gives the variance
    activation: str
    rates: tuple[float, ...]  # of dropout: of the inputs, then after each hidden layer
    concrete: bool  # whether those rates are learned, from these on
    length_scale: float
    adversarial: float
    learning_rate: float
    batch_size: int
    max_epochs: int
    patience: int
    weight_decay: float
    device: str

    @property
    def widths(self) -> tuple[int, ...]:
        """Units at each place where dropout acts: the inputs, then every hidden layer."""
        return (self.n_features, *self.hidden)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights of one member, by name."""
        outputs = (*self.hidden, self.n_outputs)
        layers = list(enumerate(zip(self.widths, outputs, strict=True)))
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
        x_mean, x_scale = _moments(X, weight)
        y_mean, y_scale = _moments(y[:, None], weight)
        x_scale = np.where(x_scale > 0, x_scale, 1.0)
        # A constant target has no scale; a thousandth of it keeps forecasts beside it.
        if not y_scale[0] > 0:
            y_scale = 1e-3 * np.where(y_mean == 0, 1.0, np.abs(y_mean))
        return cls(x_mean, x_scale, float(y_mean[0]), float(y_scale[0]))

    def features(self, X: FloatArray) -> FloatArray:
        """Standardise features."""
        return (X - self.x_mean) / self.x_scale

    def target(self, y: FloatArray) -> FloatArray:
        """Standardise the target."""
        return (y - self.y_mean) / self.y_scale


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
