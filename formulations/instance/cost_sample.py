"""Checks of samples and their prices: real numbers, size, weights, evaluation prices.

What NumPy would turn into numbers without a word (masks, complex numbers, dates) is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.errors import CapacityOverflowError, InvalidInputError
from formulations.instance.cost_items import CostItems, EvaluationCost, exact

REFUSED = {
    "c": ("complex numbers", "give real ones"),
    "M": ("dates", "give numbers, such as days since a first date"),
    "m": ("time differences", "give numbers, such as seconds"),
    "V": ("records", "give one number in each place"),
}
"""By the letter that NumPy has for a kind of array: what it holds, and the remedy."""


def real_array(values: Any, name: str) -> NDArray[Any]:
    """The values as an array, of any type that is not refused.

    A conversion to floats would drop the mask of a masked array and the imaginary part of a complex number, and count the
    microseconds of a date.
    """
    refuse_unreal(values, name)
    array = np.asarray(values)
    _check(array.dtype, name)
    return array


def refuse_unreal(values: Any, name: str) -> None:
    """`real_array`'s refusals of an array, or of a table whose columns have types, without a conversion."""
    if np.ma.isMaskedArray(values):
        raise InvalidInputError(f"{name} is a masked array; give numbers, with NaN for values that are missing")
    if hasattr(values, "columns") and hasattr(values, "dtypes"):
        for column, dtype in zip(values.columns, values.dtypes, strict=True):
            _check(dtype, f"the column {column!r} of {name}")
    else:
        _check(getattr(values, "dtype", None), name)


def _check(dtype: Any, name: str) -> None:
    """Refuse a type of numbers that are not real."""
    held, remedy = REFUSED.get(getattr(dtype, "kind", ""), ("", ""))
    if held:
        raise InvalidInputError(f"{name} holds {held} ({dtype}); {remedy}")


MOST_PURCHASES = 2**31 - 1
"""Largest number of pairs of item and row that an instance may have."""

LEAST_WEIGHT, MOST_WEIGHT = 1e-100, 1e100
"""Between these the largest weight must lie."""


def check_size(costs: CostItems, n_rows: int, source: str = "X") -> None:
    """Refuse more pairs of item and row than int32 can number, about 2 * 10^9.

    Purchases are numbered in int32, which takes half the memory of int64.
    """
    if costs.n_items * (n_rows + 1) > MOST_PURCHASES:
        raise CapacityOverflowError(
            f"{source} has {n_rows:,} rows and costs {costs.n_items:,} items: {costs.n_items * n_rows:,} possible purchases, "
            f"at most {MOST_PURCHASES:,} are supported; give a smaller cost sample"
        )


def check_weights(
    weights: ArrayLike | None, n_rows: int, name: str, X: Any = None, entry: Callable[[int], str] | None = None
) -> NDArray[np.float64]:
    """Weights of rows as float64, 1 each if None: a row stands for that many, in cost as in error.

    Weights with an index are put in the order of the table X, see `in_order_of`. Weights that are negative, not finite or all 0
    are refused; messages call that of row i ``entry(i)``, by default ``name[i]``.
    """
    if weights is None:
        return np.ones(n_rows)
    w = weights_as_numbers(in_order_of(X, weights, name), name, entry)
    if w.shape != (n_rows,):
        raise InvalidInputError(f"{name} has shape {w.shape}, there are {n_rows} examples: give one weight each")
    check_largest(w, name)
    return w


def weights_as_numbers(weights: Any, name: str, entry: Callable[[int], str] | None = None) -> NDArray[np.float64]:
    """Some of the weights as float64, each finite and >= 0; see `check_weights`."""
    try:
        w = real_array(weights, name).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} is not numeric ({error}); give one number >= 0 an example") from error
    bad = np.flatnonzero(~(np.isfinite(w) & (w >= 0)))
    if bad.size and w.ndim == 1:
        i = int(bad[0])
        raise InvalidInputError(f"{entry(i) if entry else f'{name}[{i}]'} is {w[i]}; weights must be finite and >= 0")
    return w


def in_order_of(X: Any, values: Any, name: str) -> Any:
    """Values with an index, such as a pandas Series, as an array in the order of the rows of the table X; all others as they are.

    Refused is an index that is not that of X in another order: which value belongs to which row cannot be told.
    """
    if not all(hasattr(getattr(of, "index", None), "get_indexer") for of in (X, values)):
        return values
    ours, theirs = X.index, values.index
    if len(ours) != len(theirs) or ours.equals(theirs):
        return values.to_numpy()
    place = theirs.get_indexer(ours) if ours.is_unique and theirs.is_unique else np.array([-1])
    if (place < 0).any():
        raise InvalidInputError(
            f"{name} has another index than X; give it the index of X, or, if both have the same order, {name}.to_numpy()"
        )
    return values.to_numpy()[place]


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


def evaluation_prices(cost: EvaluationCost, n_features: int) -> tuple[Fraction, ...]:
    """The evaluation price a_f of each feature as an exact fraction."""
    if np.ndim(cost) == 0:  # type: ignore[arg-type]
        return (exact(cost, "evaluation_cost"),) * n_features
    prices = list(cost)  # type: ignore[arg-type]
    if len(prices) != n_features:
        raise InvalidInputError(f"evaluation_cost has {len(prices)} prices, the forest was trained on {n_features} features")
    return tuple(exact(a, f"evaluation_cost[{f}]") for f, a in enumerate(prices))


def check_most(costs: CostItems, evaluation: tuple[Fraction, ...], n_splits: int) -> None:
    """Refuse prices by which a prediction could cost more than a float holds."""
    most = sum(costs.prices, start=max(evaluation, default=Fraction(0)) * n_splits)
    if most > sys.float_info.max:
        raise InvalidInputError(
            f"costs: all items and evaluations of one prediction together cost more than {sys.float_info.max:.1e}, the largest "
            "float; give the prices in a larger unit"
        )
