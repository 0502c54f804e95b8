"""The layers of a fully convolutional DenseNet, as plain data without torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
