"""TabPFN, whose weights cannot be had here.

Its signature is that of the real class, and so is all that makes quantiles of what its network
says; in place of the network stands a linear model whose errors are normal.
"""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest
from held_out import check_coverage, check_exact_law, check_manners, pandas_frame, rows
from scipy.stats import norm
from sklearn.linear_model import Ridge
from sklearn.utils.validation import validate_data

import trueline as tl
from trueline.interop import read_forecast
from trueline.interop._reading import LEVELS

tabpfn = pytest.importorskip("tabpfn")
import torch  # noqa: E402
from tabpfn.architectures.shared.bar_distribution import FullSupportBarDistribution  # noqa: E402


class Same:
    """Passes rows on."""

    def transform(self, X):
        return X


class StandIn(tabpfn.TabPFNRegressor):
    """TabPFN with a linear model for a network; ``softmax_temperature`` is its penalty."""

    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        self.date_transformer_ = self.text_transformer_ = Same()
        self.y_train_mean_, self.y_train_std_ = float(np.mean(y)), float(np.std(y))
        z = (y - self.y_train_mean_) / self.y_train_std_
        penalty = 1.0 if self.softmax_temperature == "auto" else self.softmax_temperature
        self.linear_ = Ridge(alpha=penalty).fit(X, z)
        self.error_ = float(np.std(z - self.linear_.predict(X)))
        self.znorm_space_bardist_ = FullSupportBarDistribution(torch.linspace(-6.0, 6.0, 401))
        return self

    def get_inference_config(self):
        return SimpleNamespace(PASSTHROUGH_INF=False)

    def _initialize_model_variables(self):
        raise AssertionError("the weights would be downloaded")

    def _compute_aggregated_logits(self, X):
        borders = self.znorm_space_bardist_.borders.double().numpy()
        mean = self.linear_.predict(np.asarray(X, dtype=float))[:, None]
        mass = np.diff(norm.cdf((borders - mean) / self.error_), axis=1)
        return torch.from_numpy(np.log(np.maximum(mass, 1e-30)))


def test_the_signature_is_what_the_reader_asks_for():
    parameters = inspect.signature(tabpfn.TabPFNRegressor.predict).parameters
    assert {"output_type", "quantiles"} <= set(parameters)
    assert parameters["output_type"].default == "mean"  # which is why it is asked by name
    # It refuses levels that are not floats.
    assert all(type(level) is float for level in LEVELS)


def test_its_quantiles_are_the_forecast():
    X, y = rows(150)
    trained = StandIn().fit(X, y)
    F = read_forecast(trained, X)
    own = trained.predict(X, output_type="quantiles", quantiles=[0.05, 0.5, 0.975])
    assert isinstance(F, tl.Quantiles)
    np.testing.assert_allclose(F.ppf([0.05, 0.5, 0.975]), np.stack(own, axis=1), rtol=1e-9)
    # Between the levels, and beyond them, it is TabPFN's law all the same.
    between = trained.predict(X, output_type="quantiles", quantiles=[0.003, 0.62])
    std = trained.error_ * trained.y_train_std_
    np.testing.assert_allclose(F.ppf([0.003, 0.62]), np.stack(between, axis=1), atol=0.02 * std)
    np.testing.assert_allclose(F.mean(), trained.predict(X), atol=0.01 * std)
    np.testing.assert_allclose(F.std(), std, rtol=0.01)


def test_an_outcome_that_never_changes():
    X, y = rows(20)
    trained = StandIn().fit(X, y)
    trained.is_constant_target_, trained.constant_value_ = True, 7.0
    np.testing.assert_array_equal(read_forecast(trained, X).median(), 7.0)


def test_fresh_rows():
    check_exact_law(StandIn().fit(*rows(300, 100)))
    calibrated = check_coverage(StandIn())
    assert calibrated.scale_.kind == "own"


def test_manners():
    check_manners(StandIn(), "softmax_temperature", 30.0, pandas_frame)
