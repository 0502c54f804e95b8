"""Training of a stack of networks, with one optimiser and one batch of each member per step.

Members are independent. Each has its own rows, its own batches, masks and initial weights from its
own seed, and its own early stopping; a member that is done leaves the stack. Up to the rounding of
sums, a member therefore learns the same in any stack.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import logit
from torch import Tensor

from trueline.models._network import (
    concrete_mask,
    concrete_penalty,
    forward,
    initial,
    row_losses,
)
from trueline.models._progress import DivergenceError, ProgressCallback
from trueline.models._recipe import Member, Recipe, Rows, Trained

# Steps whose masks are drawn at a time, and held-out rows that are evaluated at a time.
_CHUNK = 16
_BLOCK = 2048
# Logits of the 65,536 values of a uniform number of 16 bits.
_LOGISTIC = logit((np.arange(65536) + 0.5) / 65536).astype(np.float32)
# Concrete dropout has one rate per layer, which must change much: it learns faster.
_RATES_FASTER = 10.0


class _Stack:
    """Weights of K members in one vector, with views by name, gradients and Adam."""

    def __init__(self, recipe: Recipe, members: Sequence[dict[str, Any]]) -> None:
        self.recipe = recipe
        self.shapes = recipe.shapes()
        self.step = 0
        parts = [np.stack([m[name] for m in members]).reshape(-1) for name in self.shapes]
        values = torch.from_numpy(np.concatenate(parts)).to(recipe.device)
        zeros = torch.zeros_like(values)
        self._lay_out(len(members), values, zeros, zeros.clone())

    def _lay_out(self, k: int, values: Tensor, first: Tensor, second: Tensor) -> None:
        self.k = k
        self.values, self.first, self.second = values, first, second
        self.grads = torch.zeros_like(values)
        self.params = self.views(values)
        for name, grad in self.views(self.grads).items():
            # Backward adds to these gradients, and the optimiser reads them as one vector.
            self.params[name].requires_grad_().grad = grad
        self.adam = self._optimiser()

    def _optimiser(self) -> torch.optim.Adam:
        """Make an Adam for three parts of the vector: weights, biases with slopes, and rates."""
        options: dict[tuple[str, ...], dict[str, float]] = {
            ("weight",): {"weight_decay": self.recipe.weight_decay},
            ("bias", "slope"): {},
            ("rate",): {"lr": _RATES_FASTER * self.recipe.learning_rate},
        }
        groups: list[dict[str, Any]] = []
        state, end = {}, 0
        for prefixes, settings in options.items():
            sizes = [math.prod(s) for name, s in self.shapes.items() if name.startswith(prefixes)]
            start, end = end, end + self.k * sum(sizes)
            if end > start:
                part = self.values[start:end]
                part.grad = self.grads[start:end]
                groups.append({"params": [part], **settings})
                state[part] = {
                    "step": torch.tensor(float(self.step), device=self.recipe.device),
                    "exp_avg": self.first[start:end],
                    "exp_avg_sq": self.second[start:end],
                }
        # The fused step is one pass over the vector.
        adam = torch.optim.Adam(groups, lr=self.recipe.learning_rate, fused=True)
        adam.state.update(state)
        return adam

    def views(self, vector: Tensor) -> dict[str, Tensor]:
        """Return views of a vector of all weights by name; the first axis is the member."""
        sizes = [self.k * math.prod(shape) for shape in self.shapes.values()]
        named = zip(self.shapes.items(), torch.split(vector, sizes), strict=True)
        return {name: part.view(self.k, *shape) for (name, shape), part in named}

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Keep only these members."""
        taken = torch.from_numpy(rows).to(self.recipe.device)
        parts = [
            torch.cat([view[taken].reshape(-1) for view in self.views(vector).values()])
            for vector in (self.values, self.first, self.second)
        ]
        self._lay_out(len(rows), *parts)

    def update(self) -> None:
        """Take one step of Adam."""
        self.step += 1
        self.adam.step()
        self.grads.zero_()


class _Runner:
    """The state of one member: its position in the epoch and its best epoch so far."""

    def __init__(self, index: int, member: Member, start: int, batch_size: int) -> None:
        self.index = index
        self.seed, shuffle, masks = member.seed.spawn(3)
        self.shuffle = np.random.Generator(np.random.SFC64(shuffle))
        self.masks = np.random.Generator(np.random.SFC64(masks))
        self.train = member.train + start
        self.held_out = member.held_out + start
        self.batch = min(batch_size, len(self.train))
        self.epoch_steps = -(-len(self.train) // self.batch)
        self.done_steps = 0
        self.n_epochs = 0
        self.best = math.inf
        self.best_epoch = 0
        self.weights: dict[str, NDArray[np.float32]] = {}

    def fill_epoch(self, batches: NDArray[np.int64]) -> None:
        """Write the rows of the batches of the next epoch, (steps, rows); -1 pads the last."""
        order = np.full(self.epoch_steps * self.batch, -1)
        order[: len(self.train)] = self.shuffle.permutation(self.train)
        batches[:, : self.batch] = order.reshape(self.epoch_steps, self.batch)


class Trainer:
    """Trains members of one recipe together; results are in their order."""

    def __init__(self, recipe: Recipe, members: Sequence[Member]) -> None:
        self.recipe = recipe
        starts: dict[int, int] = {}
        shared: list[Rows] = []
        n = 0
        for member in members:
            if id(member.rows) not in starts:
                starts[id(member.rows)] = n
                shared.append(member.rows)
                n += len(member.rows)
        self.X, self.y, self.weight = (
            torch.from_numpy(np.concatenate([getattr(rows, name) for rows in shared])).to(
                recipe.device
            )
            for name in ("X", "y", "weight")
        )
        self.runners = [
            _Runner(i, member, starts[id(member.rows)], recipe.batch_size)
            for i, member in enumerate(members)
        ]
        self.sites = [i for i, rate in enumerate(recipe.rates) if recipe.concrete or rate > 0]
        self.batch = max(runner.batch for runner in self.runners)
        self.stack = _Stack(recipe, [initial(recipe, runner.seed) for runner in self.runners])

    def run(self, progress: ProgressCallback | None = None) -> list[Trained]:
        """Train until every member has stopped."""
        everyone = list(self.runners)
        total = len(everyone)
        self._begin()
        while self.runners:
            losses = self._step()
            self.running += losses
            ended = [i for i, r in enumerate(self.runners) if r.done_steps == r.epoch_steps]
            if ended:
                self._end_epoch(ended)
                if progress is not None:
                    epoch = max(r.n_epochs for r in everyone)
                    progress(epoch, self.recipe.max_epochs, total - len(self.runners))
        return [Trained(r.weights, r.n_epochs, r.best) for r in everyone]

    # ---- buffers -----------------------------------------------------------------------

    def _begin(self) -> None:
        """Allocate the buffers for the present members; old masks and batches are dropped."""
        k = len(self.runners)
        longest = max(runner.epoch_steps for runner in self.runners)
        self.order = np.full((k, longest, self.batch), -1)
        self.running = torch.zeros(k, device=self.recipe.device)
        self.noise = {
            i: np.zeros((_CHUNK, k, self.batch, self.recipe.widths[i]), dtype=np.float32)
            for i in self.sites
        }
        self.counts = torch.tensor(
            [float(len(r.train)) for r in self.runners], device=self.recipe.device
        )

    def _leave(self, gone: set[int]) -> None:
        rows = np.array([i for i in range(len(self.runners)) if i not in gone], dtype=np.int64)
        self.runners = [self.runners[i] for i in rows]
        if self.runners:
            order, running, noise = self.order, self.running, self.noise
            self._begin()
            self.order[:] = order[rows, : self.order.shape[1]]
            self.running[:] = running[torch.from_numpy(rows)]
            for i in self.sites:
                self.noise[i][:] = noise[i][:, rows]
            self.stack.keep(rows)

    # ---- one step ----------------------------------------------------------------------

    def _step(self) -> Tensor:
        recipe, stack = self.recipe, self.stack
        index = np.empty((len(self.runners), self.batch), dtype=np.int64)
        for i, runner in enumerate(self.runners):
            if runner.done_steps == 0:
                runner.fill_epoch(self.order[i, : runner.epoch_steps])
            index[i] = self.order[i, runner.done_steps]
            runner.done_steps += 1
        x, y, weight = self._rows(index)
        masks = self._masks()
        share = weight / weight.sum(dim=1, keepdim=True)
        if recipe.adversarial:
            x.requires_grad_()
        loss = (share * row_losses(forward(recipe, stack.params, x, masks), y)).sum(dim=1)
        if recipe.adversarial:
            # The fast gradient sign method, and the average of both losses.
            (slope,) = torch.autograd.grad(loss.sum(), x, retain_graph=True)
            worse = x.detach() + recipe.adversarial * torch.sign(slope)
            again = row_losses(forward(recipe, stack.params, worse, masks), y)
            loss = 0.5 * (loss + (share * again).sum(dim=1))
        objective = loss
        if recipe.concrete:
            objective = loss + concrete_penalty(recipe, stack.params, self.counts)
        objective.sum().backward()  # type: ignore[no-untyped-call]
        stack.update()
        return loss.detach()

    def _rows(self, index: NDArray[np.int64]) -> tuple[Tensor, Tensor, Tensor]:
        """Return the rows of a batch, (K, rows, ...); padding has weight 0."""
        there = torch.from_numpy(index >= 0).to(self.recipe.device)
        flat = torch.from_numpy(np.maximum(index, 0).reshape(-1)).to(self.recipe.device)
        x = self.X.index_select(0, flat).view(*index.shape, -1)
        y = self.y.index_select(0, flat).view(index.shape)
        weight = self.weight.index_select(0, flat).view(index.shape)
        return x, y, weight * there

    def _masks(self) -> list[Tensor | None]:
        """Return the masks of this step, one before every layer; None without dropout."""
        now = self.stack.step % _CHUNK
        if now == 0:
            self._draw()
        masks: list[Tensor | None] = [None] * len(self.recipe.widths)
        for i in self.sites:
            noise = torch.from_numpy(self.noise[i][now]).to(self.recipe.device)
            if self.recipe.concrete:
                noise = concrete_mask(self.stack.params["rate_logits"][:, i], noise)
            masks[i] = noise
        return masks

    def _draw(self) -> None:
        """Draw the masks of the next steps, or the noise for concrete masks."""
        for i in self.sites:
            kept = max(1, round((1.0 - self.recipe.rates[i]) * 65536))
            for j, runner in enumerate(self.runners):
                shape = (_CHUNK, runner.batch, self.recipe.widths[i])
                drawn = np.frombuffer(runner.masks.bytes(2 * math.prod(shape)), dtype=np.uint16)
                bits, out = drawn.reshape(shape), self.noise[i][:, j, : runner.batch]
                if self.recipe.concrete:
                    out[:] = _LOGISTIC[bits]
                else:
                    np.multiply(bits < kept, np.float32(65536 / kept), out=out)

    # ---- the end of an epoch -----------------------------------------------------------

    def _end_epoch(self, ended: list[int]) -> None:
        means = self.running.cpu().numpy()
        held_out = [i for i in ended if len(self.runners[i].held_out)]
        losses = dict(zip(held_out, self._evaluate(held_out), strict=True))
        better: list[int] = []
        gone: set[int] = set()
        for i in ended:
            runner = self.runners[i]
            loss = losses.get(i, float(means[i]) / runner.epoch_steps)
            if not (math.isfinite(loss) and math.isfinite(means[i])):
                self._raise_diverged(runner, loss)
            runner.done_steps = 0
            runner.n_epochs += 1
            # Without held-out rows the last epoch counts as the best.
            if loss < runner.best or i not in losses:
                runner.best, runner.best_epoch = loss, runner.n_epochs
                better.append(i)
            waited = runner.n_epochs - runner.best_epoch
            if runner.n_epochs == self.recipe.max_epochs or waited >= self.recipe.patience:
                gone.add(i)
            self.running[i] = 0.0
        # Without held-out rows, only the last weights are stored.
        self._keep_best([i for i in better if i in losses or i in gone])
        if gone:
            self._leave(gone)

    def _keep_best(self, better: list[int]) -> None:
        if better:
            for name, view in self.stack.params.items():
                values = view.detach()[torch.tensor(better)].cpu().numpy()
                for i, value in zip(better, values, strict=True):
                    self.runners[i].weights[name] = value

    @torch.no_grad()
    def _evaluate(self, members: list[int]) -> list[float]:
        """Return the mean loss of these members on their held-out rows, without dropout."""
        if not members:
            return []
        params: dict[str, Tensor] = self.stack.params
        if len(members) < len(self.runners):
            params = {name: view[torch.tensor(members)] for name, view in params.items()}
        most = max(len(self.runners[i].held_out) for i in members)
        index = np.full((len(members), most), -1)
        for row, i in zip(index, members, strict=True):
            row[: len(self.runners[i].held_out)] = self.runners[i].held_out
        total = torch.zeros(len(members), dtype=torch.float64, device=self.recipe.device)
        weights = torch.zeros_like(total)
        for start in range(0, most, _BLOCK):
            x, y, weight = self._rows(index[:, start : start + _BLOCK])
            losses = row_losses(
                forward(self.recipe, params, x, [None] * len(self.recipe.widths)), y
            )
            total += (weight * losses).sum(dim=1)
            weights += weight.sum(dim=1)
        return (total / weights).tolist()

    def _raise_diverged(self, runner: _Runner, loss: float) -> None:
        raise DivergenceError(
            f"the loss of network {runner.index} is {loss} in epoch {runner.n_epochs + 1}; "
            f"expected a finite number. Lower learning_rate, {self.recipe.learning_rate:g}, for "
            f"instance to {self.recipe.learning_rate / 10:g}, and look for outliers in X and y: "
            f"both are standardised, so a few huge values make the rest almost equal."
        )
