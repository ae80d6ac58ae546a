"""A predictor that chooses between two nested pruned forests at random: the optimum of LP1's relaxation.

The optimum of LP1's relaxation at the budget B is a mixture of two prunings, with weight mu of the dearer and 1 - mu of the
cheaper:

    B      =  mu cost_dearer   + (1 - mu) cost_cheaper                                                             (1)
    value  =  mu error_dearer  + (1 - mu) error_cheaper      <=      error of every single pruning within B              (2)

If every example is predicted by the dearer forest with probability mu, then (1) is exactly the expected cost on the cost sample,
and (2) the expected error of the trees on the error sample.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if

from formulations.answers.limited_solution import LP1Relaxation
from formulations.arguments import Seed, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from prunemodels.models.forests.problems import apply_pruning

DIGIT_BITS = 32
"""Bits of a uniform random number that are drawn at a time."""


class MixturePredictor(BaseEstimator):  # type: ignore[misc]
    """Predicts each row by the dearer of two forests with probability `weight`, else by the cheaper.

    Parameters
    ----------
    cheaper, dearer
        fitted forests of the same features, and the same classes.
    weight
        mu of (1), 0 <= mu <= 1. A fraction is met exactly, because the draw uses no floats.
    random_state
        seed, or a generator. Equal seeds give equal sequences of choices. A call continues the sequence of the last one, so that
        predicting rows one by one is as random as predicting them together.
    stratified
        predict floor(mu n) or ceil(mu n) rows of each batch of n by the dearer forest, in random order. Each row still has the
        probability mu, but the cost of the batch varies less.

    Notes
    -----
    The disadvantage: the same patient, predicted twice, may get different answers and different tests, and a prediction cannot be
    repeated without a record of its draw. Where that matters, use a single pruning, see `prunemodels.solve`. The advantage: in a
    long edge of the hull a single pruning may leave much of the budget unspent, but the mixture spends all of it.

    The budget is met *in expectation*: the mean cost over many rows differs from B as the mean of that many random draws does.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, forest, problem
    >>> mixture = pm.budgets.mixture_of(pm.solve(problem, budget=10).relaxation, forest, random_state=0)
    >>> mixture.predict(X_test[:5])
    array([0, 1, 1, 1, 1])
    >>> mixture.choose(5)  # for which rows it would ask the dearer forest
    array([ True,  True,  True,  True, False])
    """

    def __init__(
        self,
        cheaper: Any,
        dearer: Any,
        weight: Price,
        random_state: int | np.random.Generator | None = None,
        *,
        stratified: bool = False,
    ) -> None:
        self.cheaper = cheaper
        self.dearer = dearer
        self.weight = _share(weight)
        self.random_state = random_state
        self.stratified = stratified
        _check_pair(cheaper, dearer)
        self._rng = np.random.default_rng(random_state)

    @property
    def n_features_in_(self) -> int:
        """Features of both forests."""
        return int(self.dearer.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features, where the forests were trained with names."""
        names: NDArray[Any] = self.dearer.feature_names_in_
        return names

    @property
    def classes_(self) -> NDArray[Any]:
        """Classes, of classifiers."""
        classes: NDArray[Any] = self.dearer.classes_
        return classes

    @checked
    def choose(self, n: int) -> NDArray[np.bool_]:
        """Draw which forest predicts each of n rows, True for the dearer, so that it is known before any feature is bought.

        Give the answer to `predict` or `predict_proba`.
        """
        if not self.stratified:
            return _exact_draws(self.weight, n, self._rng)
        least, fraction = divmod(self.weight * n, 1)
        dearer = np.arange(n) < least + int(_exact_draws(fraction, 1, self._rng)[0])
        return self._rng.permutation(dearer)

    @checked
    def predict(self, X: Any, *, dearer: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """Predict each row by the forest that `choose` draws for it.

        Parameters
        ----------
        dearer
            bool, shape (n,): choices that `choose` drew before; default: draw them now.

        Raises
        ------
        InvalidInputError
            for choices of another shape or type.
        """
        return np.asarray(self._answers("predict", X, dearer))

    @available_if(lambda self: hasattr(self.dearer, "predict_proba"))
    @checked
    def predict_proba(self, X: Any, *, dearer: NDArray[np.bool_] | None = None) -> Any:
        """Class fractions of each row by the forest that `choose` draws for it; of classifiers, a list of several outputs."""
        return self._answers("predict_proba", X, dearer)

    def _answers(self, method: str, X: Any, dearer: NDArray[np.bool_] | None) -> Any:
        """Predict some rows by one forest and the rest by the other, and join the answers."""
        rows = X if hasattr(X, "shape") else np.asarray(X)
        n = rows.shape[0]
        mask = self.choose(n) if dearer is None else np.asarray(dearer)
        if mask.shape != (n,) or mask.dtype != np.bool_:
            raise InvalidInputError(f"dearer is {mask.dtype} of shape {mask.shape}; give bool, one for each of {n} rows")
        pairs = ((self.cheaper, np.flatnonzero(~mask)), (self.dearer, np.flatnonzero(mask)))
        served = [(forest, some) for forest, some in pairs if some.size] or [(self.dearer, np.arange(n))]
        parts = [getattr(forest, method)(_safe_indexing(rows, some)) for forest, some in served]  # no rows: scikit-learn says so
        order = np.argsort(np.concatenate([some for _, some in served]))
        if isinstance(parts[0], list):  # the probabilities of several outputs
            return [np.concatenate(output)[order] for output in zip(*parts, strict=True)]
        return np.concatenate(parts)[order]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        return self  # there is nothing to fit, and a clone without its forests would be of no use

    def __sklearn_tags__(self) -> Any:
        return self.dearer.__sklearn_tags__()


@checked
def mixture_of(
    relaxation: LP1Relaxation, forest: Any, *, random_state: Seed | np.random.Generator | None = None, stratified: bool = False
) -> MixturePredictor:
    """The optimum of a relaxation as a predictor: both prunings are applied to the forest.

    Parameters
    ----------
    relaxation
        ``solution.relaxation`` of the answer to a budget.
    forest
        the forest that the problem was built from.

    Raises
    ------
    InvalidInputError
        if the forest is another one.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import forest, problem
    >>> solution = pm.solve(problem, budget=10)
    >>> mixture = pm.budgets.mixture_of(solution.relaxation, forest, random_state=0)
    >>> print(f"the dearer forest predicts {100 * float(mixture.weight):.0f} % of the rows")
    the dearer forest predicts 79 % of the rows
    """
    cheaper, dearer = (apply_pruning(pruning, forest) for pruning in (relaxation.cheaper, relaxation.dearer))
    return MixturePredictor(cheaper, dearer, relaxation.weight, random_state, stratified=stratified)


def _exact_draws(weight: Fraction, n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw n times True with exactly the probability `weight`.

    A uniform random number and the weight are compared digit by digit in base 2^DIGIT_BITS; the first digit that differs decides.
    The weight's digits come from exact division, so its denominator may have any size.
    """
    chosen = np.zeros(n, dtype=bool)
    if weight == 1:
        chosen[:] = True
        return chosen
    undecided, rest = np.arange(n), weight
    while undecided.size and rest:  # once the weight has no digits left, the random number is not below it
        digit, rest = divmod(rest * 2**DIGIT_BITS, 1)
        drawn = rng.integers(0, 2**DIGIT_BITS, size=undecided.size, dtype=np.uint64)
        chosen[undecided[drawn < digit]] = True
        undecided = undecided[drawn == digit]
    return chosen


def _share(weight: Price) -> Fraction:
    share = exact(weight, "weight")
    if share > 1:
        raise InvalidInputError(f"weight is {weight!r}, above 1; give the dearer forest's share, from 0 to 1")
    return share


def _check_pair(cheaper: Any, dearer: Any) -> None:
    """Refuse two forests that differ in features, classes or task."""
    for what in ("n_features_in_", "classes_", "feature_names_in_"):
        first, second = getattr(cheaper, what, None), getattr(dearer, what, None)
        if not _are_equal(first, second) or is_classifier(cheaper) != is_classifier(dearer):
            raise InvalidInputError(f"cheaper and dearer differ in {what}: {first} and {second}; give two prunings of one forest")


def _are_equal(first: Any, second: Any) -> bool:
    """Of forests of several outputs one by one: their lists of classes may differ in length."""
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return all(map(np.array_equal, first, second))
    return np.array_equal(first, second)
