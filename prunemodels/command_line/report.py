"""The results of ``path`` and ``prune``, for one screen of a terminal or as JSON for programs.

Every figure comes from a `Pruning` or from `evaluate`; nothing is read back from a solver.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from formulations.answers.pruning import Pruning
from formulations.shown import align
from prunemodels.command_line.budget_report import BudgetFigures, HeldOutFigures
from prunemodels.judging.evaluate import Evaluation


@dataclass(frozen=True)
class ForestFigures:
    """Cost, errors and size of a forest.

    Parameters
    ----------
    cost
        mean cost of a prediction on the cost sample, in the unit of the prices.
    sample_error
        the trees' mean error on the error sample: what pruning minimises beside the cost.
    data_error
        error of the forest's own predictions on the labelled data that the command was given; None without labels.
    splits
        splits in all trees.
    """

    cost: float
    sample_error: float
    data_error: float | None
    splits: int

    @classmethod
    def of(cls, pruning: Pruning, on_data: Evaluation | None) -> ForestFigures:
        """The figures of a pruning."""
        return cls(pruning.cost, pruning.error, None if on_data is None else on_data.error, pruning.n_splits)


@dataclass(frozen=True)
class Summary:
    """Result of ``prunemodels path`` and ``prunemodels prune``.

    Parameters
    ----------
    task
        ``"classification"`` (errors are rates) or ``"regression"`` (mean squared errors).
    error_source
        a description of the examples on which the nodes' errors were measured.
    data_labelled
        name of the data that `data_error` was measured on.
    breakpoints
        number of optimal prunings on the path.
    budget, lam
        the goal of the command: one of them, or neither for ``path``.
    chosen_lam
        lambda of the chosen breakpoint; None for a pruning inside an edge of the hull.
    next_dearer
        the next breakpoint that costs more than the chosen one, or than the budget; None where there is none.
    budget_answer, held_out
        relaxation and gap of a budget; cost and error on ``--held-out``. None where they were not asked for.
    written
        the files written.
    ignored
        columns of the data that the forest does not use.
    """

    forest: str
    model: str
    trees: int
    task: str
    data: str
    examples: int
    error_source: str
    data_labelled: str | None
    breakpoints: int
    seconds: float
    unpruned: ForestFigures
    pruned: ForestFigures | None = None
    budget: float | None = None
    lam: float | None = None
    chosen_lam: float | None = None
    next_dearer: ForestFigures | None = None
    budget_answer: BudgetFigures | None = None
    held_out: HeldOutFigures | None = None
    written: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def json(self) -> str:
        """The summary as one JSON object."""
        return json.dumps(asdict(self), indent=2, allow_nan=False)

    def text(self) -> str:
        """The summary on one screen."""
        asked = (
            f"cost at most {self.budget:g}"
            if self.budget is not None
            else f"lambda = {self.lam:g}"
            if self.lam is not None
            else ""
        )
        lines = [f"{self.forest}: {self.model} of {self.trees} trees" + (f", pruned to {asked}" if asked else "")]
        lines += ["", self._figures(), ""]
        lines.append(f"cost sample    {self.examples:,} examples of {self.data}")
        lines.append(f"path           {_count(self.breakpoints, 'optimal pruning')}, {self.seconds:.1f} s in all")
        if self.pruned is not None:
            lines.append(f"taken          {self._taken()}")
        if self.budget_answer is not None and self.budget is not None:
            lines += self.budget_answer.lines(self._error, self.budget)
        if self.next_dearer is not None:
            error = self._error(self.next_dearer.sample_error)
            lines.append(f"next dearer    cost {self.next_dearer.cost:.4g}, trees' error {error}; no breakpoint in between")
        if self.held_out is not None:
            lines += self.held_out.lines(self._error)
        if self.ignored:
            lines.append(f"not used       columns {', '.join(self.ignored[:6])}{', ...' if len(self.ignored) > 6 else ''}")
        lines += [f"written        {file}" for file in self.written]
        return "\n".join(lines)

    def _taken(self) -> str:
        """The rule by which the pruning was chosen, and its place on the path."""
        if self.budget is None:
            rule = "the optimum for this lambda"
        elif self.budget_answer is not None and self.budget_answer.confidence is not None:
            return "the dearest optimal pruning of the choosing rows that the others certify"
        else:
            rule = "the least error found within the budget"
        place = "no breakpoint" if self.chosen_lam is None else f"breakpoint at lambda = {self.chosen_lam:.6g}"
        return f"{rule}; {place}"

    def _figures(self) -> str:
        forests = [f for f in (self.unpruned, self.pruned) if f is not None]
        measure = "error rate" if self.task == "classification" else "mean squared error"
        rows = [
            ["cost per prediction", *(f"{f.cost:.4g}" for f in forests)],
            [f"trees' {measure}, {self.error_source} (minimised)", *(self._error(f.sample_error) for f in forests)],
        ]
        if self.data_labelled is not None:
            rows.append([f"forest's {measure} on {self.data_labelled}", *(self._error(f.data_error) for f in forests)])
        rows.append(["splits", *(f"{f.splits:,}" for f in forests)])
        return align(["", "unpruned", "pruned"][: len(forests) + 1], rows, left=1)

    def _error(self, error: float | None) -> str:
        return percent(error) if self.task == "classification" and error is not None else f"{error:.4g}"


def percent(rate: float, digits: int = 2) -> str:
    """0.0751 as ``7.51 %``."""
    return f"{100 * rate:.{digits}f} %"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
