"""Checked images with their depths, and the layers of a DenseNet, as plain data without torch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._validation import FloatArray
from trueline.models._recipe import Standardiser

# Red, green and blue.
CHANNELS = 3
# Weight of a batch in the running means and variances of features; the default of torch.
MOMENTUM = 0.1


@dataclass(frozen=True)
class Convolution:
    """One convolution; if `normed`, its inputs are normalised and rectified first."""

    inner: int
    outer: int
    size: int
    normed: bool
    rises: bool = False  # transposed, of stride 2

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the parameters that gradients change."""
        ends = (self.inner, self.outer) if self.rises else (self.outer, self.inner)
        shapes: dict[str, tuple[int, ...]] = {
            "weight": (*ends, self.size, self.size),
            "bias": (self.outer,),
        }
        if self.normed:
            shapes |= {"gain": (self.inner,), "shift": (self.inner,)}
        return shapes


@dataclass(frozen=True)
class Plan:
    """The network of Jégou et al. (2017), their Figure 1 and Tables 1 and 2."""

    layers: tuple[int, ...]  # per dense block on the way down, then of the one at the bottom
    growth: int  # features that a layer adds
    first: int  # features of the first convolution
    n_outputs: int  # 1: the mean; 2: the mean and the log of the variance

    @property
    def n_pools(self) -> int:
        """Number of times that the image is halved."""
        return len(self.layers) - 1

    @property
    def multiple(self) -> int:
        """The number that heights and widths must be divisible by."""
        return 1 << self.n_pools

    def convolutions(self) -> dict[str, Convolution]:
        """Return all convolutions by name, in the order of the computation.

        A block on the way down outputs its inputs and the features that its layers add. A block
        on the way up, or at the bottom, outputs only the added features, because too many would
        accumulate where images are large (section 3.3).
        """
        found = {"first": Convolution(CHANNELS, self.first, 3, normed=False)}
        features, skipped = self.first, []
        for i, n in enumerate(self.layers[:-1]):
            found |= self._block(f"down{i}", features, n)
            features += n * self.growth
            skipped.append(features)
            found[f"pool{i}"] = Convolution(features, features, 1, normed=True)
        found |= self._block("bottom", features, self.layers[-1])
        new = self.layers[-1] * self.growth
        for i, n in reversed(list(enumerate(self.layers[:-1]))):
            found[f"rise{i}"] = Convolution(new, new, 3, normed=False, rises=True)
            features = new + skipped[i]
            found |= self._block(f"up{i}", features, n)
            new = n * self.growth
        found["head"] = Convolution(features + new, self.n_outputs, 1, normed=False)
        return found

    def _block(self, name: str, inner: int, n: int) -> dict[str, Convolution]:
        return {
            f"{name}.{j}": Convolution(inner + j * self.growth, self.growth, 3, normed=True)
            for j in range(n)
        }

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the parameters that gradients change, by name."""
        return {
            f"{name}.{part}": shape
            for name, convolution in self.convolutions().items()
            for part, shape in convolution.shapes().items()
        }

    def statistics(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the running means and variances, by name."""
        return {
            f"{name}.{part}": (convolution.inner,)
            for name, convolution in self.convolutions().items()
            if convolution.normed
            for part in ("mean", "var")
        }

    def sites(self, height: int, width: int) -> Iterator[tuple[int, int, int]]:
        """Yield the shapes of the features that dropout acts on, for an image of this size.

        It acts after every normalised convolution: in all layers of blocks and before pooling.
        """
        level = 0
        for name, convolution in self.convolutions().items():
            if name.startswith("rise"):
                level -= 1
            if convolution.normed:
                yield (convolution.outer, height >> level, width >> level)
            if name.startswith("pool"):
                level += 1


@dataclass(frozen=True)
class Pictures:
    """Images with the depth of every pixel; depths that are not valid are 0."""

    images: NDArray[Any]  # (n, h, w, 3), uint8 or float32 in [0, 1]
    depth: NDArray[np.float32]  # (n, h, w)
    valid: NDArray[np.bool_]  # (n, h, w)

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.images)

    def sha256(self) -> str:
        """Return the hash of images, depths and masks."""
        digest = hashlib.sha256(f"{self.images.dtype} {self.images.shape}".encode())
        for part in (self.images, self.depth, self.valid):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    def standardiser(self) -> Standardiser:
        """Return means and scales of colours over all pixels, and of the valid depths."""
        depth = self.depth[self.valid].astype(np.float64)
        of_depth = Standardiser.fit(np.empty((len(depth), 0)), depth, np.ones(len(depth)))
        # Convert one image at a time: all in float64 would need eight times the memory.
        pairs = [_colours(image) for image in self.images]
        mean = np.mean([m for m, _ in pairs], axis=0)
        var = np.maximum(np.mean([s for _, s in pairs], axis=0) - np.square(mean), 0.0)
        # A colour that varies less than a shade of 8 bits is constant up to rounding.
        scale = np.where(var > 256.0**-4, np.sqrt(var), 1.0)
        return replace(of_depth, x_mean=mean, x_scale=scale)


def _colours(image: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Return the means of the colours of an image, and of their squares."""
    x = unit_interval(image)
    return x.mean(axis=(0, 1)), np.square(x).mean(axis=(0, 1))


def unit_interval(images: NDArray[Any]) -> FloatArray:
    """Return colours as numbers from 0 to 1."""
    x: FloatArray = images.astype(np.float64)
    return x / 255.0 if images.dtype == np.uint8 else x


def check_images(images: ArrayLike, plan: Plan) -> NDArray[Any]:
    """Check images, (n, h, w, 3); uint8 stays, floats become float32."""
    try:
        a = np.asarray(images)
    except ValueError as error:  # numpy raises it for a list of several sizes
        raise ValueError(
            "images have several sizes; expected one, (n, h, w, 3). Resize or crop them, or fit "
            "on those of one size."
        ) from error
    if a.ndim != 4 or a.shape[-1] != CHANNELS:
        hint = ""
        if a.ndim == 3 and a.shape[-1] == CHANNELS:
            hint = " One image is images[None]."
        elif a.ndim == 4 and a.shape[1] == CHANNELS:
            hint = " Channels are first: pass images.transpose(0, 2, 3, 1)."
        elif a.ndim == 4 and a.shape[-1] == CHANNELS + 1:
            hint = " Leave the fourth channel out: images[..., :3]."
        elif a.ndim == 3 or (a.ndim == 4 and a.shape[-1] == 1):
            hint = " Show grey images in three channels: np.repeat(grey, 3, axis=-1)."
        raise ValueError(
            f"images have shape {a.shape}; expected (n, h, w, {CHANNELS}): red, green and blue "
            f"last.{hint}"
        )
    if len(a) == 0:
        raise ValueError("images are empty; expected at least one.")
    least = 2 * plan.multiple
    if min(a.shape[1:3]) < least:
        raise ValueError(
            f"images are {a.shape[1]} x {a.shape[2]}, too small to be halved {plan.n_pools} times; "
            f"expected {least} x {least} or more. Use larger images, or fewer blocks in layers."
        )
    if a.dtype == np.uint8:
        return a
    if a.dtype.kind != "f":
        raise TypeError(
            f"images have dtype {a.dtype}; expected uint8, or floats from 0 to 1. Convert them."
        )
    # NaN fails both comparisons.
    if not (a.min() >= 0.0 and a.max() <= 1.0):
        raise ValueError(
            f"images hold floats from {a.min():g} to {a.max():g}; expected 0 to 1. Divide by 255, "
            f"give uint8, or fix NaN."
        )
    return a.astype(np.float32)


def check_pictures(
    images: Any, depth: ArrayLike | None, mask: ArrayLike | None, plan: Plan
) -> Pictures:
    """Check the arguments of `fit`: arrays, or without depth an iterable of batches."""
    if depth is not None:
        return _arrays(images, depth, mask, plan)
    if mask is not None or isinstance(images, np.ndarray) or not isinstance(images, Iterable):
        raise ValueError(
            "depth is missing; expected fit(images, depth, mask=None), or fit(batches) with an "
            "iterable of (images, depth) or (images, depth, mask)."
        )
    parts = []
    for i, batch in enumerate(images):
        if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
            raise ValueError(
                f"batch {i} is not (images, depth) or (images, depth, mask); expected a tuple of "
                f"two or three arrays."
            )
        parts.append(_arrays(batch[0], batch[1], batch[2] if len(batch) == 3 else None, plan))
    if not parts:
        raise ValueError("there are no batches; expected at least one.")
    kinds = sorted({f"{p.images.shape[1:3]} {p.images.dtype}" for p in parts})
    if len(kinds) > 1:
        raise ValueError(f"batches hold images of {kinds}; expected one size and one dtype.")
    return Pictures(
        np.concatenate([p.images for p in parts]),
        np.concatenate([p.depth for p in parts]),
        np.concatenate([p.valid for p in parts]),
    )


def _arrays(images: ArrayLike, depth: ArrayLike, mask: ArrayLike | None, plan: Plan) -> Pictures:
    a = check_images(images, plan)
    d = np.asarray(depth)
    if d.shape != a.shape[:3]:
        raise ValueError(
            f"depth has shape {d.shape} and images {a.shape}; expected {a.shape[:3]}, one depth "
            f"per pixel. {_depth_remedy(d.shape, a.shape)}"
        )
    if d.dtype.kind not in "fiu":
        raise TypeError(f"depth has dtype {d.dtype}; expected numbers.")
    d = d.astype(np.float32)
    valid = _valid(mask, d)
    bad = valid & ~np.isfinite(d)
    if bad.any():
        spot = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"depth{list(spot)} is {d[spot]} ({int(bad.sum())} of {d.size} pixels are not "
            f"finite); expected finite numbers wherever the mask is True. Leave them out with "
            f"mask=np.isfinite(depth)."
        )
    return Pictures(a, np.where(valid, d, np.float32(0.0)), valid)


def _depth_remedy(depth: tuple[int, ...], images: tuple[int, ...]) -> str:
    if depth == (*images[:3], 1):
        return "Pass depth[..., 0]."
    if len(depth) == 3 and depth[1:] == images[1:3]:
        return "Leave out the images, or the depths, that have no counterpart."
    return "Resize images to the grid of the depths."


def _valid(mask: ArrayLike | None, depth: NDArray[np.float32]) -> NDArray[np.bool_]:
    if mask is None:
        return np.ones(depth.shape, dtype=bool)
    valid = np.asarray(mask)
    if valid.shape != depth.shape or valid.dtype != np.bool_:
        raise ValueError(
            f"mask has shape {valid.shape} and dtype {valid.dtype}; expected booleans of shape "
            f"{depth.shape}, True where the depth is valid. Convert it: mask.astype(bool)."
        )
    if not valid.any():
        raise ValueError("mask is False at every pixel; expected at least one valid depth.")
    return valid
