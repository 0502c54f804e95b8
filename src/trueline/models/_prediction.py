"""Forecasts of trained networks, in float64 so that a row does not depend on those beside it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trueline._validation import FloatArray
from trueline.models._network import activate, forward, split
from trueline.models._recipe import Recipe, Weights

# Rows worked on at a time: what one sample needs of them stays in the cache of a processor.
_BLOCK = 2048
# Samples at a time, before they are merged into the moments.
_SAMPLES = 128


def members(recipe: Recipe, weights: Weights, X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance by each of K members without dropout, (K, n)."""
    params = _params(recipe, weights)
    k = len(weights["bias0"])
    means, variances = np.empty((2, k, len(X)))
    with torch.no_grad():
        for rows, x in _blocks(recipe, X):
            stacked = x.expand(k, -1, -1)
            mean, var = split(forward(recipe, params, stacked, [None] * len(recipe.widths)))
            means[:, rows] = mean.cpu()
            variances[:, rows] = 0.0 if var is None else var.cpu()
    return means, variances


def moments(
    recipe: Recipe, weights: Weights, X: FloatArray, n_samples: int, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, variance of the mean, and mean variance over samples of dropout, (n,) each.

    A sample is a thinned network: the same units are dropped in all rows, so that each sample
    is a smooth function and a row's forecast is its own whatever rows stand beside it. Dropped
    units are not computed. Before the first dropout nothing differs between samples, and it
    is computed once.
    """
    with torch.no_grad():
        thinned = list(_thinned(recipe, weights, n_samples, seed))
        params = {name: value[0] for name, value in _params(recipe, weights).items()}
        first = next((i for i, rate in enumerate(rates(recipe, weights)) if rate > 0), None)
        result = np.empty((3, len(X)))
        for rows, x in _blocks(recipe, X):
            h = x.T.contiguous()
            for i in range(len(recipe.widths) if first is None else first):
                h = _layer(recipe, params, i, h, params[f"weight{i}"], params[f"bias{i}"])
            if first is None:  # no dropout at all: every sample is the network itself
                outputs = h[:, None]
                result[:, rows] = _Moments(outputs).three()
                continue
            merged: _Moments | None = None
            for start in range(0, n_samples, _SAMPLES):
                chunk = [
                    _sample(recipe, params, first, h, sample)
                    for sample in thinned[start : start + _SAMPLES]
                ]
                part = _Moments(torch.stack(chunk, dim=1))
                merged = part if merged is None else merged.merge(part)
            if merged is not None:
                result[:, rows] = merged.three()
    return result[0], result[1], result[2]


def rates(recipe: Recipe, weights: Weights) -> FloatArray:
    """Rate of dropout before every layer."""
    if not recipe.concrete:
        return np.array(recipe.rates)
    return 1.0 / (1.0 + np.exp(-weights["rate_logits"][0].astype(float)))


class _Moments:
    """Moments over samples that merge; outputs come as (outputs, samples, rows)."""

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
        """Mean, variance of the mean, mean variance."""
        return torch.stack([self.mean, self.squares / self.n, self.var]).cpu().numpy()


def _params(recipe: Recipe, weights: Weights) -> dict[str, Tensor]:
    return {
        name: torch.from_numpy(value).to(recipe.device, torch.float64)
        for name, value in weights.items()
    }


def _blocks(recipe: Recipe, X: FloatArray) -> Iterator[tuple[slice, Tensor]]:
    for start in range(0, len(X), _BLOCK):
        rows = slice(start, start + _BLOCK)
        yield rows, torch.from_numpy(X[rows]).to(recipe.device)


def _thinned(
    recipe: Recipe, weights: Weights, n_samples: int, seed: int
) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """Weights and biases of each sample from the first dropout on; dropped units are left out."""
    p = rates(recipe, weights)
    if not (p > 0).any():
        return
    # All masks at once; a unit is kept with the probability that it had in training.
    uniform = np.random.default_rng(seed).random((n_samples, sum(recipe.widths)))
    kept = uniform >= np.repeat(p, recipe.widths)
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
            if i == first:  # the units are picked from what is shared
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
    """Outputs (outputs, rows) of one thinned network."""
    h = shared[sample[0][0]]
    for i, (weight, bias) in enumerate(sample[1:], start=first):
        h = _layer(recipe, params, i, h, weight, bias)
    return h


def _layer(
    recipe: Recipe, params: dict[str, Tensor], i: int, h: Tensor, weight: Tensor, bias: Tensor
) -> Tensor:
    """One layer on columns of rows, (units, rows): picking units is picking whole lines."""
    h = torch.addmm(bias.T, weight.T, h)
    return activate(recipe, h, params, i) if i < len(recipe.hidden) else h
