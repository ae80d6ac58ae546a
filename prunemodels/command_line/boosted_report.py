"""The results of ``evaluate``, and of ``prune`` for models whose trees add up, for one screen or as JSON for programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from formulations.shown import align, error_name, is_rate
from prunemodels.command_line.budget_table import percent
from prunemodels.command_line.command_summary import CommandSummary, last_lines
from prunemodels.command_line.terminal import styled


@dataclass(frozen=True)
class ModelFigures:
    """What a model costs and how it errs on some examples, by weight.

    Parameters
    ----------
    cost
        mean cost of a prediction, in the unit of the prices.
    loss
        mean log loss or squared error of a model whose trees add up; None for all others.
    error
        of the model's predictions: share of wrong labels, or another measure.
    splits
        splits in all trees.
    """

    cost: float
    loss: float | None
    error: float
    splits: int


def figures_table(rows: Sequence[tuple[str, ModelFigures]], measure: str, loss: str) -> str:
    """A row for each model, the last one bold; `measure` and `loss` say what errors and losses are."""
    header = ["", "cost", loss, "error rate" if is_rate(measure) else error_name(measure), "splits"]
    cells = [
        [
            name,
            f"{f.cost:.4g}",
            "" if f.loss is None else f"{f.loss:.4g}",
            percent(f.error) if is_rate(measure) else f"{f.error:.4g}",
            f"{f.splits:,}",
        ]
        for name, f in rows
    ]
    # of numbers the loss is the error
    shown = [c for c in range(len(header)) if c != 2 or (is_rate(measure) and any(row[2] for row in cells))]
    lines = align([header[c] for c in shown], [[row[c] for c in shown] for row in cells], left=1).split("\n")
    return "\n".join([*lines[:-1], styled(lines[-1], "bold")])


@dataclass(frozen=True)
class EvaluationSummary(CommandSummary):
    """Result of ``prunemodels evaluate``; `features` is the mean number of columns that a prediction needs."""

    forest: str
    model: str
    trees: int
    task: str
    measure: str
    loss_name: str
    data: str
    examples: int
    figures: ModelFigures
    features: float
    seconds: float
    ignored: tuple[str, ...] = ()

    def text(self) -> str:
        """The summary in a few lines."""
        return "\n".join(
            [
                f"{self.forest}: {self.model} of {self.trees} trees",
                "",
                figures_table([("", self.figures)], self.measure, self.loss_name),
                "",
                f"columns        {self.features:.3g} for a prediction",
                f"measured on    {self.examples:,} examples of {self.data}",
                f"time           {self.seconds:.1f} s",
                *last_lines(self.ignored, ()),
            ]
        )


@dataclass(frozen=True)
class BoostedSummary(CommandSummary):
    """Result of ``prunemodels prune`` for a model whose trees add up.

    Parameters
    ----------
    loss_name
        what the pruning minimises beside the cost: ``"log loss"`` or ``"squared error"``.
    unpruned, pruned
        figures on the examples of ``--data``, on which the pruning was found.
    held_out, held_out_examples
        the figures of both on ``--held-out``; None without it.
    budget, lam
        the goal: one of them.
    overrun
        whether the held-out examples cost more than the budget; None without both.
    stationary
        see `BoostedPruning`.
    visited
        number of prunings that the search visited.
    saved_as
        class of the model that was written.
    """

    forest: str
    model: str
    trees: int
    task: str
    measure: str
    loss_name: str
    data: str
    examples: int
    unpruned: ModelFigures
    pruned: ModelFigures
    budget: float | None
    lam: float | None
    stationary: bool
    visited: int
    saved_as: str
    seconds: float
    held_out: tuple[ModelFigures, ModelFigures] | None = None
    held_out_data: str | None = None
    held_out_examples: int | None = None
    overrun: bool | None = None
    written: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def text(self) -> str:
        """The summary on one screen."""
        goal = f"cost at most {self.budget:g}" if self.budget is not None else f"lambda = {self.lam:g}"
        before, after = self.held_out or (self.unpruned, self.pruned)
        where = f"{self.data}, on which the pruning was found" if self.held_out is None else f"{self.held_out_data}, held out"
        rows = [("unpruned", before), ("pruned", after)]
        lines = [f"{self.forest}: {self.model} of {self.trees} trees, pruned to {goal}", ""]
        lines += [figures_table(rows, self.measure, self.loss_name), ""]
        examples = self.examples if self.held_out_examples is None else self.held_out_examples
        lines.append(f"measured on    {examples:,} examples of {where}")
        rule = "the least loss found within the budget" if self.budget is not None else "the least loss + lambda cost found"
        lines.append(f"chosen         {rule}, of {self.visited:,} prunings visited; no proof that there is no better one")
        lines.append(
            f"cost sample    {self.examples:,} examples of {self.data}: cost {self.pruned.cost:.4g}, "
            f"{self.loss_name} {self.unpruned.loss:.4g} -> {self.pruned.loss:.4g}"
        )
        if self.overrun is not None:
            kept = "the held-out examples cost more than the budget" if self.overrun else "kept on the held-out examples"
            lines.append(f"budget         {styled(kept, 'warning') if self.overrun else kept}")
        if self.saved_as == "ModelForest":
            lines.append("saved as       trees of prunemodels, since CatBoost cannot hold pruned trees; load_forest reads them")
        lines.append(f"time           {self.seconds:.1f} s")
        return "\n".join(lines + last_lines(self.ignored, self.written))


def or_none(number: float) -> float | None:
    """None in the place of NaN."""
    return None if math.isnan(number) else number
