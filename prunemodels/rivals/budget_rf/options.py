"""Check the learner's parameters and turn them into options for growing trees."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from formulations.errors import InvalidInputError
from prunemodels.rivals.budget_rf.greedy_tree import Limits
from prunemodels.rivals.budget_rf.impurity import ENTROPY, GINI, PAIRS, POWERS
from prunemodels.rivals.budget_rf.stumps import SplitRule
from prunemodels.rivals.sklearn_trees import Criterion

Impurity = Literal["pairs", "powers", "entropy", "gini", "cost_weighted_entropy", "cost_weighted_gini"]
Splits = Literal["random", "all"]
Outcome = Literal["minimax", "expected"]

NO_LIMIT = np.iinfo(np.int32).max


@dataclass(frozen=True)
class ImpurityKind:
    """One choice of the parameter `impurity`.

    Parameters
    ----------
    measure
        F, see `prunemodels.rivals.budget_rf.impurity`.
    minimax
        whether splits are judged by the worst outcome, unless the user says otherwise.
    weighted
        whether prices count.
    criterion
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


@dataclass(frozen=True)
class GrowingOptions:
    """The options with which every tree is grown."""

    rule: SplitRule
    limits: Limits
    criterion: Criterion


def growing_options(learner: Any, n_features: int) -> GrowingOptions:
    """Check the parameters of a `BudgetRFClassifier`.

    Raises
    ------
    InvalidInputError
        naming the parameter, its value, and the values that are allowed.
    """
    kind = IMPURITIES[_one_of(learner.impurity, IMPURITIES, "impurity")]
    _one_of(learner.splits, ("random", "all"), "splits")
    if learner.outcome is not None:
        _one_of(learner.outcome, ("minimax", "expected"), "outcome")
    rule = SplitRule(
        measure=kind.measure,
        alpha=_number(learner.alpha, "alpha", 0.0),
        power=_number(learner.power, "power", 2.0),
        minimax=kind.minimax if learner.outcome is None else learner.outcome == "minimax",
        weighted=kind.weighted,
        everything=learner.splits == "all",
        max_features=_max_features(learner.max_features, n_features),
        min_samples_leaf=positive_integer(learner.min_samples_leaf, "min_samples_leaf"),
    )
    depth = NO_LIMIT if learner.max_depth is None else positive_integer(learner.max_depth, "max_depth")
    return GrowingOptions(rule, Limits(_number(learner.min_impurity, "min_impurity", 0.0), depth), kind.criterion)


def _one_of(value: Any, choices: Any, name: str) -> str:
    if not isinstance(value, str) or value not in choices:
        raise InvalidInputError(f"{name} is {value!r}; give one of {', '.join(map(repr, choices))}")
    return value


def _number(value: Any, name: str, least: float) -> float:
    if not isinstance(value, Real) or not np.isfinite(float(value)) or float(value) < least:
        raise InvalidInputError(f"{name} is {value!r}; give a number >= {least:g}")
    return float(value)


def positive_integer(value: Any, name: str) -> int:
    """The value as an integer, refused unless it is one >= 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise InvalidInputError(f"{name} is {value!r}; give an integer >= 1")
    return min(int(value), NO_LIMIT)


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
