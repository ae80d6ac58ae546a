"""Networks that see of a row only what it has bought: what the two rivals with networks share.

A row owns a set O of cost items, and sees the features S(O) whose items it owns all. Where m_j = [j in S(O)], and k_j tells
whether cell j is there at all, a network is given

    u(x, O) = (m_j k_j x_j)_j, (m_j (2 k_j - 1))_j                                                               (1)

with columns x_j scaled to mean 0 and deviation 1. A predictor f ends in a softmax, or in one number. It first learns from
random purchases: each item is owned with probability r^2, where r is uniform, so that small purchases are frequent:

    min_f  E loss(f(u(x, O)), y)                                                                                 (2)

The loss is the log loss, or the squared error of numbers scaled to deviation 1. Buying feature j next costs a row what it does
not own yet, which is the feature's price where no items are shared; the papers know only such prices:

    c_j(O) = sum of p_i over the items i of feature j that are not in O                                          (3)

What costs nothing is owned from the start. Each network has two hidden layers with dropout and is trained by Adam, with a
learning rate that falls to 0 as half a cosine, in one thread, so that a seed gives the same network again.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from benchmarks.frontier.candidate import Value
from benchmarks.frontier.problem import Problem
from formulations.errors import MissingPackageError
from formulations.extras import package

FARTHEST = 4.0  # scaled columns are cut at so many deviations
BATCH = 256
Tensor = Any
Network = Any


def torch() -> Any:
    return package("torch")


def refusal(problem: Problem) -> str | None:
    """Why a method with networks cannot run here; None if it can."""
    try:
        torch()
    except MissingPackageError as error:
        return str(error)
    return None if problem.full_price > 0 else "all features are free"


@dataclass(frozen=True)
class Setting:
    """What is tuned: hidden units of a layer, steps of each of the two trainings, largest learning rate, dropout."""

    width: int
    steps: int
    rate: float
    dropout: float

    @property
    def params(self) -> dict[str, Value]:
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class Rows:
    """Scaled examples: cells (0 where missing), 1 for what is there and -1 for what is missing, labels."""

    x: Tensor
    known: Tensor
    y: Tensor

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: Tensor) -> Rows:
        return Rows(self.x[rows], self.known[rows], self.y[rows])

    def seen(self, mask: Tensor) -> Tensor:
        """The input (1) for features whose mask is 1; between 0 and 1 for relaxed purchases."""
        return torch().cat([self.x * mask, self.known * mask], dim=1)


@dataclass(frozen=True, eq=False)
class Table:
    problem: Problem

    @cached_property
    def _scale(self) -> Any:
        large = [QuantileTransformer(output_distribution="normal", random_state=0), StandardScaler()]
        X: Any = self.problem.train.X
        fitted = []
        for scale in large[1:] if self.problem.is_small else large:
            X = scale.fit_transform(X)
            fitted.append(scale)
        return fitted

    @cached_property
    def spread(self) -> tuple[float, float]:
        """Mean and deviation of numbers that are predicted."""
        y = self.problem.train.y
        return float(np.mean(y)), float(np.std(y)) or 1.0

    def rows(self, part: Any) -> Rows:
        X = part.X
        for scale in self._scale:
            X = scale.transform(X)
        known = ~np.isnan(X)
        cells = np.clip(np.where(known, X, 0.0), -FARTHEST, FARTHEST).astype(np.float32)
        labels = part.y if self.problem.n_classes else ((part.y - self.spread[0]) / self.spread[1]).astype(np.float32)
        tensor = torch().from_numpy
        return Rows(tensor(cells), tensor(np.where(known, 1, -1).astype(np.float32)), tensor(np.asarray(labels)))

    @cached_property
    def needs(self) -> Tensor:
        """1 where a feature needs an item, shape (n_features, n_items)."""
        found = np.zeros((self.problem.n_features, self.problem.costs.n_items), dtype=np.float32)
        for f, items in enumerate(self.problem.costs.needs):
            found[f, list(items)] = 1
        return torch().from_numpy(found)

    @cached_property
    def price(self) -> Tensor:
        return torch().tensor([float(p) for p in self.problem.costs.prices])

    def mask(self, owned: Tensor) -> Tensor:
        return ((1 - owned) @ self.needs.T == 0).float()

    def next_prices(self, owned: Tensor) -> Tensor:
        """The prices (3), shape (N, n_features)."""
        return ((1 - owned) * self.price) @ self.needs.T

    def at_start(self, n_rows: int) -> Tensor:
        """What N rows own before they buy."""
        return (self.price == 0).float().repeat(n_rows, 1)

    def bought_at_random(self, n_rows: int) -> Tensor:
        """The random purchases of (2)."""
        share = torch().rand(n_rows, 1) ** 2
        return torch().maximum(self.at_start(n_rows), (torch().rand(n_rows, len(self.price)) < share).float())

    def losses(self, outputs: Tensor, y: Tensor) -> Tensor:
        if self.problem.n_classes:
            return torch().nn.functional.cross_entropy(outputs, y, reduction="none")
        return (outputs[:, 0] - y) ** 2

    def predictions(self, outputs: Tensor) -> NDArray[np.float64]:
        """Probabilities, or numbers in the unit of the labels."""
        if self.problem.n_classes:
            return np.asarray(outputs.double().softmax(dim=1).numpy())
        return np.asarray(outputs[:, 0].double().numpy()) * self.spread[1] + self.spread[0]


@contextmanager
def one_thread(seed: int) -> Iterator[None]:
    """Torch with one thread and random numbers of this seed; afterwards as before."""
    before = torch().get_num_threads()
    torch().set_num_threads(1)
    try:
        with torch().random.fork_rng(devices=[]):
            torch().manual_seed(seed)
            yield
    finally:
        torch().set_num_threads(before)


def network(inputs: int, outputs: int, setting: Setting) -> Network:
    """Two hidden layers."""
    nn, sizes, layers = torch().nn, (inputs, setting.width, setting.width), []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU(), nn.Dropout(setting.dropout)]
    return nn.Sequential(*layers, nn.Linear(setting.width, outputs))


def with_other_outputs(trained: Network, outputs: int) -> Network:
    """A network that begins with the hidden layers of a trained one."""
    layers = list(copy.deepcopy(trained))
    return torch().nn.Sequential(*layers[:-1], torch().nn.Linear(layers[-1].in_features, outputs))


def batches(n_rows: int, optimizers: list[Any], setting: Setting) -> Iterator[tuple[Tensor, float]]:
    """Row numbers of each step, and the share of the steps that are done; sets the learning rate."""
    order, place = torch().randperm(n_rows), 0
    for step in range(setting.steps):
        done = step / setting.steps
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = setting.rate * (1 + math.cos(math.pi * done)) / 2
        if place >= n_rows:
            order, place = torch().randperm(n_rows), 0
        yield order[place : place + BATCH], done
        place += BATCH


def pretrained(table: Table, train: Rows, setting: Setting) -> Network:
    """A predictor that learned from random purchases, (2)."""
    f = network(2 * table.problem.n_features, table.problem.n_classes or 1, setting)
    optimizer = torch().optim.Adam(f.parameters(), lr=setting.rate)
    for rows, _ in batches(len(train), [optimizer], setting):
        some = train.take(rows)
        optimizer.zero_grad()
        table.losses(f(some.seen(table.mask(table.bought_at_random(len(rows))))), some.y).mean().backward()
        optimizer.step()
    return f
