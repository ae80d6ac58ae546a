"""Greedy acquisition by a value network: DIME (Gadgil, Covert, Lee, ICLR 2024), 'Estimating conditional mutual information for
dynamic feature selection'.

With f, u, S(O) and c_j as in `masked_networks`, buying feature j saves a row with label y

    d_j(x, O, y) = loss(f(u(x, O)), y) - loss(f(u(x, O + items of j)), y)                                        (4)

whose mean given what is seen is, for the best f, the conditional mutual information I(y; x_j | x_S). A second network v learns
it as a regression, while f goes on learning at the purchases that v leads to:

    min_v  E (v_j(u(x, O)) - D_j(x, O))^2,     min_f  E loss(f(u(x, O)), y)                                      (5)

    D_j(x, O) = E d_j(x, O, y) for y as f expects it after the purchase = KL(f after || f before)                (6)

or, of numbers, the squared difference of the two predictions. The paper takes d_j itself, which has the same mean if f is right,
and more noise. Information is at most the entropy H of what f says, so v_j = H(f(u)) g_j(u) for classes, and v_j = g_j(u) for
numbers; the paper puts a sigmoid around g_j. Both changes are in favour of the rival. MiniBooNE, first split, 256 units, 4,000
steps, dropout 0.1, validation error in % at 3, 5 and 8 features: 10.75, 9.41, 8.27 as in the paper (its values vanish after four
features, and so do the gradients of the sigmoid), 8.97, 7.89, 6.89 without the sigmoid, and 8.87, 7.24, 6.49 with (6).
Here g begins with the hidden layers of the pretrained f. A row buys the feature of the largest value per price,

    j = argmax v_j(u(x, O)) / c_j(O)                                                                             (7)

and stops when that is less than a threshold, when the next purchase would exceed its budget, or when the entropy is small
(`acquisition`). In training a random feature is bought with a probability that falls from `MOST_RANDOM` to 0. Each training row
keeps what it owns from one step to the next, and begins again with probability `AGAIN`, so one step of an episode costs one pass
over the rows. Beside the feature of (7), v learns from one feature drawn at random.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.frontier.candidate import Method
from benchmarks.frontier.rivals.acquisition import entropy, trained, tuned
from benchmarks.frontier.rivals.masked_networks import Network, Rows, Table, Tensor, refusal, torch

AGAIN = 0.1
MOST_RANDOM = 0.5


def values_per_price(table: Table, g: Tensor, outputs: Tensor, owned: Tensor) -> tuple[Tensor, Tensor]:
    """(v, v per price); the latter is -inf where there is nothing more to buy."""
    v = entropy(outputs)[:, None] * g if table.problem.n_classes else g
    price = table.next_prices(owned)
    return v, torch().where(price > 0, v / price.clamp(min=1e-9), -torch().inf)


def _expected_saving(table: Table, before: Tensor, after: Tensor) -> Tensor:
    """D of (6), from the outputs before and after a purchase."""
    if not table.problem.n_classes:
        return (after[:, 0] - before[:, 0]) ** 2
    log = after.log_softmax(dim=1)
    return (log.exp() * (log - before.log_softmax(dim=1))).sum(dim=1)


def _score(table: Table, g: Network, outputs: Tensor, seen: Tensor, owned: Tensor) -> Tensor:
    return values_per_price(table, g(seen), outputs, owned)[1]


def _step(table: Table, f: Network, g: Network, optimizers: list[Any], some: Rows, state: Tensor, done: float) -> Tensor:
    """(5)."""
    t = torch()
    here = t.arange(len(some))
    seen = some.seen(table.mask(state))
    f.eval()
    with t.no_grad():
        outputs = f(seen)
    v, worth = values_per_price(table, g(seen), outputs, state)
    best = worth.argmax(dim=1)
    chance = t.rand_like(worth).masked_fill(worth.isinf(), -1).argmax(dim=1)
    after = [t.maximum(state, table.needs[feature]) for feature in (best, chance)]
    with t.no_grad():
        saved = [_expected_saving(table, outputs, f(some.seen(table.mask(owned)))) for owned in after]
    left = (~worth.isinf()).any(dim=1).float()
    loss_v = sum((left * (v[here, j] - d) ** 2).mean() for j, d in zip((best, chance), saved, strict=True))
    state = t.where(t.rand(len(some), 1) < MOST_RANDOM * (1 - done), after[1], after[0])
    f.train()
    loss_f = table.losses(f(some.seen(table.mask(state))), some.y).mean()
    for optimizer, loss in zip(optimizers, (loss_f, loss_v), strict=True):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ended = (t.rand(len(some), 1) < AGAIN) | (left[:, None] == 0)
    return t.where(ended, table.at_start(len(some)), state)


train = partial(trained, step=_step, score=_score, stops_by_value=True)
METHODS = [Method("value network (DIME)", partial(tuned, train=train), refusal=refusal)]
