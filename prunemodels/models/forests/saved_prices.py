"""Prices that travel with a pruned model: plain lists in an attribute of the estimator, which every file format keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems

ATTRIBUTE = "prunemodels_prices_"


def keep_prices(model: Any, costs: CostItems, evaluation: Sequence[Any]) -> None:
    """Store the prices of a model's features, and those of evaluating splits, on the model."""
    setattr(model, ATTRIBUTE, {**costs.as_plain(), "evaluation": [str(Fraction(a)) for a in evaluation]})


def saved_prices(model: Any, n_columns: int) -> tuple[CostItems, list[Fraction]] | None:
    """The prices that a model holds for its columns; None where it holds none, or was given other columns since."""
    is_pipeline = hasattr(model, "steps")
    holder = model.steps[-1][1] if is_pipeline and not hasattr(model, ATTRIBUTE) else model
    told = getattr(holder, ATTRIBUTE, None)
    if told is None:
        return None
    try:
        costs, evaluation = CostItems.from_plain(told), [Fraction(a) for a in told["evaluation"]]
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise InvalidInputError(f"the prices that the model holds are damaged ({error!r}); give costs") from error
    costs = replace(costs, needs=costs.by_column if is_pipeline else costs.needs, columns=None)
    return (costs, evaluation) if costs.n_features == n_columns else None
