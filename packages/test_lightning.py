"""Scores in Lightning's loops, of tensors that carry gradients."""

import logging
import warnings

import numpy as np
import pytest

import trueline as tl
from trueline.tracking import scores

lightning = pytest.importorskip("lightning")
torch = pytest.importorskip("torch")

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Network(lightning.LightningModule):
    """Mean and standard deviation of one outcome, scored at the end of every epoch."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)
        self.seen = []

    def forward(self, X):
        loc, log_scale = self.layer(X).unbind(-1)
        return torch.distributions.Normal(loc, log_scale.exp())

    def training_step(self, batch, _):
        X, y = batch
        dist = self(X)
        self.log_dict(scores(y, dist, "train_"))
        return -dist.log_prob(y).mean()

    def validation_step(self, batch, _):
        X, y = batch
        dist = self(X)
        self.seen.append((y, dist.loc, dist.scale))

    def on_validation_epoch_end(self):
        y, loc, scale = (torch.cat(parts) for parts in zip(*self.seen, strict=True))
        self.log_dict(scores(y, (loc, scale), "val_"))
        self.last = (y, loc, scale)
        self.seen.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.05)


def test_scores_are_logged_in_training_and_validation():
    lightning.seed_everything(0, verbose=False)
    X = torch.randn(512, 3)
    y = X @ torch.tensor([1.0, -2.0, 0.5]) + 0.5 * torch.randn(512)
    data = torch.utils.data.TensorDataset(X, y)
    loader = torch.utils.data.DataLoader(data, batch_size=128)
    network = Network()
    trainer = lightning.Trainer(
        max_epochs=12,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="lightning")
        trainer.fit(network, loader, loader)
    logged = {key: float(value) for key, value in trainer.callback_metrics.items()}
    names = {"crps", "calibration_error", "calibration_floor", "coverage", "rmse"}
    assert {f"{split}_{name}" for split in ("train", "val") for name in names} <= logged.keys()
    # What was logged is the score of the rows of the last epoch, in Lightning's float32.
    expected = scores(*[network.last[0], network.last[1:]], "val_")
    for name, value in expected.items():
        np.testing.assert_allclose(logged[name], value, rtol=1e-5)
    # A perfect forecaster of these has rmse 0.5, and covers 0.9: training went somewhere.
    assert logged["val_rmse"] < 0.7


def test_a_recalibrated_forecast_is_one_line_after_training():
    lightning.seed_everything(0, verbose=False)
    network = Network()
    X, y = torch.randn(400, 3), torch.randn(400)
    dist = network(X)
    F = tl.as_distribution(dist)
    R = tl.Isotonic().fit(y[:200].numpy(), F[:200])
    after = scores(y[200:], R.transform(F[200:]), n_fit=200)
    before = scores(y[200:], F[200:])
    assert after["calibration_error"] < before["calibration_error"]
