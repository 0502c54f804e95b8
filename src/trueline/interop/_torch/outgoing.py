"""Forecasts as distributions of torch."""

from __future__ import annotations

from typing import Any

from trueline._messages import EXTRAS, library
from trueline.distributions import Laplace, Normal
from trueline.interop._as_distribution import as_distribution

#: Families with the same name and parameters in torch.
_FAMILIES = (Normal, Laplace)


def to_torch(F: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """Convert a forecast to a ``torch.distributions.Distribution``.

    `Normal` and `Laplace` become torch's own, whose ``cdf`` and ``icdf`` have no digits left
    beyond about 8 standard deviations. Every other forecast becomes a subclass of torch's base
    class that calls the forecast itself: ``log_prob``, ``cdf``, ``icdf``, ``sample``, ``mean``,
    ``variance``, ``stddev``, ``support`` and ``expand``, computed in float64 on the CPU and
    returned in the dtype and on the device of the values. This includes `StudentT`, because
    torch's own has neither ``cdf`` nor ``icdf``.

    **Gradients.** No gradient flows back into the network that made the forecast, and there is no
    ``rsample``. With respect to the value, the gradient of ``cdf`` is the density and that of
    ``icdf`` one over it, exactly; that of ``log_prob`` is a central difference, accurate to about
    eight digits where the density is smooth. (Under `Isotonic` the log density jumps at every
    calibration score; use `Smooth` to maximise it.) Second derivatives raise an error.

    ``sample`` follows ``torch.manual_seed``.

    Parameters
    ----------
    F : Distribution, or what `as_distribution` takes
        n forecasts.
    dtype : torch.dtype, optional
        Of draws, mean and variance; ``torch.float64`` by default. In float32, values beyond a
        few standard deviations lose digits.
    device : torch.device or str, optional
        Of draws, mean and variance; the CPU by default.

    Returns
    -------
    torch.distributions.Distribution
        With ``batch_shape`` (n,) and no event dimensions. `as_distribution` returns the forecast.

    Examples
    --------
    >>> import torch
    >>> import trueline as tl
    >>> F = tl.Quantiles([0.1, 0.5, 0.9], [[1.0, 2.0, 4.0], [0.0, 5.0, 6.0]])
    >>> dist = tl.interop.to_torch(F)
    >>> dist.batch_shape, dist.icdf(torch.tensor(0.9, dtype=torch.float64))
    (torch.Size([2]), tensor([4., 6.], dtype=torch.float64))
    >>> x = torch.tensor([2.5, 4.0], dtype=torch.float64, requires_grad=True)
    >>> dist.cdf(x).sum().backward()
    >>> bool(torch.allclose(x.grad, dist.log_prob(x).exp()))
    True
    """
    forecast = as_distribution(F)
    torch = library("torch", "to_torch", EXTRAS["torch"])
    kind = torch.float64 if dtype is None else dtype
    if not isinstance(kind, torch.dtype) or not kind.is_floating_point:
        raise TypeError(
            f"dtype is {dtype!r}; expected a floating-point dtype of torch, such as torch.float64."
        )
    if type(forecast) in _FAMILIES:
        loc, scale = (
            torch.tensor(p, dtype=kind, device=device)
            for p in (forecast._centre(), forecast._width())
        )
        return getattr(torch.distributions, type(forecast).__name__)(loc, scale)

    # This module imports torch, so that the class is at module level and can be pickled.
    from trueline.interop._torch.torch_class import TorchDistribution

    return TorchDistribution(forecast, dtype=kind, device=device)
