"""A fully convolutional DenseNet with dropout that forecasts a distribution for every pixel."""

from trueline.models.densenet._regressor import DenseNetRegressor

__all__ = ["DenseNetRegressor"]
