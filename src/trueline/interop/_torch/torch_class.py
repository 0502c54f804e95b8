"""The class behind `to_torch`; torch is needed to import this module."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.distributions import Distribution as TorchBase, constraints

from trueline._validation import FloatArray, as_float
from trueline.distributions import Distribution
from trueline.interop._trailing import quantiles_at, result_shape, values_at

_Function = Callable[[FloatArray], FloatArray]

# Step of a central difference in units of the forecast's width: the cube root of epsilon.
_STEP = float(np.finfo(np.float64).eps) ** (1.0 / 3.0)
# Levels at minus and plus one standard deviation of a normal, whose distance is two widths.
_SIGMA = np.array([[0.15865525393145707, 0.8413447460685429]])


class TorchDistribution(TorchBase):
    """A forecast as a distribution of torch, made by `to_torch`."""

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012  # as in torch
    support = constraints.real
    has_rsample = False

    def __init__(
        self,
        forecast: Distribution,
        *,
        dtype: Any = torch.float64,
        device: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._rows = forecast
        self.dtype = dtype
        self.device = torch.device("cpu" if device is None else device)
        super().__init__(torch.Size((len(forecast),)), validate_args=validate_args)

    def __repr__(self) -> str:
        """Return the class, the forecast and the shape of the batch."""
        name, shape = type(self).__name__, tuple(self.batch_shape)
        return f"{name}({self._rows!r}, batch_shape: {shape})"

    def expand(self, batch_shape: Any, _instance: Any = None) -> TorchDistribution:
        new: Any = self.__new__(type(self)) if _instance is None else _instance
        shape = torch.Size(batch_shape)
        # Raises torch's own error unless the batch can be expanded to it.
        torch.empty(1).expand(self.batch_shape).expand(shape)
        new._rows, new.dtype, new.device = self._rows, self.dtype, self.device
        TorchBase.__init__(new, shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def forecast(self) -> Distribution:
        """The forecast, one row per member of the batch; `as_distribution` returns it."""
        n = len(self._rows)
        if self.batch_shape == (n,):
            return self._rows
        if len(self.batch_shape) != 1:
            raise ValueError(
                f"the torch distribution was expanded to {tuple(self.batch_shape)}; expected one "
                f"distribution per row, shape ({n},). Convert it before expand."
            )
        return self._rows._take(np.zeros(self.batch_shape[0], dtype=np.intp))

    @property
    def mean(self) -> Any:
        """Means, in the shape of the batch."""
        return self._tensor(self._rows.mean()).expand(self.batch_shape)

    @property
    def variance(self) -> Any:
        """Variances, in the shape of the batch."""
        return self._tensor(self._rows.var()).expand(self.batch_shape)

    def sample(self, sample_shape: Any = torch.Size()) -> Any:  # noqa: B008  # torch's signature
        """Draw; seeded by ``torch.manual_seed``."""
        shape = self._extended_shape(sample_shape)
        seed = int(torch.randint(2**62, ()))
        count = shape.numel() // len(self._rows)
        if not count:
            return torch.empty(shape, dtype=self.dtype, device=self.device)
        draws = self._rows._sample(count, np.random.default_rng(seed))
        return self._tensor(draws.T).reshape(shape)

    def log_prob(self, value: Any) -> Any:
        """Log density at the value."""
        return self._ask(value, lambda x: values_at(self._rows, "logpdf", x), self._log_slope)

    def cdf(self, value: Any) -> Any:
        """Probability of a value at or below this one."""
        cdf, pdf = (partial(values_at, self._rows, name) for name in ("cdf", "pdf"))
        return self._ask(value, cdf, pdf)

    def icdf(self, value: Any) -> Any:
        """Quantile at this level; ends of the support at 0 and 1, NaN outside."""
        return self._ask(
            value, lambda q: quantiles_at(self._rows, q), self._quantile_slope, levels=True
        )

    def _quantile_slope(self, q: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return 1.0 / values_at(self._rows, "pdf", quantiles_at(self._rows, q))

    def _log_slope(self, x: FloatArray) -> FloatArray:
        low, high = self._rows._ppf(_SIGMA).T
        step = _STEP * 0.5 * (high - low)
        # The difference of the rounded ends, so that rounding of the step has no effect.
        up, down = x + step, x - step
        rise = values_at(self._rows, "logpdf", up) - values_at(self._rows, "logpdf", down)
        return rise / (up - down)

    def _ask(self, value: Any, answer: _Function, slope: _Function, *, levels: bool = False) -> Any:
        if self._validate_args and not levels:
            self._validate_sample(value)
        value = torch.as_tensor(value)
        shape = np.broadcast_shapes(
            result_shape(tuple(value.shape), len(self._rows), "value"), tuple(self.batch_shape)
        )
        kind = torch.promote_types(value.dtype, self.dtype)
        apply: Any = _Elementwise.apply  # torch leaves it untyped
        return apply(value.to(kind), answer, slope).expand(shape)

    def _tensor(self, a: FloatArray) -> Any:
        return torch.tensor(np.ascontiguousarray(a), dtype=self.dtype, device=self.device)


class _Elementwise(torch.autograd.Function):
    """A function of numpy arrays for tensors, with its derivative."""

    @staticmethod
    def forward(ctx: Any, value: Any, answer: _Function, slope: _Function) -> Any:
        ctx.slope = slope
        ctx.save_for_backward(value)
        found = answer(as_float(value, "value"))
        return torch.tensor(found, dtype=value.dtype, device=value.device)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (value,) = ctx.saved_tensors
        # Applied as a function, so that a second derivative raises instead of being zero.
        apply: Any = _Elementwise.apply
        return (grad * apply(value, ctx.slope, _refuse)).sum_to_size(value.shape), None, None


def _refuse(_: FloatArray) -> FloatArray:
    raise RuntimeError(
        "a second derivative of a forecast of trueline was requested; expected first ones only. "
        "Take finite differences of the gradient, or detach it."
    )
