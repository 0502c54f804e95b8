"""Depth, or another number per pixel, from images."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from trueline._validation import FloatArray, check_count
from trueline.distributions import Normal
from trueline.models._parameters import (
    as_json,
    as_seed,
    check_choice,
    check_number,
    check_widths,
    require_torch,
)
from trueline.models._progress import training_progress
from trueline.models._recipe import Standardiser, Weights
from trueline.models.densenet._data import CHANNELS, Plan, check_images, check_pictures

if TYPE_CHECKING:
    from trueline.models._persistence import TensorFile
    from trueline.models.densenet._training import Trainer, TrainingSettings

LOSSES = ("squared", "huber")
SCHEDULES = ("cosine", "constant")
# Parameters that do not change the result of training.
_NOT_TRAINING = ("device", "progress", "random_state", "n_samples")
# Least scale of a forecast, in standard deviations of depth: all samples may be equal.
_LEAST_SCALE = 1e-9


@dataclass(eq=False, repr=False)
class DenseNetRegressor(BaseEstimator):  # type: ignore[misc]
    """A fully convolutional DenseNet that forecasts a number, such as depth, at every pixel.

    The network has dense blocks on the way down and up, transitions between them, and skip
    connections from one side to the other (Jégou et al., 2017). It drops units in training and in
    forecasts. A forecast is normal, with the mean and variance of `n_samples` thinned networks,
    each of which drops the same units in all images, plus the variance of the noise if the network
    forecasts it (Kendall and Gal, 2017). Kuleshov et al. use this network in their section 4.3.

    Forecasts normalise features by running statistics of thinned networks (Jégou et al. take
    those of the images at hand), so that a forecast does not depend on other images.

    Parameters
    ----------
    layers : sequence of int, default (2, 3, 5, 8)
        Number of layers of each dense block on the way down, then of the one at the bottom; the
        way up mirrors the way down. Images are halved before each block but the first.
        FC-DenseNet56, 67 and 103 are (4,) * 6, (5,) * 6 and (4, 5, 7, 10, 12, 15).
    growth_rate : int, default 16
        Features that a layer adds; 12 in FC-DenseNet56.
    first_channels : int, default 24
        Features of the first convolution; 48 in the networks of the paper.
    dropout : float, default 0.2
        Share of the units dropped after each layer and before each halving, in [0, 1).
    aleatoric : bool, default False
        Whether to forecast the variance of the noise too, and to train for the normal likelihood.
        Otherwise the variance of a forecast is that of the samples.
    loss : {"squared", "huber"}, default "squared"
        Loss of an error, if `aleatoric` is False. Huber's loss is linear beyond half a standard
        deviation of the depths.
    n_samples : int, default 50
        Number of thinned networks per forecast.
    learning_rate : float, default 1e-3
        Initial learning rate of Adam.
    schedule : {"cosine", "constant"}, default "cosine"
        Whether the learning rate falls to 0 along half a cosine, or stays constant.
    weight_decay : float, default 1e-4
        This times the weights of convolutions is added to the gradient of the loss.
    batch_size, n_epochs : int, default 8 and 80
        Images per training step, and the number of passes over the images.
    flip : bool, default True
        Whether to mirror half of the images, left for right, at random in training.
    crop : float, default 0.9
        Share of the height and width of the random window that training cuts from an image,
        rounded down to sides that can be halved; 1 gives whole images.
    device : str, default "cpu"
        Device, as torch names it. ``torch.set_num_threads`` sets the number of threads.
    progress : bool or callable, default False
        Whether to show the progress of training on the standard error, or a function to call
        after every epoch with its number, the number of epochs and the networks done.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        With an integer, fits repeat bit for bit on one machine. Forecasts of a fitted model always
        repeat.

    Attributes
    ----------
    weights_ : dict of str to ndarray
        Weights and running statistics by name, float32.
    losses_ : (n_epochs,) ndarray
        Mean loss over the pixels of each epoch, in standardised units.
    standardiser_ : object
        Means and scales of colours and depth.
    seed_ : int
        Seed that `random_state` was converted to.

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

    layers: Sequence[int] = (2, 3, 5, 8)
    _: KW_ONLY
    growth_rate: int = 16
    first_channels: int = 24
    dropout: float = 0.2
    aleatoric: bool = False
    loss: str = "squared"
    n_samples: int = 50
    learning_rate: float = 1e-3
    schedule: str = "cosine"
    weight_decay: float = 1e-4
    batch_size: int = 8
    n_epochs: int = 80
    flip: bool = True
    crop: float = 0.9
    device: str = "cpu"
    progress: Any = False
    random_state: Any = None

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
            Colours as uint8, or as floats from 0 to 1; they are standardised internally. Sides
            that cannot be halved often enough are padded by reflection. Without `depth`, an
            iterable of ``(images, depth)`` or ``(images, depth, mask)``, which is read once.
        depth : (n, h, w) array-like
            Outcomes. They are standardised internally.
        mask : (n, h, w) array-like of bool, optional
            True where the depth is valid. Other depths are ignored and may be NaN.
        checkpoint : path, optional
            File to write after every epoch. If it exists, training continues from it; with the
            same versions and number of threads, the result is the same to the last bit. A
            checkpoint of another network, other settings or other data is refused.
        """
        self._check_params()
        plan = self._plan()
        pictures = check_pictures(images, depth, mask, plan)
        seed = None if self.random_state is None else as_seed(self.random_state)
        require_torch()
        from trueline.models.densenet._training import Checkpoint, Trainer, initial_state

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

        names = (field.name for field in fields(TrainingSettings))
        return TrainingSettings(**{name: as_json(getattr(self, name)) for name in names})

    def _settings(self) -> dict[str, Any]:
        """Return the parameters that decide the result of training, as JSON types."""
        params = self.get_params(deep=False)
        return {k: as_json(v) for k, v in params.items() if k not in _NOT_TRAINING}

    def _check_params(self) -> None:
        blocks = "the layers of two or more dense blocks, such as (2, 3, 5, 8)"
        check_widths(self, "layers", 2, blocks)
        for name in ("growth_rate", "first_channels", "n_samples", "batch_size", "n_epochs"):
            check_count(getattr(self, name), name)
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
                f"loss is {self.loss!r} and aleatoric is True, which trains for the normal "
                f"likelihood; expected loss='squared' with it."
            )

    # ---- predict -----------------------------------------------------------------------

    def predict_parts(self, images: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return mean and both parts of the variance of the forecast at every pixel.

        Only some samples of one image are in memory at a time. The forecast of an image is the
        same in any batch.

        Parameters
        ----------
        images : (n, h, w, 3) array-like
            Images as for `fit`; they may have another size.

        Returns
        -------
        mean, model, noise : ndarray, (n, h, w)
            ``model`` is the variance of the mean over thinned networks, and ``noise`` their mean
            variance of an outcome, which is 0 unless `aleatoric`.
        """
        check_is_fitted(self)
        self._check_params()
        plan = self._plan()
        pictures = check_images(images, plan)
        require_torch()
        from trueline.models.densenet._network import Forecaster

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
        """Return mean and total variance of the forecast at every pixel; see `predict_parts`.

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
            n * h * w rows, in the order of ``depth.ravel()``. Repeated calls give the same
            forecasts.
        """
        mean, var = self.predict_moments(images)
        return Normal(mean.ravel(), np.sqrt(var).ravel())

    def predict(self, images: ArrayLike) -> FloatArray:
        """Return the means of the forecasts, (n, h, w); see `predict_parts`."""
        return self.predict_moments(images)[0]

    # ---- files -------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a safetensors file, which holds only numbers and JSON.

        `trueline.models.load` reads it again.

        Parameters
        ----------
        path : path
            File to write. It is written completely or not at all.
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
