"""Forecasts of trained networks, in float64 so that a row does not depend on other rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trueline._validation import FloatArray
from trueline.models._network import activate, forward, split
from trueline.models._recipe import Recipe, Weights

# Rows computed at a time: the arrays of one sample then stay in the cache of a processor.
_BLOCK = 2048
# Samples x rows computed at a time by a recurrent network, which needs more memory per row.
_CELLS = 256
# Samples computed at a time, before they are merged into the moments.
_SAMPLES = 128


def members(recipe: Recipe, weights: Weights, X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance by each of K members without dropout, (K, n)."""
    params = _params(recipe, weights)
    k = len(weights["bias0"])
    means, variances = np.empty((2, k, len(X)))
    with torch.no_grad():
        for rows, x in _blocks(recipe, X, _CELLS if recipe.n_steps else _BLOCK):
            stacked = x.expand(k, -1, -1)
            mean, var = split(forward(recipe, params, stacked, [None] * len(recipe.widths)))
            means[:, rows] = mean.cpu().numpy()
            variances[:, rows] = 0.0 if var is None else var.cpu().numpy()
    return means, variances


def moments(
    recipe: Recipe, weights: Weights, X: FloatArray, n_samples: int, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, variance of the mean, and mean variance over samples of dropout, (n,) each.

    A sample is a thinned network that drops the same units in all rows. Each sample is then a
    smooth function, and the forecast of a row does not depend on other rows.
    """
    samples = (_recurrent if recipe.n_steps else _feed_forward)(recipe, weights, n_samples, seed)
    result = np.empty((3, len(X)))
    with torch.no_grad():
        for rows, x in _blocks(recipe, X, _BLOCK):
            result[:, rows] = reduce(_Moments.merge, map(_Moments, samples(x))).three()
    return result[0], result[1], result[2]


class Paths:
    """One network per path: thinned by dropout, or the members of a stack in turn."""

    def __init__(
        self, recipe: Recipe, weights: Weights, n_paths: int, rng: np.random.Generator
    ) -> None:
        self.recipe = recipe
        self.params = _params(recipe, weights)
        k = len(weights["bias0"])
        self.member = rng.permutation(np.arange(n_paths) % k)
        self.masks = _masks(recipe, weights, _kept(recipe, weights, n_paths, rng))

    @torch.no_grad()
    def outputs(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of the rows of each path by its network, (paths, n)."""
        x = torch.from_numpy(X).to(self.recipe.device)
        result = x.new_empty((*x.shape[:2], self.recipe.n_outputs))
        for member in np.unique(self.member):
            paths = torch.from_numpy(np.flatnonzero(self.member == member)).to(x.device)
            params = {name: value[member, None] for name, value in self.params.items()}
            masks = [mask if mask is None else mask[paths] for mask in self.masks]
            result[paths] = _each(self.recipe, params, x[paths], masks)
        mean, var = split(result)
        return mean.cpu().numpy(), (torch.zeros_like(mean) if var is None else var).cpu().numpy()


def _each(
    recipe: Recipe, params: dict[str, Tensor], x: Tensor, masks: Sequence[Tensor | None]
) -> Tensor:
    """Return outputs (S, n, outputs) of a network thinned in S ways, each on its own rows.

    The S ways are put in the axis of rows, as in training, for one matrix product.
    """
    s, n, _ = x.shape
    result = x.new_empty((s, n, recipe.n_outputs))
    group = max(1, _CELLS // max(n, 1))
    for i in range(0, s, group):
        ways = slice(i, i + group)
        for j in range(0, n, _CELLS):
            part = x[ways, j : j + _CELLS]
            k, r, _ = part.shape
            spread = [
                mask if mask is None else mask[ways, None].expand(-1, r, -1).reshape(1, k * r, -1)
                for mask in masks
            ]
            outputs = forward(recipe, params, part.reshape(1, k * r, -1), spread)
            result[ways, j : j + r] = outputs.view(k, r, -1)
    return result


# A function from rows to an iterator over outputs (outputs, samples, rows) of some samples.
_Samples = Callable[[Tensor], Iterator[Tensor]]


def _recurrent(recipe: Recipe, weights: Weights, n_samples: int, seed: int) -> _Samples:
    kept = _kept(recipe, weights, n_samples, np.random.default_rng(seed))
    params, masks = _params(recipe, weights), _masks(recipe, weights, kept)
    if all(mask is None for mask in masks):  # every sample is the network itself
        n_samples = 1

    def samples(x: Tensor) -> Iterator[Tensor]:
        for start in range(0, n_samples, _SAMPLES):
            chunk = slice(start, min(start + _SAMPLES, n_samples))
            some = [mask if mask is None else mask[chunk] for mask in masks]
            rows = x.expand(chunk.stop - start, -1, -1)
            yield _each(recipe, params, rows, some).movedim(-1, 0)

    return samples


def _feed_forward(recipe: Recipe, weights: Weights, n_samples: int, seed: int) -> _Samples:
    """Leave out dropped units, and compute the layers before the first dropout once."""
    thinned = list(_thinned(recipe, weights, n_samples, seed))
    params = {name: value[0] for name, value in _params(recipe, weights).items()}
    first = next((i for i, rate in enumerate(rates(recipe, weights)) if rate > 0), None)

    def samples(x: Tensor) -> Iterator[Tensor]:
        h = x.T.contiguous()
        for i in range(len(recipe.widths) if first is None else first):
            h = _layer(recipe, params, i, h, params[f"weight{i}"], params[f"bias{i}"])
        if first is None:  # no dropout at all: every sample is the network itself
            yield h[:, None]
            return
        for start in range(0, n_samples, _SAMPLES):
            some = thinned[start : start + _SAMPLES]
            yield torch.stack([_sample(recipe, params, first, h, each) for each in some], dim=1)

    return samples


def rates(recipe: Recipe, weights: Weights) -> FloatArray:
    """Return the dropout rate before every layer."""
    if not recipe.concrete:
        return np.array(recipe.rates)
    return 1.0 / (1.0 + np.exp(-weights["rate_logits"][0].astype(float)))


class _Moments:
    """Mergeable moments of samples; outputs are (outputs, samples, rows)."""

    def __init__(self, outputs: Tensor) -> None:
        mean, var = split(outputs.movedim(0, -1))
        self.n = len(mean)
        self.mean = mean.mean(dim=0)
        self.squares = torch.square(mean - self.mean).sum(dim=0)
        self.var = torch.zeros_like(self.mean) if var is None else var.mean(dim=0)

    def merge(self, other: _Moments) -> _Moments:
        n = self.n + other.n
        gap = other.mean - self.mean
        self.squares += other.squares + torch.square(gap) * (self.n * other.n / n)
        self.mean += gap * (other.n / n)
        self.var += (other.var - self.var) * (other.n / n)
        self.n = n
        return self

    def three(self) -> NDArray[np.float64]:
        """Return mean, variance of the mean and mean variance."""
        return torch.stack([self.mean, self.squares / self.n, self.var]).cpu().numpy()


def _params(recipe: Recipe, weights: Weights) -> dict[str, Tensor]:
    return {
        name: torch.from_numpy(value).to(recipe.device, torch.float64)
        for name, value in weights.items()
    }


def _blocks(recipe: Recipe, X: FloatArray, size: int) -> Iterator[tuple[slice, Tensor]]:
    for start in range(0, len(X), size):
        rows = slice(start, start + size)
        yield rows, torch.from_numpy(X[rows]).to(recipe.device)


def _kept(
    recipe: Recipe, weights: Weights, n_samples: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Draw the units that each sample keeps, with the probabilities of training."""
    uniform = rng.random((n_samples, sum(recipe.widths)))
    kept: NDArray[np.bool_] = uniform >= np.repeat(rates(recipe, weights), recipe.widths)
    return kept


def _masks(recipe: Recipe, weights: Weights, kept: NDArray[np.bool_]) -> list[Tensor | None]:
    """Return masks (samples, units), one before every layer; None for a rate of 0."""
    parts = np.split(kept, np.cumsum(recipe.widths)[:-1], axis=1)
    return [
        torch.from_numpy(part / (1.0 - rate)).to(recipe.device) if rate > 0 else None
        for part, rate in zip(parts, rates(recipe, weights), strict=True)
    ]


def _thinned(
    recipe: Recipe, weights: Weights, n_samples: int, seed: int
) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """Yield weights and biases of each sample from the first dropout on, without dropped units."""
    p = rates(recipe, weights)
    if not (p > 0).any():
        return
    kept = _kept(recipe, weights, n_samples, np.random.default_rng(seed))
    ends = np.cumsum(recipe.widths)[:-1]
    first = int(np.argmax(p > 0))
    values = {name: value[0].astype(np.float64) for name, value in weights.items()}
    for sample in kept:
        units = [np.flatnonzero(part) for part in np.split(sample, ends)]
        layers = []
        for i in range(first, len(units)):
            weight = values[f"weight{i}"][units[i]] / (1.0 - p[i])
            bias = values[f"bias{i}"]
            if i + 1 < len(units):
                weight, bias = weight[:, units[i + 1]], bias[:, units[i + 1]]
            if i == first:  # the first pair selects units of the shared layer
                layers.append((torch.from_numpy(units[i]).to(recipe.device), weight[:0]))
            layers.append((weight, bias))
        yield [
            (torch.as_tensor(a, device=recipe.device), torch.as_tensor(b, device=recipe.device))
            for a, b in layers
        ]


def _sample(
    recipe: Recipe,
    params: dict[str, Tensor],
    first: int,
    shared: Tensor,
    sample: list[tuple[Tensor, Tensor]],
) -> Tensor:
    """Return outputs (outputs, rows) of one thinned network."""
    h = shared[sample[0][0]]
    for i, (weight, bias) in enumerate(sample[1:], start=first):
        h = _layer(recipe, params, i, h, weight, bias)
    return h


def _layer(
    recipe: Recipe, params: dict[str, Tensor], i: int, h: Tensor, weight: Tensor, bias: Tensor
) -> Tensor:
    """Apply one layer to (units, rows), where a selection of units is contiguous."""
    h = torch.addmm(bias.T, weight.T, h)
    return activate(recipe, h, params, i) if i < len(recipe.hidden) else h
