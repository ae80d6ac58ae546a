"""Two nested pruned forests, served at random: the relaxation's optimum as a predictor.

The optimum of LP1's relaxation at the budget B is a mixture of two prunings, mu of the dearer and 1 - mu of the cheaper, with

    B      =  mu cost_dearer   + (1 - mu) cost_cheaper                                                             (1)
    value  =  mu error_dearer  + (1 - mu) error_cheaper      <=      error of every single pruning within B              (2)

Serve each example by the dearer forest with probability mu, whatever the example, and (1) and (2) are the expected cost on
the cost sample, exactly, and the expected error of the trees on the error sample.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if

from formulations.answers.budget_solution import Mixture
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from prunemodels.forests.surgery import apply_pruning

DIGIT_BITS = 32
"""Bits of a coin that are tossed at a time."""


class MixturePredictor(BaseEstimator):  # type: ignore[misc]
    """Serves each row by the dearer of two forests with probability `weight`, else by the cheaper.

    Parameters
    ----------
    cheaper, dearer
        fitted forests of the same features, and the same classes.
    weight
        mu of (1), 0 <= mu <= 1. A fraction is met exactly: no float takes part in the draw.
    random_state
        seed, or a generator. Equal seeds give equal sequences of choices. The choices go on from call to call, so that serving
        rows one by one is as random as serving them together.
    stratified
        serve floor(mu n) or ceil(mu n) rows of each batch of n by the dearer forest, in random order: each row has the same
        probability mu, but the batch's cost varies less.

    Notes
    -----
    Why one would not want it: the same patient, asked about twice, may get different answers and different tests; and a
    prediction cannot be repeated without the record of its draw. Where that matters take a single pruning, see `solve_budget`.
    Why one would: in long hull edges a single pruning may leave much of the budget unspent, the mixture nothing.

    The budget is met *in expectation*: over many rows the mean cost comes as close to B as the mean of that many random draws.
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

    def choose(self, n: int) -> NDArray[np.bool_]:
        """Draw for n rows which forest serves them, True: the dearer; so that it is known before anything is bought.

        Hand the answer to `predict` or `predict_proba`.
        """
        if not self.stratified:
            return _coins(self.weight, n, self._rng)
        whole, rest = divmod(self.weight * n, 1)
        dearer = np.arange(n) < whole + int(_coins(rest, 1, self._rng)[0])
        return self._rng.permutation(dearer)

    def predict(self, X: Any, *, dearer: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """Predict each row by the forest that `choose` gives it.

        Parameters
        ----------
        dearer
            bool, shape (n,): choices that were drawn before; default: drawn now.

        Raises
        ------
        InvalidInputError
            for choices of another shape or type.
        """
        return self._served("predict", X, dearer)

    @available_if(lambda self: hasattr(self.dearer, "predict_proba"))
    def predict_proba(self, X: Any, *, dearer: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """Class fractions of each row from the forest that `choose` gives it; of classifiers."""
        return self._served("predict_proba", X, dearer)

    def _served(self, method: str, X: Any, dearer: NDArray[np.bool_] | None) -> NDArray[Any]:
        """Rows by the one forest and by the other, put together."""
        rows = X if hasattr(X, "shape") else np.asarray(X)
        n = rows.shape[0]
        mask = self.choose(n) if dearer is None else np.asarray(dearer)
        if mask.shape != (n,) or mask.dtype != np.bool_:
            raise InvalidInputError(f"dearer is {mask.dtype} of shape {mask.shape}; give bool, one for each of {n} rows")
        answer: NDArray[Any] | None = None
        for forest, served in ((self.cheaper, np.flatnonzero(~mask)), (self.dearer, np.flatnonzero(mask))):
            if served.size:
                part = np.asarray(getattr(forest, method)(_safe_indexing(rows, served)))
                answer = np.empty((n, *part.shape[1:]), dtype=part.dtype) if answer is None else answer
                answer[served] = part
        return np.asarray(getattr(self.dearer, method)(rows)) if answer is None else answer  # the forest refuses no rows

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        return self  # fitted once for all: a clone without its forests would be of no use

    def __sklearn_tags__(self) -> Any:
        return self.dearer.__sklearn_tags__()


def mixture_of(
    relaxation: Mixture, forest: Any, *, random_state: int | np.random.Generator | None = None, stratified: bool = False
) -> MixturePredictor:
    """The relaxation's optimum as a predictor: both its prunings applied to the forest.

    Parameters
    ----------
    relaxation
        ``solution.relaxation`` of a budget solution.
    forest
        the forest that the problem was built from.

    Raises
    ------
    InvalidInputError
        if the forest is another one.
    """
    cheaper, dearer = (apply_pruning(pruning, forest) for pruning in (relaxation.cheaper, relaxation.dearer))
    return MixturePredictor(cheaper, dearer, relaxation.weight, random_state, stratified=stratified)


def _coins(weight: Fraction, n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """True with probability `weight` exactly, n times.

    A uniform number and the weight are compared digit by digit in base 2^DIGIT_BITS; the first digit that differs decides. The
    weight's digits come from exact division, so denominators of any size are met.
    """
    heads = np.zeros(n, dtype=bool)
    if weight == 1:
        heads[:] = True
        return heads
    open_, rest = np.arange(n), weight
    while open_.size and rest:  # where no digit of the weight is left, the uniform number is not below it
        digit, rest = divmod(rest * 2**DIGIT_BITS, 1)
        tossed = rng.integers(0, 2**DIGIT_BITS, size=open_.size, dtype=np.uint64)
        heads[open_[tossed < digit]] = True
        open_ = open_[tossed == digit]
    return heads


def _share(weight: Price) -> Fraction:
    share = exact(weight, "weight")
    if share > 1:
        raise InvalidInputError(f"weight is {weight!r}, above 1; give the dearer forest's share, from 0 to 1")
    return share


def _check_pair(cheaper: Any, dearer: Any) -> None:
    """Both answer the same question."""
    for what in ("n_features_in_", "classes_", "feature_names_in_"):
        first, second = getattr(cheaper, what, None), getattr(dearer, what, None)
        if not np.array_equal(first, second) or is_classifier(cheaper) != is_classifier(dearer):  # type: ignore[arg-type]
            raise InvalidInputError(f"cheaper and dearer differ in {what}: {first} and {second}; give two prunings of one forest")
