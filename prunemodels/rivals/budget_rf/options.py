"""Check the learner's parameters and turn them into options for growing trees."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from formulations.arguments import Count, Range, check_arguments
from formulations.errors import InvalidInputError
from prunemodels.rivals.budget_rf.stumps import ENTROPY, GINI, PAIRS, POWERS, SplitRule
from prunemodels.rivals.sklearn_trees import Criterion

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
    """Check the parameters of a `BudgetRFClassifier`: how trees grow, and what scikit-learn's trees store.

    Raises
    ------
    InvalidInputError
        naming the parameter, its value, and the values that are allowed.
    """
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
