"""The measurements of the demo, as text and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from prunemodels.command_line.budget_table import BudgetRow, ForestFigures, budget_table, percent
from prunemodels.command_line.command_summary import CommandSummary
from prunemodels.judging.evaluate import Evaluation

PROTOTYPE = {"miniboone": {"unpruned": (41.4, 0.075), "24.9": (24.9, 0.076)}}
"""Features a prediction and test error that a plain prototype of this package reached on the first split."""


@dataclass(frozen=True)
class Measurement:
    """One forest within one budget, on the test part.

    Parameters
    ----------
    seed
        the random state of the forest, and of the split where each forest has its own.
    budget, limit
        the budget as the table labels it, and in features per prediction (None for the unpruned forest).
    lam
        lambda of the breakpoint within the budget.
    sample_error
        the trees' mean in-bag error, which pruning minimises beside the cost.
    held_out
        cost and error on the test part.
    """

    seed: int
    budget: str
    limit: float | None
    lam: float | None
    sample_error: float
    held_out: Evaluation

    def figures(self) -> ForestFigures:
        """The figures that the table shows."""
        return ForestFigures(self.held_out.cost, self.sample_error, self.held_out.error, self.held_out.splits)

    def record(self) -> dict[str, float | str | None]:
        """The measurement as a row of a table."""
        h = self.held_out
        return {
            "seed": self.seed,
            "budget": self.budget,
            "lambda": self.lam,
            "cost": h.cost,
            "features": h.features,
            "in_bag_error": self.sample_error,
            "held_out_error": h.error,
            "splits": h.splits,
        }


@dataclass(frozen=True)
class DemoReport(CommandSummary):
    """Result of ``prunemodels demo``: all measurements, and what was written.

    Parameters
    ----------
    priced
        whether features have prices in dollars; else each costs 1.
    sizes
        examples of the training, validation and test part.
    breakpoints, path_seconds
        of the first forest.
    saved
        the budget whose pruned forest, of the first seed, was saved.
    resplit
        whether the data were split anew for every forest; else all forests are grown on the first split.
    """

    data: str
    priced: bool
    sizes: tuple[int, int, int]
    features: int
    trees: int
    breakpoints: int
    path_seconds: float
    seconds: float
    resplit: bool
    measured: tuple[Measurement, ...]
    saved: str
    written: tuple[str, ...]

    @cached_property
    def by_budget(self) -> dict[str, list[Measurement]]:
        """The measurements of all forests, by budget."""
        return {b: [m for m in self.measured if m.budget == b] for b in dict.fromkeys(m.budget for m in self.measured)}

    @property
    def n_seeds(self) -> int:
        """Number of forests."""
        return len({m.seed for m in self.measured})

    def record(self) -> dict[str, Any]:
        """The fields; ``measured`` holds a record for each forest."""
        return asdict(self) | {"measured": [m.record() for m in self.measured]}

    def text(self) -> str:
        """The report on one screen."""
        train, valid, test = self.sizes
        which = "forests, each on a random split of its own" if self.resplit else "forests on one random split"
        over = "" if self.n_seeds == 1 else f" (mean ± standard deviation over {self.n_seeds} {which})"
        unit = "% of the unpruned cost" if self.saved.endswith("%") else "dollars" if self.priced else "features a prediction"
        pays = "the price in dollars of each" if self.priced else "1 for each"
        found = f"Found all {self.breakpoints:,} optimal prunings in {self.path_seconds:.2g} s. The best"
        lines = [
            f"{self.data}: {self.features} features; a prediction pays {pays} that it uses, in however many trees.",
            f"Trained {self.trees} trees on {train:,} examples, pruned by what {valid:,} others would pay, "
            f"measured on {test:,} held out.",
            f"{'The best pruning' if self.priced else found} within each budget, in {unit}{over}:",
            "",
            self._table(),
            "",
            self._saved_line(),
        ]
        if self.data in PROTOTYPE:
            lines += self._prototype_lines()
        files = [Path(file) for file in self.written]
        lines.append(f"Wrote {', '.join(f.name for f in files)} in {files[0].parent}; {self.seconds:.0f} s in all.")
        return "\n".join(lines)

    def _table(self) -> str:
        rows = [
            BudgetRow(budget, tuple(m.figures() for m in group), chosen=budget == self.saved)
            for budget, group in self.by_budget.items()
        ]
        cost = "cost, dollars" if self.priced else "cost = features"
        return budget_table(rows, "classification", error="held-out error", source="in-bag", cost=cost)

    def mean(self, budget: str) -> tuple[float, float]:
        """Mean cost and mean held-out error over the forests."""
        group = self.by_budget[budget]
        return float(np.mean([m.held_out.cost for m in group])), float(np.mean([m.held_out.error for m in group]))

    def _saved_line(self) -> str:
        before, after = self.by_budget["unpruned"][0].held_out, self.by_budget[self.saved][0].held_out
        used, was = f"{after.features:.1f} features", f"{before.features:.1f}"
        if self.priced:
            used, was = f"{after.cost:.1f} dollars", f"{before.cost:.1f}"
        first = " of the first seed" if self.n_seeds > 1 else ""
        return (
            f"Saved the forest{first} of budget {self.saved}: it {'costs' if self.priced else 'uses'} {used} a prediction "
            f"(unpruned {was}) and errs on {percent(after.error)} of the held-out examples (unpruned {percent(before.error)})."
        )

    def _prototype_lines(self) -> list[str]:
        lines = []
        for budget, (cost, error) in PROTOTYPE[self.data].items():
            our_cost, our_error = self.mean(budget)
            gap = f"{our_cost - cost:+.1f} features, {100 * (our_error - error):+.2f} points"
            lines += [
                f"Prototype, {budget}: {cost:.1f} features, {percent(error, 1)} error; here {our_cost:.1f}, {percent(our_error)} "
                f"({gap})."
            ]
        return lines
