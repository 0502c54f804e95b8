"""A tiny DenseNet and images that tests share."""

import numpy as np

from trueline.models import DenseNetRegressor

TINY = {
    "layers": (1, 1, 2),
    "growth_rate": 4,
    "first_channels": 6,
    "n_samples": 10,
    "batch_size": 4,
    "learning_rate": 1e-2,
    "random_state": 0,
}


def tiny(**params):
    """A model of little cost."""
    return DenseNetRegressor(**{**TINY, **params})


def make_images(n, *, size=(16, 16), seed=0):
    """Slopes of brightness in noise, whose depth falls as they brighten."""
    rng = np.random.default_rng(seed)
    h, w = size
    rows, columns = np.linspace(0, 1, h)[:, None], np.linspace(0, 1, w)
    a, b = rng.uniform(0.1, 0.5, size=(2, n, 1, 1))
    bright = a * rows + b * columns
    images = np.repeat(bright[..., None], 3, axis=-1) + rng.uniform(0, 0.05, size=(n, h, w, 3))
    depth = 5.0 - 4.0 * bright + 0.02 * rng.normal(size=bright.shape)
    return (255 * np.clip(images, 0, 1)).astype(np.uint8), depth.astype(np.float32)
