"""The stump of least risk at a node (BRF15 Algorithm 1, lines 11-15).

    R(t) = min over stumps g on feature t of  max over outcomes i of  c(t) / (F(S) - F(S_i))                 minimax        (1)
    R(t) = min over stumps g on feature t of  c(t) / (F(S) - sum_i |S_i| / |S| F(S_i))                       expected       (2)

A stump without a gain has infinite risk; if all stumps have, the node is a leaf. Of stumps of equal risk (several features may be
free) the one of larger gain is taken, then the first.

(1) is the paper's. Its conclusion proposes splits by the expected impurity. With the entropy, (2) is the usual information gain
for c(t) = 1, and BP16's cost-weighted entropy with prices.

Which stumps: "randomly generating 80, 40 and 20 stumps if the number of examples exceeds 2000, 500 and less than 500" (BRF15
section 3). Line 12 is inside the loop over features, so these numbers are for each feature. The paper does not say how they are
drawn; here each threshold is uniform between the feature's smallest and largest value at the node, as in extremely randomised
trees. (Drawn from the node's rows instead, single trees on Covertype, class 2 against the rest, erred 24 % instead of 21 %; the
paper's Table 1 has 21 %.)

The impurity F of a set of examples comes from its class counts n_1 ... n_C, with n their sum.

    pairs      F = sum_{i<j} [ [n_i - alpha]_+ [n_j - alpha]_+ - alpha^2 ]_+        threshold-Pairs, BRF15 (11)            (4)
    powers     F = n^l - sum_k n_k^l,  l >= 2                                       BRF15's Powers family                  (5)
    entropy    F = - sum_k (n_k / n) log2 (n_k / n)                                                                        (6)
    gini       F = 1 - sum_k (n_k / n)^2                                                                                   (7)

(4) and (5) are *admissible* (BRF15 section 2.2): F >= 0; F = 0 for examples of one class; as examples are added F does not fall,
nor do its increments; log F = O(log n). BRF15's bound on the cost of a tree holds for those. (6) and (7) do not grow with the set
and have no such bound; ordinary forests use them, and so does BP16.

How we read the paper. The text of (11) at hand has lost the sign before alpha^2. With a plus, a pure set would have
F = alpha^2 > 0 for each pair of classes, although F = 0 for examples of one class; so it is a minus. (11) sums over i != j, which
may count each pair once or twice. Here it is once: at alpha = 0, F is the number of pairs of examples that differ in class. No
split depends on that factor. The supplement, which defines Powers, is not at hand; (5) follows the name, and is admissible.

The scan of a feature for (1) with (4) moves rows from the right to the left, so F(left) never falls and F(right) never rises.
Where F(left) >= F(right) at a stump, the worse outcome is the left one there and beyond. So no later stump gains more, and the
scan stops. Rounding keeps the order of sums and products of numbers >= 0. It need not keep that of the powers in (5), whose scan
goes on.

The price of a split on a feature while a tree is grown:

    c(t) = sum of the prices of the items that feature t needs  +  a_t                                                     (3)

With free reuse, an item counts only if no split above needs it. Items that are paid once for all examples are left out: no
example pays them. The learner's parameters choose among all this: `growing_options`.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.arguments import Count, Range, check_arguments
from formulations.compiled import njit
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from prunemodels.rivals.sklearn_trees import Criterion

PAIRS, POWERS, ENTROPY, GINI = range(4)

MEASURES: dict[str, int] = {"pairs": PAIRS, "powers": POWERS, "entropy": ENTROPY, "gini": GINI}
"""The compiled code of each measure, by name."""


def impurity(counts: ArrayLike, measure: str, *, alpha: float = 0.0, power: float = 2.0) -> NDArray[np.float64]:
    """F of sets of examples: `counts` are numbers or weights >= 0 by class, on the last axis; `measure` is one of `MEASURES`."""
    n: NDArray[np.float64] = np.ascontiguousarray(counts, dtype=np.float64)
    found: NDArray[np.float64] = _impurities(n.reshape(-1, n.shape[-1]), MEASURES[measure], alpha, power)
    return found.reshape(n.shape[:-1])


@njit(cache=True, nogil=True)
def _impurities(sets, measure, alpha, power):  # type: ignore[no-untyped-def]
    """F of each row."""
    found = np.empty(len(sets))
    for k in range(len(sets)):
        found[k] = _impurity(sets[k], measure, alpha, power)
    return found


@njit(cache=True, nogil=True)
def _impurity(counts, measure, alpha, power):  # type: ignore[no-untyped-def]
    if measure == PAIRS:
        return _pairs(counts, alpha)
    n = counts.sum()
    if measure == POWERS:
        rest = n**power
        for count in counts:
            rest -= max(count, 0.0) ** power  # rounding may leave differences of weights slightly below 0
        return max(rest, 0.0)
    total = 0.0
    for count in counts:
        if count > 0.0:
            p = count / n
            total += p * (1.0 - p) if measure == GINI else -p * np.log2(p)
    return total


@njit(cache=True, nogil=True)
def _pairs(counts, alpha):  # type: ignore[no-untyped-def]
    """Threshold-Pairs, (4)."""
    total = 0.0
    for i in range(counts.size):
        over = counts[i] - alpha
        if over > 0.0:
            for j in range(i):
                if counts[j] > alpha:
                    total += max(over * (counts[j] - alpha) - alpha * alpha, 0.0)
    return total


class SplitPrices(NamedTuple):
    """The prices of (3), as arrays for compiled code."""

    first: NDArray[np.int64]  # int64, shape (F + 1,): feature t needs the items ``item[first[t] : first[t + 1]]``.
    item: NDArray[np.int32]  # int32: indices of items.
    price: NDArray[np.float64]  # float64, shape (M,): of the items.
    evaluation: NDArray[np.float64]  # float64, shape (F,): a_t.
    reuse_is_free: bool  # whether items that a split above needs cost nothing.


def split_prices(items: CostItems, evaluation: NDArray[np.float64], reuse_is_free: bool) -> SplitPrices:
    """Prices for growing trees."""
    first = np.concatenate([[0], np.cumsum([len(needed) for needed in items.needs])]).astype(np.int64)
    item = np.array([m for needed in items.needs for m in needed], dtype=np.int32)
    return SplitPrices(first, item, np.where(items.paid_once, 0.0, items.price), evaluation, bool(reuse_is_free))


@njit(cache=True, nogil=True)
def _split_price(t, paid, prices):  # type: ignore[no-untyped-def]
    """(3) of feature t where `paid` items cost nothing."""
    cost = prices.evaluation[t]
    for m in prices.item[prices.first[t] : prices.first[t + 1]]:
        if not paid[m]:
            cost += prices.price[m]
    return cost


@njit(cache=True, nogil=True)
def _mark_paid(node, parent, feature, prices, paid):  # type: ignore[no-untyped-def]
    """Mark the items that the splits above a node need; none if a reused item is charged again."""
    paid[:] = False
    if prices.reuse_is_free:
        while parent[node] >= 0:
            node = parent[node]
            t = feature[node]
            paid[prices.item[prices.first[t] : prices.first[t + 1]]] = True


class SplitRule(NamedTuple):
    """How stumps are judged and which are tried, for compiled code."""

    # measure, alpha, power: the impurity F, see `MEASURES`.
    measure: int
    alpha: float
    power: float
    minimax: bool  # whether splits are judged by (1), or by (2).
    weighted: bool  # whether prices count; if not, c(t) = 1.
    everything: bool  # whether all stumps are tried, or random ones.
    max_features: int  # number of features that are tried, drawn at random; more are tried until one has a gain.
    min_samples_leaf: int  # least number of rows on either side.
    # min_impurity, max_depth: a node of at most this impurity, or with so many splits above it, is a leaf.
    min_impurity: float
    max_depth: int


@njit(cache=True, nogil=True)
def _draw(state):  # type: ignore[no-untyped-def]
    """A random number in [0, 1) by splitmix64. Its state is one integer, and each tree has its own, so threads share none."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.float64(z >> np.uint64(11)) / 9007199254740992.0


@njit(cache=True, nogil=True)
def _n_stumps(n_examples):  # type: ignore[no-untyped-def]
    """The number of stumps for each feature: 80, 40 or 20."""
    if n_examples > 2000:
        return 80
    return 40 if n_examples > 500 else 20


@njit(cache=True, nogil=True)
def _random_place(x, rows, begin, end, state):  # type: ignore[no-untyped-def]
    """The last of the sorted rows that goes left, at a threshold drawn between the least and largest value, which differ."""
    low, high = np.float64(x[rows[begin]]), np.float64(x[rows[end - 1]])
    cut = low + (high - low) * _draw(state)
    last, beyond = begin, end - 1
    while beyond - last > 1:
        middle = (last + beyond) // 2
        if x[rows[middle]] <= cut:
            last = middle
        else:
            beyond = middle
    return last


@njit(cache=True, nogil=True)
def _best_stump(table, order, begin, end, counts, n_examples, paid, rule, prices, features, drawn, state):  # type: ignore[no-untyped-def]
    """Feature and place of the best stump, or -1: rows ``order[t, begin : place + 1]`` go left.

    `order` has the rows sorted by each feature; `features` is any permutation of the features; `drawn` is all false before and
    after.
    """
    n_features = order.shape[0]
    of_node = _impurity(counts, rule.measure, rule.alpha, rule.power)
    least, most, feature, place = np.inf, 0.0, -1, -1
    for k in range(n_features):
        if k >= rule.max_features and feature >= 0:
            break
        # draw the next feature without replacement; features that differ nowhere in the node do not count
        if rule.max_features < n_features:
            other = k + int(_draw(state) * (n_features - k))
            features[k], features[other] = features[other], features[k]
        t = features[k]
        if table.X[t, order[t, begin]] == table.X[t, order[t, end - 1]]:
            continue
        # draw the places where stumps are tried
        if not rule.everything:
            for _ in range(_n_stumps(n_examples)):
                drawn[_random_place(table.X[t], order[t], begin, end, state) - begin] = True
        # the stump with the least price per gain
        gain, where = _best_place(table, order[t], begin, end, t, counts, of_node, rule, drawn)
        if gain > 1e-12 * of_node:  # less is rounding
            risk = (_split_price(t, paid, prices) if rule.weighted else 1.0) / gain
            if risk < least or (risk == least and gain > most):
                least, most, feature, place = risk, gain, t, where
    return feature, place


@njit(cache=True, nogil=True)
def _best_place(table, rows, begin, end, t, counts, of_node, rule, drawn):  # type: ignore[no-untyped-def]
    """The greatest gain on a feature (the denominator in (1) or (2)), and the place of its stump, the first of equal ones."""
    x, n, may_stop = table.X[t], counts.sum(), rule.minimax and rule.measure == PAIRS
    left, right = np.zeros(counts.size), counts.copy()
    most, where, wanted = 0.0, -1, False
    # rows move from right to left one by one, in the order of the feature
    for place in range(begin, end - 1):
        i = rows[place]
        left[table.y[i]] += table.weight[i]
        right[table.y[i]] -= table.weight[i]
        wanted = wanted or rule.everything or drawn[place - begin]
        # stumps lie between different values only; a drawn place among equal ones means the next such
        if x[rows[place + 1]] > x[i]:
            smaller_side = min(place + 1 - begin, end - 1 - place)
            if wanted and smaller_side >= rule.min_samples_leaf:
                of_left = _impurity(left, rule.measure, rule.alpha, rule.power)
                of_right = _impurity(right, rule.measure, rule.alpha, rule.power)
                expected = (left.sum() * of_left + right.sum() * of_right) / n
                gain = of_node - (max(of_left, of_right) if rule.minimax else expected)
                if gain > most:
                    most, where = gain, place
                # from here on the left side is the worse one, and only gets worse
                if may_stop and of_left >= of_right:
                    break
            wanted = False
    drawn[: end - begin] = False
    return most, where


Impurity = Literal["pairs", "powers", "entropy", "gini", "cost_weighted_entropy", "cost_weighted_gini"]
Splits = Literal["random", "all"]
Outcome = Literal["minimax", "expected"]
ForestVote = Literal["majority", "mean", "counts"]

NO_LIMIT = np.iinfo(np.int32).max


class ImpurityKind(NamedTuple):
    """One choice of the parameter `impurity`.

    F, see `MEASURES`; whether splits are judged by the worst outcome unless the user says otherwise; whether prices count; and
    the impurity that scikit-learn's trees store for a node.
    """

    measure: int
    minimax: bool
    weighted: bool
    criterion: Criterion


IMPURITIES: dict[str, ImpurityKind] = {
    "pairs": ImpurityKind(PAIRS, True, True, "gini"),
    "powers": ImpurityKind(POWERS, True, True, "gini"),
    "entropy": ImpurityKind(ENTROPY, False, False, "entropy"),
    "gini": ImpurityKind(GINI, False, False, "gini"),
    "cost_weighted_entropy": ImpurityKind(ENTROPY, False, True, "entropy"),
    "cost_weighted_gini": ImpurityKind(GINI, False, True, "gini"),
}


SETTINGS: dict[str, Any] = {
    "impurity": Impurity,
    "splits": Splits,
    "outcome": Outcome | None,
    "alpha": Annotated[float, Range(0, math.inf, open_above=True)],
    "power": Annotated[float, Range(2, math.inf, open_above=True)],
    "min_impurity": Annotated[float, Range(0, math.inf, open_above=True)],
    "min_samples_leaf": Count,
    "max_depth": Count | None,
    "n_estimators": Count,
    "vote": ForestVote,
}
"""What each setting has to be."""


def growing_options(learner: Any, n_features: int) -> tuple[SplitRule, Criterion]:
    """Check the parameters of a `BudgetRFClassifier`: how trees grow, and what scikit-learn's trees store."""
    check_arguments(learner, SETTINGS)
    kind = IMPURITIES[learner.impurity]
    rule = SplitRule(
        measure=kind.measure,
        alpha=float(learner.alpha),
        power=float(learner.power),
        minimax=kind.minimax if learner.outcome is None else learner.outcome == "minimax",
        weighted=kind.weighted,
        everything=learner.splits == "all",
        max_features=_max_features(learner.max_features, n_features),
        min_samples_leaf=min(int(learner.min_samples_leaf), NO_LIMIT),
        min_impurity=float(learner.min_impurity),
        max_depth=NO_LIMIT if learner.max_depth is None else min(int(learner.max_depth), NO_LIMIT),
    )
    return rule, kind.criterion


def _max_features(value: Any, n_features: int) -> int:
    """The number of features, from any value that scikit-learn's forests accept."""
    if value is None:
        return n_features
    if value in ("sqrt", "log2"):
        return max(1, int(np.sqrt(n_features) if value == "sqrt" else np.log2(n_features)))
    if not isinstance(value, bool) and isinstance(value, Integral) and 1 <= int(value) <= n_features:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral) and 0 < float(value) <= 1:
        return max(1, int(float(value) * n_features))
    raise InvalidInputError(
        f"max_features is {value!r}; give an integer from 1 to {n_features} (the features), a share in (0, 1], 'sqrt', 'log2' or "
        "None for all"
    )
