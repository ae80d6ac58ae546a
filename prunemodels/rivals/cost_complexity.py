"""Two prunings of every tree that do not know prices: early stopping by impurity, and cost-complexity pruning.

Early stopping, applied to grown trees, is BP16's naive pruning of BudgetRF:

    h stays a split exactly where the impurity of h and of all its ancestors exceeds the threshold                     (1)

BP16 (section 5): "the recursive node splitting process for each tree is stopped as soon as node impurity (entropy or Pairs) falls
below a threshold". Growing is greedy, so a tree that was stopped is its full tree pruned by (1), and one forest gives the results
of all thresholds; that is ours. (For trees that draw random numbers while they grow, it is one of the possible results.)

Cost-complexity pruning of every tree at one alpha is that of Breiman et al. (1984), section 3.3:

    each tree by itself:  minimise  R(tree) + alpha * (number of its leaves),      R = sum over its leaves of R(h)         (2)

BP16 (section 5) compares with it: it "trades off classification ability for tree size" and does not know prices. With
measure="error", R(h) is the node's part of its tree's error on the problem's error sample, as in Breiman and as in optimal
pruning. With measure="impurity" it is w_h / w_root times the impurity that scikit-learn's tree stores at h, by which scikit-learn
prunes. BP16 prunes "individual trees to different levels". Two choices are ours: one alpha for all trees, and that (2) is solved
in integers.

Breiman's weakest links, for all splits of all trees by one bottom-up pass: pruning a tree by its complexity alone is a closure in
which every kept split pays the same price, one more leaf:

    maximise  sum of (gain_h - alpha) over kept splits h                                                           (3)

and the optimum shrinks as alpha grows. Splits fall into blocks that are pruned together, each at

    alpha = (sum of the block's gains) / (its number of splits),                                                   (4)

where no block is below one of smaller alpha. Going bottom-up, a split starts as a block of its own and absorbs the block of
largest alpha right below it while that exceeds its own alpha (Pardalos and Xue 1999: isotonic regression on a tree). Blocks are
kept in mergeable heaps, so n splits take O(n log n). Weakest-link pruning (Breiman et al. 1984, section 3.3) removes the same
splits at the same alphas, block by block, with a search over the tree for each.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.answers.nested_prunings import PruningSequence
from formulations.arguments import checked
from formulations.compiled import njit
from formulations.errors import InvalidInputError
from formulations.instance.cost_sample import real_array
from formulations.instance.ensemble import Ensemble
from formulations.instance.problem import PruningProblem
from prunemodels.models.forests.reading import read_forest, tree_views
from prunemodels.rivals.stumps import impurity

Criterion = Literal["stored", "entropy", "gini", "pairs"]

Floats = NDArray[np.float64]


def node_impurities(ensemble: Ensemble, criterion: Criterion | ArrayLike, forest: Any = None) -> Floats:
    """The impurity of every node, shape (n,).

    Entropy, Gini and Pairs are (6), (7) and (5) of `prunemodels.rivals.stumps`, with alpha = 0, where each pair of classes counts
    once; BRF15 may mean twice. "stored" is what scikit-learn's trees store, by the criterion and weights that they grew with.
    Arguments are those of `early_stopping_path`, the forest is not needed for entropy and Gini.
    """
    if not isinstance(criterion, str):
        return _given(ensemble, criterion)
    if criterion == "stored":
        return stored(ensemble, forest, "impurity")
    fractions = _class_fractions(ensemble, criterion)
    if criterion != "pairs":
        return impurity(fractions, criterion)
    counts = fractions * stored(ensemble, forest, "weighted_n_node_samples")[:, None]
    # counts are mostly integers: rounding gives equal sets equal numbers
    return impurity(counts.round(9), "pairs")


def stored(ensemble: Ensemble, forest: Any, what: Literal["impurity", "weighted_n_node_samples"]) -> Floats:
    """The stored impurity, or the weight of each node's training examples, shape (n,)."""
    if forest is None:
        raise InvalidInputError("forest is missing: give the fitted forest that the problem was built from")
    theirs = read_forest(forest)
    arrays = ("tree_start", "left", "right", "feature", "threshold")
    if not all(np.array_equal(getattr(ensemble, a), getattr(theirs, a)) for a in arrays):
        raise InvalidInputError(
            f"the forest has other trees ({theirs!r}) than the problem ({ensemble!r}); "
            "give the forest that the problem was built from"
        )
    return np.concatenate([getattr(view.estimator.tree_, what) for view in tree_views(forest)]).astype(np.float64)


def _given(ensemble: Ensemble, numbers: ArrayLike) -> Floats:
    """Check an array of impurities."""
    try:
        impurity = real_array(numbers, "criterion").astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"criterion is not numeric ({error}); give one number for each node") from error
    if impurity.shape != (ensemble.n_nodes,):
        raise InvalidInputError(f"criterion has shape {impurity.shape}; give one number for each of {ensemble.n_nodes} nodes")
    bad = np.flatnonzero(~(np.isfinite(impurity) & (impurity >= 0)))
    if bad.size:
        raise InvalidInputError(f"criterion[{bad[0]}] is {impurity[bad[0]]}; an impurity is finite and >= 0")
    return impurity


def _class_fractions(ensemble: Ensemble, criterion: str) -> Floats:
    """The nodes' values, where they are class fractions."""
    value = ensemble.value
    if ensemble.task != "classification":
        raise InvalidInputError(f"criterion is {criterion!r}, which is of classes; give 'stored' and the forest for a regressor")
    if (value < 0).any() or not np.allclose(value.sum(axis=1), 1.0):
        h = int(np.argmax((value < 0).any(axis=1) | ~np.isclose(value.sum(axis=1), 1.0)))
        raise InvalidInputError(f"node {h} predicts {value[h].tolist()}, no class fractions; give criterion as one number a node")
    return value


@checked
def early_stopping_path(
    problem: PruningProblem, forest: Any = None, *, criterion: Criterion | ArrayLike = "entropy"
) -> PruningSequence:
    """All prunings of a forest by (1), for every threshold >= 0.

    Parameters
    ----------
    forest
        the forest that the problem was built from; not needed for ``"entropy"`` and ``"gini"``.
    criterion
        ``"entropy"`` in bits, ``"gini"``, ``"pairs"`` (BRF15 eq. 11, alpha = 0), ``"stored"`` (what scikit-learn's trees store,
        those of regressors included), or the impurity of every node, shape (n,).

    Returns
    -------
    PruningSequence
        row k is (1) for thresholds from ``parameter[k]`` up to the next; row 0 has threshold 0.

    Raises
    ------
    InvalidInputError
        for another criterion, invalid numbers, a missing or another forest, or values that are no class fractions.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import forest, problem
    >>> pm.rivals.early_stopping_path(problem, forest).at_cost(12)
    Pruning(cost=11.7267, error=0.077, 17 splits)
    """
    ensemble = problem.ensemble
    least = node_impurities(ensemble, criterion, forest).copy()
    by_depth = np.argsort(ensemble.depth, kind="stable")
    for nodes in np.split(by_depth, np.flatnonzero(np.diff(ensemble.depth[by_depth])) + 1)[1:]:
        least[nodes] = np.minimum(least[nodes], least[ensemble.parent[nodes]])
    threshold = np.unique(np.concatenate([[0.0], least[ensemble.is_split]]))
    rows_kept = np.where(ensemble.is_split, np.searchsorted(threshold, least), 0).astype(np.int32)
    name = criterion if isinstance(criterion, str) else "given impurity"
    return PruningSequence(problem, rows_kept, threshold, "threshold", f"early stopping ({name})")


def ranks(numerator: NDArray[np.int64], denominator: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort distinct ratios upwards.

    Returns
    -------
    first
        the place at which each distinct ratio occurs first, in the order of the ratios.
    rank
        the place of every ratio among the distinct ones.
    """
    common = np.gcd(numerator, denominator)
    pairs = np.stack([numerator // common, denominator // common], axis=1)
    distinct, first, place = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    order = _ascending(distinct[:, 0], distinct[:, 1])
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return first[order], rank[place.reshape(-1)]


def _ascending(numerator: NDArray[np.int64], denominator: NDArray[np.int64]) -> NDArray[np.int64]:
    """Order of distinct ratios: a float division is monotone, so only ratios of equal floats need fractions."""
    value = numerator / denominator
    order = np.argsort(value, kind="stable")
    same = np.concatenate([[False], value[order][1:] == value[order][:-1], [False]]).astype(np.int8)
    change = np.diff(same)
    for start, stop in zip(np.flatnonzero(change == 1), np.flatnonzero(change == -1) + 1, strict=True):
        run = order[start:stop].tolist()
        run.sort(key=lambda k: Fraction(int(numerator[k]), int(denominator[k])))
        order[start:stop] = run
    return order


@njit(cache=True)
def less(a, b, c, d):  # type: ignore[no-untyped-def]
    """Whether a / b < c / d, for b, d > 0: by continued fractions, so that no product can overflow."""
    while True:
        p, q = a // b, c // d
        if p != q:
            return p < q
        a, c = a - p * b, c - q * d  # both remainders are in [0, 1)
        if c == 0:
            return False
        if a == 0:
            return True
        a, b, c, d = d, c, b, a  # a / b < c / d where d / c < b / a


def weakest_links(ensemble: Ensemble, gain: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The alpha (4) at which each split is pruned: the smallest optimum of (3) keeps it exactly for smaller alphas.

    Parameters
    ----------
    gain
        shape (n,): by how much each split lowers the tree's error, or impurity, in integers whose sum is below 2^53.

    Returns
    -------
    numerator, denominator
        of (4), shape (n,), not reduced; 0 / 1 at leaves.
    """
    numerator, denominator = gain.astype(np.int64), np.ones(ensemble.n_nodes, dtype=np.int64)
    numerator[~ensemble.is_split] = 0
    swallowed = np.zeros(ensemble.n_nodes, dtype=np.bool_)
    _blocks(ensemble.left, ensemble.right, numerator, denominator, swallowed)
    _spread(ensemble.parent, swallowed, numerator, denominator)
    return numerator, denominator


@njit(cache=True)
def _blocks(left, right, numerator, denominator, swallowed):  # type: ignore[no-untyped-def]
    """Children before parents: the block of each split, stored at its top; the blocks below it are in a skew heap by alpha."""
    n = left.shape[0]
    below = np.full(n, -1, dtype=np.int32)
    smaller = np.full(n, -1, dtype=np.int32)
    others = np.full(n, -1, dtype=np.int32)
    for h in range(n - 1, -1, -1):
        if left[h] < 0:
            continue
        heap = np.int32(-1)  # as the numbers of splits are, so that `_meld` is compiled once
        for child in (left[h], right[h]):
            if left[child] >= 0:
                heap = _meld(heap, child, numerator, denominator, smaller, others)
        while heap >= 0 and less(numerator[h], denominator[h], numerator[heap], denominator[heap]):
            block = heap
            heap = _meld(smaller[block], others[block], numerator, denominator, smaller, others)
            heap = _meld(heap, below[block], numerator, denominator, smaller, others)
            numerator[h] += numerator[block]
            denominator[h] += denominator[block]
            swallowed[block] = True
        below[h] = heap


@njit(cache=True)
def _meld(a, b, numerator, denominator, smaller, others):  # type: ignore[no-untyped-def]
    """Merge two skew heaps of blocks; -1 is the empty heap."""
    if a < 0 or b < 0:
        return max(a, b)
    # a is from here on the block on top
    if less(numerator[a], denominator[a], numerator[b], denominator[b]):
        a, b = b, a
    root = a
    # down the right spine, where the two children change places (Sleator and Tarjan 1986)
    while True:
        rest = others[a]
        others[a] = smaller[a]
        if rest < 0:
            smaller[a] = b
            return root
        if less(numerator[rest], denominator[rest], numerator[b], denominator[b]):
            rest, b = b, rest
        smaller[a] = rest
        a = rest


@njit(cache=True)
def _spread(parent, swallowed, numerator, denominator):  # type: ignore[no-untyped-def]
    """Parents before children: copy a block's alpha to all of its splits."""
    for h in range(parent.shape[0]):
        if swallowed[h]:
            numerator[h] = numerator[parent[h]]
            denominator[h] = denominator[parent[h]]


Measure = Literal["error", "impurity"]


@checked
def cost_complexity_path(problem: PruningProblem, *, measure: Measure = "error", forest: Any = None) -> PruningSequence:
    """All prunings of a forest by (2), for every alpha >= 0, without regard to prices.

    Parameters
    ----------
    problem
        the instance, with the node errors, and the prices by which the prunings are reported.
    measure
        ``"error"``: R is the error of the tree. ``"impurity"``: R is the impurity that scikit-learn's ``ccp_alpha`` refers to.
    forest
        the forest that the problem was built from; for ``"impurity"`` only.

    Returns
    -------
    PruningSequence
        row k is the smallest optimum of (2) for alpha from ``parameter[k]`` up to the next. Alpha is error (or impurity) of one
        tree for one leaf, as ``ccp_alpha`` is; row 0 has alpha = 0, so splits without gain are gone (scikit-learn's trees with
        ``ccp_alpha=0`` are not pruned at all). Ties of errors that are counts are exact, others up to rounding at the 50th bit.

    Raises
    ------
    InvalidInputError
        for another measure, and with ``"impurity"`` for a missing or another forest.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> pm.rivals.cost_complexity_path(problem).at_cost(12)
    Pruning(cost=11.6667, error=0.0855, 12 splits)
    """
    ensemble = problem.ensemble
    if measure == "error":
        gain, unit = problem.numbers.gain, problem.numbers.gain_unit
        if not problem.numbers.exact:
            gain, unit = _rounded(ensemble, gain)
        unit *= ensemble.n_trees
    else:
        gain, unit = _rounded(ensemble, _impurity_gain(problem, forest))
    numerator, denominator = weakest_links(ensemble, gain)
    gaining = np.flatnonzero(ensemble.is_split & (numerator > 0))
    first, rank = ranks(numerator[gaining], denominator[gaining])
    rows_kept = np.zeros(ensemble.n_nodes, dtype=np.int32)
    rows_kept[gaining] = rank + 1  # row 0 belongs to alpha = 0
    at = gaining[first]
    alphas = [float(int(a) * unit / int(b)) for a, b in zip(numerator[at], denominator[at], strict=True)]
    return PruningSequence(problem, rows_kept, np.array([0.0, *alphas]), "alpha", f"cost-complexity pruning ({measure})")


def _impurity_gain(problem: PruningProblem, forest: Any) -> NDArray[np.float64]:
    """By how much each split lowers its tree's impurity."""
    ensemble = problem.ensemble
    impurity = stored(ensemble, forest, "impurity")
    weight = stored(ensemble, forest, "weighted_n_node_samples")
    return ensemble.gains(impurity * weight / weight[ensemble.roots][ensemble.tree_of])


def _rounded(ensemble: Ensemble, gain: NDArray[np.float64]) -> tuple[NDArray[np.int64], Fraction]:
    """Gains in integers, and their unit: 2^-50 of the largest tree's gain, which is about the precision of floats."""
    largest = float(np.bincount(ensemble.tree_of, weights=np.abs(gain)).max()) or 1.0
    unit = float(2.0 ** np.ceil(np.log2(largest))) * 2.0**-50
    return np.rint(gain / unit).astype(np.int64), Fraction(unit)
