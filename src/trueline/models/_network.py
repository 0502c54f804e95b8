"""Stacks of K independent networks of one shape, computed together.

The first axis of every tensor is the member of the stack: inputs are (K, rows, features), weights
(K, in, out). The overhead of calls dominates small networks, and K networks share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from trueline.models._recipe import Recipe

# Least variance, in units of that of the target (Lakshminarayanan et al., section 2.2.1).
LEAST_VARIANCE = 1e-6
# softplus of this is 1, so the initial variance is that of the target.
_UNIT = float(np.log(np.expm1(1.0)))
# Temperature of the concrete relaxation, as in the code of its authors.
_TEMPERATURE = 0.1

_PLAIN: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "silu": torch.nn.functional.silu,
}


class _PReLU(torch.autograd.Function):
    """max(z, 0) + slope * min(z, 0), in fewer passes over memory than autograd would take."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, slope: Tensor) -> Tensor:
        below = z.clamp(max=0.0)
        ctx.save_for_backward(below, slope)
        return torch.addcmul(z, below, slope - 1.0)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        (grad,) = grads
        below, slope = ctx.saved_tensors
        to_slope = torch.linalg.vecdot(grad.flatten(1), below.flatten(1)).view_as(slope)
        # The sign is -1 where z was negative, which leaves grad * slope; torch.where is slower.
        return torch.addcmul(grad, grad * torch.sign(below), 1.0 - slope), to_slope


def activate(recipe: Recipe, z: Tensor, params: dict[str, Tensor], i: int) -> Tensor:
    """Apply the activation of hidden layer i."""
    if recipe.activation == "prelu":
        result: Tensor = _PReLU.apply(z, params[f"slope{i}"])  # type: ignore[no-untyped-call]
        return result
    return _PLAIN[recipe.activation](z)


def _drop(h: Tensor, mask: Tensor | None) -> Tensor:
    return h if mask is None else h * mask


def forward(
    recipe: Recipe, params: dict[str, Tensor], x: Tensor, masks: Sequence[Tensor | None]
) -> Tensor:
    """Return outputs (K, rows, outputs) of K members; masks[i], if any, acts before layer i."""
    if recipe.n_steps:
        return _recurrent(recipe, params, x, masks)
    h = x
    for i, mask in enumerate(masks):
        h = torch.baddbmm(params[f"bias{i}"], _drop(h, mask), params[f"weight{i}"])
        if i < len(recipe.hidden):
            h = activate(recipe, h, params, i)
    return h


def _recurrent(
    recipe: Recipe, params: dict[str, Tensor], x: Tensor, masks: Sequence[Tensor | None]
) -> Tensor:
    """Return outputs of stacked GRU layers; the head reads the last state of the last layer.

    Dropout is variational (Gal and Ghahramani 2016b): a row has one mask for the inputs of a
    layer and one for its state, the same at every step.
    """
    k, rows, _ = x.shape
    h = x.view(k, rows, recipe.n_steps, -1).transpose(1, 2)
    for i in range(0, 2 * len(recipe.hidden), 2):
        h = _gru(params, i, h, masks[i], masks[i + 1])
    head = 2 * len(recipe.hidden)
    last = _drop(h[:, -1], masks[head])
    return torch.baddbmm(params[f"bias{head}"], last, params[f"weight{head}"])


def _gru(
    params: dict[str, Tensor], i: int, h: Tensor, of_inputs: Tensor | None, of_state: Tensor | None
) -> Tensor:
    """Return states (K, steps, rows, units) of a GRU layer as in torch.nn.GRU, starting at 0."""
    k, steps, rows, _ = h.shape
    h = _drop(h, None if of_inputs is None else of_inputs[:, None])
    # The part of the inputs does not depend on the state: compute all steps at once.
    projected = torch.baddbmm(
        params[f"bias{i}"], h.reshape(k, steps * rows, -1), params[f"weight{i}"]
    )
    weight, bias = params[f"weight{i + 1}"], params[f"bias{i + 1}"]
    units = weight.shape[1]
    state = projected.new_zeros(k, rows, units)
    states: list[Tensor] = []
    for inputs in projected.view(k, steps, rows, -1).unbind(1):
        # The product with the initial state is 0.
        own = torch.baddbmm(bias, _drop(state, of_state), weight) if states else bias
        in_gates, in_new = torch.split(inputs, [2 * units, units], dim=-1)
        own_gates, own_new = torch.split(own, [2 * units, units], dim=-1)
        reset, keep = torch.sigmoid(in_gates + own_gates).chunk(2, dim=-1)
        new = torch.tanh(torch.addcmul(in_new, reset, own_new))
        state = torch.lerp(new, state, keep)
        states.append(state)
    return torch.stack(states, dim=1)


def split(outputs: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return mean and variance of rows; the variance is None if there is one output."""
    if outputs.shape[-1] == 1:
        return outputs[..., 0], None
    return outputs[..., 0], softplus(outputs[..., 1]) + LEAST_VARIANCE


def row_losses(outputs: Tensor, y: Tensor) -> Tensor:
    """Return half the squared error, or the negative normal log-density up to a constant."""
    mean, var = split(outputs)
    square = torch.square(y - mean)
    return 0.5 * square if var is None else 0.5 * (torch.log(var) + square / var)


def initial(recipe: Recipe, seed: np.random.SeedSequence) -> dict[str, np.ndarray[Any, Any]]:
    """Draw the initial weights of one member."""
    rng = np.random.default_rng(seed)
    rectified = recipe.activation in ("relu", "prelu", "silu")
    head = len(recipe.layers) - 1
    weights: dict[str, np.ndarray[Any, Any]] = {}
    for name, shape in recipe.shapes().items():
        if name.startswith("weight"):
            is_head = name == f"weight{head}"
            gain = 2.0 if rectified and not is_head else 1.0
            value = rng.standard_normal(shape) * np.sqrt(gain / shape[0])
        elif name.startswith("slope"):
            value = np.full(shape, 0.25)
        elif name == "rate_logits":
            rates = np.array(recipe.rates)
            value = np.log(rates) - np.log1p(-rates)
        else:
            value = np.zeros(shape)
        weights[name] = value.astype(np.float32)
    if recipe.n_outputs == 2:
        weights[f"weight{head}"][:, 1] *= 0.1
        weights[f"bias{head}"][0, 1] = _UNIT
    return weights


def concrete_mask(logit: Tensor, noise: Tensor) -> Tensor:
    """Return relaxed masks (K, rows, units) of learned rates (Gal et al. 2017, eq. 5)."""
    logit = logit[:, None, None]
    # Beyond the clamp a mask is 0 or 1 in float32, and its gradient would be subnormal, which is a
    # hundred times slower.
    kept = torch.sigmoid(((logit + noise) * (-1.0 / _TEMPERATURE)).clamp(-20.0, 20.0))
    return kept * (1.0 + torch.exp(logit))  # 1 / (1 - p)


def concrete_penalty(recipe: Recipe, params: dict[str, Tensor], n: Tensor) -> Tensor:
    """Return the KL term of K members per row of data (Gal et al. 2017, eqs. 3 and 4), (K,)."""
    logits = params["rate_logits"]
    rates = torch.sigmoid(logits)
    entropy = -(rates * logits - softplus(logits))  # of a Bernoulli variable, from its log odds
    total = torch.zeros_like(n)
    for i, units in enumerate(recipe.widths):
        squares = torch.square(params[f"weight{i}"]).sum(dim=(1, 2))
        prior = 0.5 * recipe.length_scale**2 * squares / (1.0 - rates[:, i])
        total = total + prior - units * entropy[:, i]
    return total / n
