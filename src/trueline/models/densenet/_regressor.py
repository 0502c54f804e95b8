"""Depth, or any other number a pixel, from images."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from trueline._validation import FloatArray
from trueline.distributions import Normal
from trueline.models._parameters import (
    as_json,
    as_seed,
    check_choice,
    check_count,
    check_number,
    check_widths,
)
from trueline.models._progress import training_progress
from trueline.models._recipe import Standardiser, Weights
from trueline.models._torch import require_torch
from trueline.models.densenet._data import check_images, check_pictures
from trueline.models.densenet._plan import CHANNELS, Plan

if TYPE_CHECKING:
    from trueline.models._persistence import TensorFile
    from trueline.models.densenet._training import Trainer, TrainingSettings

LOSSES = ("squared", "huber")
SCHEDULES = ("cosine", "constant")
# Where to compute, what to show, and what only forecasts ask: not what is trained.
_NOT_TRAINING = ("device", "progress", "random_state", "n_samples")
# Of a forecast, in units of the standard deviation of depths: samples may all agree.
_LEAST_SCALE = 1e-9


class DenseNetRegressor(BaseEstimator):  # type: ignore[misc]
    """A fully convolutional DenseNet that forecasts a number, such as depth, at every pixel.

    Dense blocks on the way down and up, transitions between them, and skip connections from one
    side to the other, as Jégou et al. (2017) have it; the layers of the blocks and what each adds
    are parameters. Units are dropped in training and in forecasts. A forecast is the normal law
    with the mean and variance of `n_samples` thinned networks, each of which drops the same units
    in all images, plus the variance of the noise where the network forecasts that too (Kendall
    and Gal, 2017). Kuleshov et al. use this network in their section 4.3.

    Features are normalised by the running statistics in forecasts (Jégou et al. take those of
    the images at hand), so that a forecast does not depend on the images beside it. Statistics
    and forecasts both are those of thinned networks.

    Parameters
    ----------
    layers : sequence of int, default (2, 3, 5, 8)
        Layers of the dense blocks on the way down, then of the one at the bottom; on the way up
        they are those of the way down. Images are halved before each block but the first.
        FC-DenseNet56, 67 and 103 are (4,) * 6, (5,) * 6 and (4, 5, 7, 10, 12, 15).
    growth_rate : int, default 16
        Features that a layer adds; of FC-DenseNet56 12.
    first_channels : int, default 24
        Features of the first convolution; 48 in the networks of the paper.
    dropout : float, default 0.2
        Share of the units dropped after each layer and before each halving, in [0, 1).
    aleatoric : bool, default False
        Forecast the log of the variance of the noise too, and train for the likelihood of the
        normal law. Otherwise the samples' variance is all there is.
    loss : {"squared", "huber"}, default "squared"
        Of an error, where `aleatoric` is False. Huber's loss is linear beyond half a standard
        deviation of the depths.
    n_samples : int, default 50
        Thinned networks a forecast is made of.
    learning_rate : float, default 1e-3
        Of Adam, at first.
    schedule : {"cosine", "constant"}, default "cosine"
        How it falls: along half a cosine to 0 at the end, or not.
    weight_decay : float, default 1e-4
        Times the weights of convolutions, added to the gradient of the loss.
    batch_size : int, default 8
    n_epochs : int, default 80
    flip : bool, default True
        Show half of the images in a mirror, left for right, at random.
    crop : float, default 0.9
        Share of the height and width that an image is cut to in training, at a random place,
        rounded down to what can be halved; 1 shows whole images.
    device : str, default "cpu"
        As torch names it. The number of threads is torch's own: see ``torch.set_num_threads``.
    progress : bool or callable, default False
        Show on the standard error how far training is, or tell a function of every epoch: the
        epoch, the most there can be, and the networks done.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        With an integer, fits on one machine repeat bit for bit. Forecasts of a fitted model
        repeat in any case.

    Attributes
    ----------
    weights_ : dict of str to ndarray
        Weights and running statistics by name, float32.
    losses_ : (n_epochs,) ndarray
        Mean loss over the pixels of each epoch, in standardised units.
    standardiser_ : object
        Means and scales of colours and depth.
    seed_ : int
        What `random_state` came to.

    References
    ----------
    Jégou, Drozdzal, Vazquez, Romero and Bengio, "The One Hundred Layers Tiramisu: Fully
    Convolutional DenseNets for Semantic Segmentation", CVPR Workshops 2017.
    Kendall and Gal, "What Uncertainties Do We Need in Bayesian Deep Learning for Computer
    Vision?", NeurIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.models import DenseNetRegressor
    >>> rng = np.random.default_rng(0)
    >>> images = rng.integers(256, size=(6, 16, 16, 3), dtype=np.uint8)
    >>> depth = 1.0 + images[..., 0] / 255.0
    >>> model = DenseNetRegressor(
    ...     (1, 1), growth_rate=4, first_channels=4, n_epochs=2, n_samples=5, random_state=0
    ... ).fit(images, depth)
    >>> mean, var = model.predict_moments(images[:2])
    >>> mean.shape, var.shape
    ((2, 16, 16), (2, 16, 16))
    >>> len(model.predict_dist(images[:2]))
    512
    """

    def __init__(
        self,
        layers: Sequence[int] = (2, 3, 5, 8),
        *,
        growth_rate: int = 16,
        first_channels: int = 24,
        dropout: float = 0.2,
        aleatoric: bool = False,
        loss: str = "squared",
        n_samples: int = 50,
        learning_rate: float = 1e-3,
        schedule: str = "cosine",
        weight_decay: float = 1e-4,
        batch_size: int = 8,
        n_epochs: int = 80,
        flip: bool = True,
        crop: float = 0.9,
        device: str = "cpu",
        progress: Any = False,
        random_state: Any = None,
    ) -> None:
        self.layers = layers
        self.growth_rate = growth_rate
        self.first_channels = first_channels
        self.dropout = dropout
        self.aleatoric = aleatoric
        self.loss = loss
        self.n_samples = n_samples
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.flip = flip
        self.crop = crop
        self.device = device
        self.progress = progress
        self.random_state = random_state

    # ---- fit ---------------------------------------------------------------------------

    def fit(
        self,
        images: Any,
        depth: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train the network.

        Parameters
        ----------
        images : (n, h, w, 3) array-like, or iterable of batches
            uint8, or floats from 0 to 1; standardised inside. Sides that cannot be halved often
            enough are filled by reflection. Without `depth`, an iterable of ``(images, depth)``
            or ``(images, depth, mask)``, which is read once and kept.
        depth : (n, h, w) array-like
            Outcomes; standardised inside.
        mask : (n, h, w) array-like of bool, optional
            True where the depth is valid. What it is elsewhere is never looked at, and may be
            NaN.
        checkpoint : path, optional
            File to write after every epoch, and to go on from if it is there: with the same
            versions and number of threads, to the last bit as if training had not been cut off.
            One of another network, of other settings or data is refused.

        Returns
        -------
        self
        """
        self._check_params()
        plan = self._plan()
        pictures = check_pictures(images, depth, mask, plan)
        seed = None if self.random_state is None else as_seed(self.random_state)
        require_torch()
        from trueline.models.densenet._checkpoint import Checkpoint
        from trueline.models.densenet._training import Trainer, initial_state

        file = state = None
        if checkpoint is not None:
            file = Checkpoint(checkpoint, plan, self._settings(), pictures.sha256())
            state, seed = file.read(seed)
        seed_: int = as_seed(None) if seed is None else seed
        state = initial_state(plan, seed_) if state is None else state
        standardiser = pictures.standardiser()
        trainer = Trainer(plan, self._training_settings(), pictures, standardiser, seed_, state)
        with training_progress(self.progress, type(self).__name__, 1) as report:

            def after_epoch(trainer: Trainer) -> None:
                if file is not None:
                    file.write(trainer.state(), seed_)
                if report is not None:
                    done = len(trainer.losses)
                    report(done, self.n_epochs, int(done == self.n_epochs))

            if report is not None and state.n_epochs:
                report(state.n_epochs, self.n_epochs, 0)
            trainer.run(after_epoch)
        self.weights_: Weights = trainer.weights()
        self.losses_: FloatArray = np.array(trainer.losses)
        self.standardiser_: Standardiser = standardiser
        self.seed_: int = seed_
        return self

    def _plan(self) -> Plan:
        return Plan(
            tuple(int(n) for n in self.layers),
            int(self.growth_rate),
            int(self.first_channels),
            2 if self.aleatoric else 1,
        )

    def _training_settings(self) -> TrainingSettings:
        from trueline.models.densenet._training import TrainingSettings

        return TrainingSettings(
            dropout=float(self.dropout),
            loss=self.loss,
            learning_rate=float(self.learning_rate),
            schedule=self.schedule,
            weight_decay=float(self.weight_decay),
            batch_size=int(self.batch_size),
            n_epochs=int(self.n_epochs),
            flip=bool(self.flip),
            crop=float(self.crop),
            device=str(self.device),
        )

    def _settings(self) -> dict[str, Any]:
        """Return the parameters that decide the result of training, as JSON types."""
        params = self.get_params(deep=False)
        return {k: as_json(v) for k, v in params.items() if k not in _NOT_TRAINING}

    def _check_params(self) -> None:
        blocks = "the layers of two or more dense blocks, such as (2, 3, 5, 8)"
        check_widths(self, "layers", 2, blocks)
        for name in ("growth_rate", "first_channels", "n_samples", "batch_size", "n_epochs"):
            check_count(self, name)
        check_number(self, "dropout", least=0.0, below=1.0)
        check_number(self, "learning_rate", above=0.0)
        check_number(self, "weight_decay", least=0.0)
        check_number(self, "crop", above=0.0)
        if self.crop > 1:
            raise ValueError(f"crop is {self.crop!r}; expected a share of 1 or less.")
        for name in ("aleatoric", "flip"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} is {getattr(self, name)!r}; expected True or False.")
        check_choice(self, "loss", LOSSES)
        check_choice(self, "schedule", SCHEDULES)
        if self.aleatoric and self.loss != "squared":
            raise ValueError(
                f"loss is {self.loss!r} and aleatoric is True, which trains for the normal law; "
                f"expected loss='squared' with it."
            )

    # ---- predict -----------------------------------------------------------------------

    def predict_parts(self, images: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return mean and both parts of the variance of the forecast at every pixel.

        They are summed as samples come: whatever `n_samples` is, only some samples of one image
        are ever in memory. An image's forecast is the same in any batch.

        Parameters
        ----------
        images : (n, h, w, 3) array-like
            As for `fit`; they may be of another size.

        Returns
        -------
        mean, model, noise : ndarray, (n, h, w)
            ``model`` is the variance of the mean over thinned networks, and ``noise`` their mean
            variance of an outcome: 0 unless `aleatoric`.
        """
        check_is_fitted(self)
        self._check_params()
        plan = self._plan()
        pictures = check_images(images, plan)
        require_torch()
        from trueline.models.densenet._prediction import Forecaster

        forecaster = Forecaster(
            plan, self.weights_, self.standardiser_, self.seed_, str(self.device)
        )
        mean, model, noise = forecaster.moments(pictures, self.n_samples, float(self.dropout))
        unit = self.standardiser_
        return (
            unit.y_mean + unit.y_scale * mean,
            unit.y_scale**2 * np.maximum(model, _LEAST_SCALE**2),
            unit.y_scale**2 * noise,
        )

    def predict_moments(self, images: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of the forecast at every pixel, both parts of it together.

        Parameters
        ----------
        images : (n, h, w, 3) array-like

        Returns
        -------
        mean, var : ndarray, (n, h, w)
        """
        mean, model, noise = self.predict_parts(images)
        return mean, model + noise

    def predict_dist(self, images: ArrayLike) -> Normal:
        """Forecast the distribution of every pixel.

        Parameters
        ----------
        images : (n, h, w, 3) array-like

        Returns
        -------
        Normal
            n * h * w rows: the pixels of the first image, line by line, then of the next; row i
            belongs to ``depth.ravel()[i]``. The same each time it is asked.
        """
        mean, var = self.predict_moments(images)
        return Normal(mean.ravel(), np.sqrt(var).ravel())

    def predict(self, images: ArrayLike) -> FloatArray:
        """Return the means of the forecasts.

        Parameters
        ----------
        images : (n, h, w, 3) array-like

        Returns
        -------
        ndarray, (n, h, w)
        """
        return self.predict_moments(images)[0]

    # ---- files -------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a safetensors file: numbers and JSON, nothing to execute.

        Read it again with `trueline.models.load`.

        Parameters
        ----------
        path : path
            Written whole or not at all.
        """
        check_is_fitted(self)
        require_torch()
        from trueline.models._persistence import write_model

        write_model(self, path, {"losses": self.losses_.tolist()})

    @classmethod
    def _from_file(cls, file: TensorFile) -> Self:
        """Make the fitted model that `save` wrote."""
        model = file.blank(cls)
        model.seed_ = file.integer("seed", 0)
        model.losses_ = file.numbers("losses", 1, sys.maxsize)
        plan = model._plan()
        # A header could ask for more layers than can be counted in reasonable time.
        if sum(plan.layers) > len(file.tensors):
            file.refuse(f"layers is {model.layers!r}, and there are {len(file.tensors)} tensors")
        shapes = plan.shapes() | plan.statistics()
        model.weights_, model.standardiser_ = file.network(shapes, CHANNELS)
        for name in plan.statistics():
            if name.endswith(".var") and (model.weights_[name] < 0).any():
                file.refuse(f"network.{name} holds variances below 0")
        return model
