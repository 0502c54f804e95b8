"""Neural networks that forecast distributions, as scikit-learn estimators.

They need torch: ``pip install torch safetensors``. It is imported when a network is first trained.
"""

from trueline.models._dropout import ConcreteDropoutRegressor, DropoutRegressor
from trueline.models._ensemble import DeepEnsembleRegressor
from trueline.models._gru import (
    ConcreteDropoutGRURegressor,
    DeepEnsembleGRURegressor,
    GRURegressor,
)
from trueline.models._load import load
from trueline.models._progress import DivergenceError
from trueline.models._regressor import fit_many
from trueline.models.densenet import DenseNetRegressor

__all__ = [
    "ConcreteDropoutGRURegressor",
    "ConcreteDropoutRegressor",
    "DeepEnsembleGRURegressor",
    "DeepEnsembleRegressor",
    "DenseNetRegressor",
    "DivergenceError",
    "DropoutRegressor",
    "GRURegressor",
    "fit_many",
    "load",
]
