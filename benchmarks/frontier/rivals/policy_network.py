"""Greedy dynamic feature selection by a policy network: GDFS (Covert, Qiu, Lu, Kim, White, Lee, ICML 2023), 'Learning to maximize
mutual information for dynamic feature selection'.

With f, u, S(O) and c_j as in `masked_networks`, a policy q gives each feature that a row has not bought a logit. It buys one
feature by a relaxed draw from the Concrete distribution at temperature tau, with G_j from Gumbel's distribution,

    w = softmax((log softmax q(u(x, O)) + G) / tau)                                                              (4)

whose weights enter the mask in place of 0: m_j + w_j. Where all prices are equal, f and q minimise together the loss after one
more purchase, at the purchases that q leads to (the row then owns the feature of the largest w_j):

    min_{f, q}  E loss(f(u(x, O + w)), y)                                                                        (5)

The paper has no other prices. Where they differ, f minimises (5), and q the loss that is saved per price,

    min_q  E (loss(f(u(x, O + w)), y) - loss(f(u(x, O)), y)) sum_j w_j c / c_j(O)                                (6)

with the mean price c. At equal prices (6) has the same minimum as (5), since the loss before the purchase does not depend on w.
The temperature falls from `HOT` to `COLD` in steps of equal ratio; q begins with the hidden layers of the pretrained f. A row
buys the feature of the largest logit. It stops when the next purchase would exceed its budget, which at unit prices is a number
of features, or, for classes, when the entropy of what f says is small (`acquisition`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.frontier.candidate import Method
from benchmarks.frontier.rivals.acquisition import trained, tuned
from benchmarks.frontier.rivals.masked_networks import Network, Rows, Table, Tensor, refusal, torch

AGAIN = 0.1  # probability that a training row begins again
HOT, COLD = 2.0, 0.2


def logits(table: Table, q: Tensor, owned: Tensor) -> Tensor:
    """The policy's logits; -inf for what a row has."""
    return q.masked_fill(table.next_prices(owned) == 0, -torch().inf)


def _score(table: Table, q: Network, outputs: Tensor, seen: Tensor, owned: Tensor) -> Tensor:
    return logits(table, q(seen), owned)


def _step(table: Table, f: Network, q: Network, optimizers: list[Any], some: Rows, state: Tensor, done: float) -> Tensor:
    """(5) and (6)."""
    t, temperature = torch(), HOT * (COLD / HOT) ** done
    ended = (table.next_prices(state) == 0).all(dim=1, keepdim=True) | (t.rand(len(some), 1) < AGAIN)
    state = t.where(ended, table.at_start(len(some)), state)
    mask, price = table.mask(state), table.next_prices(state)
    seen = some.seen(mask)
    gumbel = -(-t.rand(mask.shape).clamp(min=1e-9).log()).log()
    w = ((logits(table, q(seen), state).log_softmax(dim=1) + gumbel) / temperature).softmax(dim=1)  # (4)
    with t.no_grad():
        before = table.losses(f(seen), some.y)
    after = table.losses(f(some.seen(mask + w)), some.y)
    mean_price = table.problem.alone.mean()
    per_price = (w * t.where(price > 0, mean_price / price.clamp(min=1e-9), 0.0)).sum(dim=1)
    for optimizer in optimizers:
        optimizer.zero_grad()
    ((after - before) * per_price).mean().backward(inputs=list(q.parameters()), retain_graph=True)  # (6)
    after.mean().backward(inputs=list(f.parameters()))  # (5)
    for optimizer in optimizers:
        optimizer.step()
    return t.maximum(state, table.needs[w.argmax(dim=1)])


train = partial(trained, step=_step, score=_score, stops_by_value=False)
METHODS = [Method("policy network (GDFS)", partial(tuned, train=train), refusal=refusal)]
