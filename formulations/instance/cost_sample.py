"""Checks of a cost sample and its prices: size, weights, evaluation prices."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.errors import CapacityOverflowError, InvalidInputError
from formulations.instance.cost_items import CostItems, EvaluationCost, exact
from formulations.instance.ensemble import Ensemble
from formulations.instance.real_numbers import real_array

MOST_PURCHASES = 2**31 - 1
"""Largest number of pairs of item and row that an instance may have."""

LEAST_WEIGHT, MOST_WEIGHT = 1e-100, 1e100
"""Between these the largest weight must lie."""


def check_size(costs: CostItems, n_rows: int, source: str = "X") -> None:
    """Refuse more pairs of item and row than int32 can number, about 2 * 10^9.

    Purchases are numbered in int32, which takes half the memory of int64.

    Raises
    ------
    CapacityOverflowError
        says how many pairs there are.
    """
    if costs.n_items * (n_rows + 1) > MOST_PURCHASES:
        raise CapacityOverflowError(
            f"{source} has {n_rows:,} rows and costs {costs.n_items:,} items: {costs.n_items * n_rows:,} possible purchases, "
            f"at most {MOST_PURCHASES:,} are supported; give a smaller cost sample"
        )


def check_weights(weights: ArrayLike | None, n_rows: int, name: str) -> NDArray[np.float64]:
    """Example weights as float64, 1 each if None. Negative, non-finite and all-zero weights are refused."""
    if weights is None:
        return np.ones(n_rows)
    try:
        w = real_array(weights, name).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} is not numeric ({error}); give one number >= 0 an example") from error
    if w.shape != (n_rows,):
        raise InvalidInputError(f"{name} has shape {w.shape}, there are {n_rows} examples: give one weight each")
    bad = np.flatnonzero(~(np.isfinite(w) & (w >= 0)))
    if bad.size:
        raise InvalidInputError(f"{name}[{bad[0]}] is {w[bad[0]]}; weights must be finite and >= 0")
    check_largest(w, name)
    return w


def check_largest(w: NDArray[np.float64], name: str) -> None:
    """Refuse weights that are all 0, and weights whose sums, squares or products with prices are not finite or are 0."""
    if not w.any():
        raise InvalidInputError(f"{name} is 0 everywhere: no example would count")
    largest = float(w.max())
    if not LEAST_WEIGHT <= largest <= MOST_WEIGHT:
        raise InvalidInputError(
            f"the largest of {name} is {largest:g}; only their ratios count: divide all by one number, so that it lies between "
            f"{LEAST_WEIGHT:g} and {MOST_WEIGHT:g}"
        )


def evaluation_prices(cost: EvaluationCost, ensemble: Ensemble) -> tuple[Fraction, ...]:
    """The evaluation price a_f of each feature as an exact fraction."""
    if np.ndim(cost) == 0:  # type: ignore[arg-type]
        return (exact(cost, "evaluation_cost"),) * ensemble.n_features
    prices = list(cost)  # type: ignore[arg-type]
    if len(prices) != ensemble.n_features:
        raise InvalidInputError(
            f"evaluation_cost has {len(prices)} prices, the forest was trained on {ensemble.n_features} features"
        )
    return tuple(exact(a, f"evaluation_cost[{f}]") for f, a in enumerate(prices))
