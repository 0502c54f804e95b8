"""Speed of the networks, as ratios against the plain way in the same run.

    python benchmarks/models.py            # the whole: about a minute
    python benchmarks/models.py --quick    # fewer epochs and runs

One thread. Every ratio is of the fastest of several runs, interleaved, so that a noisy machine
slows both sides alike. ``want`` is the bound that the project holds itself to. The results of both
ways are compared too: a fast way to something else would be worth nothing.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.model_selection import KFold

from trueline.models import DeepEnsembleRegressor, DropoutRegressor, fit_many

ROWS = 500
NEW_ROWS = 2048
SAMPLES = 100


def race(*jobs: Callable[[], object], rounds: int) -> list[float]:
    """Fastest time of each job, run in turn."""
    best = [math.inf] * len(jobs)
    for _ in range(rounds):
        for i, job in enumerate(jobs):
            t = time.perf_counter()
            job()
            best[i] = min(best[i], time.perf_counter() - t)
    return best


def train_stacked(quick: bool) -> bool:
    """25 networks, 5 folds of 5 members, together and one after the other."""
    X, y = make_friedman1(ROWS, noise=1.0, random_state=0)
    X_new, y_new = make_friedman1(NEW_ROWS, noise=1.0, random_state=1)
    folds = [(X[train], y[train]) for train, _ in KFold(5).split(X)]
    single = DeepEnsembleRegressor(n_members=1, max_epochs=4 if quick else 20)
    models = [clone(single).set_params(random_state=seed) for _ in folds for seed in range(5)]
    data = [fold for fold in folds for _ in range(5)]

    def together() -> list[DeepEnsembleRegressor]:
        return fit_many(models, data)

    def in_turn() -> list[DeepEnsembleRegressor]:
        return [clone(model).fit(*fold) for model, fold in zip(models, data, strict=True)]

    models[0].fit(*data[0])  # what torch loads at its first step is not training
    ours, other = race(together, in_turn, rounds=1 if quick else 3)
    stacked, alone = (
        np.array([np.square(m.predict(X_new) - y_new).mean() for m in way()])
        for way in (together, in_turn)
    )
    # The same seeds on the same rows: only rounding, and what training makes of it, differs.
    agree = bool(np.all(np.abs(stacked - alone) < 0.05 * alone))
    return line(
        "train 25 networks, stacked", ours, "one after the other", other, 4.0,
        f"squared errors {stacked.mean():.4f} and {alone.mean():.4f}, "
        f"a network apart by at most {np.max(np.abs(stacked / alone - 1)):.1e}", agree,
    )  # fmt: skip


def draw_samples(quick: bool) -> bool:
    """100 samples of dropout on 2048 rows, ours and by a loop of forward passes."""
    X, y = make_friedman1(ROWS, noise=1.0, random_state=0)
    X_new, _ = make_friedman1(NEW_ROWS, noise=1.0, random_state=1)
    epochs = 4 if quick else 40
    model = DropoutRegressor(n_samples=SAMPLES, noise=None, max_epochs=epochs, random_state=0)
    model.fit(X, y)
    network = as_module(model).train()  # dropout stays on
    unit = model.standardiser_
    inputs = torch.from_numpy(unit.features(X_new).astype(np.float32))

    def loop(samples: int = SAMPLES) -> tuple[np.ndarray, np.ndarray]:
        with torch.no_grad():
            draws = torch.stack([network(inputs)[:, 0] for _ in range(samples)])
        draws = unit.y_mean + unit.y_scale * draws
        return draws.mean(dim=0).numpy(), draws.var(dim=0, correction=0).numpy()

    ours, other = race(lambda: model.predict_dist(X_new), loop, rounds=3 if quick else 10)
    torch.manual_seed(0)
    many = 400 if quick else 2000
    found = model.set_params(n_samples=many).predict_dist(X_new)
    mean, var = loop(many)
    # Averages of so many draws on either side; the worst of 2048 rows.
    worst = float(np.max(np.abs(found.mean() - mean) / np.sqrt(2 * var / many)))
    ratio = float(np.mean(found.var() / var))
    agree = worst < 6.0 and abs(ratio - 1.0) < 0.05
    return line(
        f"{SAMPLES} samples of dropout, {NEW_ROWS} rows", ours, "a loop of forward passes", other,
        3.0, f"means within {worst:.1f} standard errors, variances {ratio:.3f} to 1", agree,
    )  # fmt: skip


def as_module(model: DropoutRegressor) -> torch.nn.Sequential:
    """The same network, as torch would have it written."""
    w = {name: torch.from_numpy(value[0]) for name, value in model.weights_.items()}
    layers: list[torch.nn.Module] = []
    for i in range(len(model.hidden) + 1):
        linear = torch.nn.Linear(*w[f"weight{i}"].shape)
        linear.weight.data, linear.bias.data = w[f"weight{i}"].T.contiguous(), w[f"bias{i}"][0]
        layers.append(linear)
        if i < len(model.hidden):
            prelu = torch.nn.PReLU()
            prelu.weight.data = w[f"slope{i}"][0]
            layers += [prelu, torch.nn.Dropout(model.dropout)]
    return torch.nn.Sequential(*layers)


def line(
    job: str, ours: float, against: str, other: float, want: float, results: str, agree: bool
) -> bool:
    """Print what was found; return whether it is what the project wants."""
    ratio = other / ours
    print(f"{job}: {ours:.3f} s; {against}: {other:.3f} s; {ratio:.1f} times, want {want:g}")
    print(f"    {results}: {'agree' if agree else 'DIFFER'}")
    return ratio >= want and agree


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    results = [train_stacked(quick), draw_samples(quick)]
    print("all hold" if all(results) else "NOT all hold")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
