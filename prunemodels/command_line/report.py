"""The results of ``path`` and ``prune``, for one screen of a terminal or as JSON for programs.

Every figure comes from a `Pruning` or from `evaluate`; nothing is read back from a solver.
"""

from __future__ import annotations

from dataclasses import dataclass

from formulations.shown import error_name, is_rate
from prunemodels.command_line.budget_report import BudgetFigures, HeldOutFigures
from prunemodels.command_line.budget_table import BudgetRow, ForestFigures, budget_table, percent
from prunemodels.command_line.command_summary import CommandSummary, last_lines


@dataclass(frozen=True)
class Summary(CommandSummary):
    """Result of ``prunemodels path`` and ``prunemodels prune``.

    Parameters
    ----------
    task
        ``"classification"`` or ``"regression"``.
    measure
        what the errors are: ``"error rate"``, ``"mean squared error"``, ...; see `Ensemble.measure`.
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
    table, measured_on
        the best optimal pruning within each of several budgets, and the examples that its cost and the forest's error were
        measured on: ``"held out"``, or the name of the labelled data.
    mixture
        whether the two forests of the relaxation were asked for.
    written
        the files written.
    ignored
        columns of the data that the forest does not use.
    """

    forest: str
    model: str
    trees: int
    task: str
    measure: str
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
    table: tuple[BudgetRow, ...] = ()
    measured_on: str | None = None
    mixture: bool = False
    written: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

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
        lines += ["", self._table(), ""]
        mean = "mean error rate" if is_rate(self.measure) else error_name(self.measure)
        lines.append(f"single trees   {mean} of the trees, {self.error_source}: what pruning minimises beside the cost")
        if self.pruned is not None:
            lines.append(f"chosen         {self._chosen()}")
        if self.budget_answer is not None and self.budget is not None:
            lines += self.budget_answer.lines(self._error, self.budget)
            lines += self.budget_answer.mixture_lines(self._error) if self.mixture else []
        if self.next_dearer is not None:
            error = self._error(self.next_dearer.sample_error)
            lines.append(f"next dearer    the path's next pruning costs {self.next_dearer.cost:.4g}, single trees' error {error}")
        if self.held_out is not None:
            lines += self.held_out.lines(self._error)
        lines.append(f"cost sample    {self.examples:,} examples of {self.data}")
        if self.pruned is None:
            lines.append("next           prunemodels prune --budget B saves a forest; it also searches between these prunings")
        lines.append(f"path           {_count(self.breakpoints, 'optimal pruning')}, {self.seconds:.1f} s in all")
        return "\n".join(lines + last_lines(self.ignored, self.written))

    def _chosen(self) -> str:
        """The rule by which the pruning was chosen, and its place on the path."""
        if self.budget is None:
            rule = f"the optimum for lambda = {self.lam:g}"
        elif self.budget_answer is not None and self.budget_answer.confidence is not None:
            return "the dearest optimal pruning of one half of the rows that the other half certifies"
        else:
            rule = "the least error found within the budget"
        if self.chosen_lam is None:
            return f"{rule}; between two prunings of the path"
        return f"{rule}; on the path, at lambda = {self.chosen_lam:.6g}"

    @property
    def _measure(self) -> str:
        return "error rate" if is_rate(self.measure) else error_name(self.measure)

    def _table(self) -> str:
        held_out = self.measured_on == "held out"
        error = f"held-out {self._measure}" if held_out else f"{self._measure} on {self.measured_on}"
        cost = "held-out cost" if held_out else "cost"
        return budget_table(self.table, self.measure, error=error, source=self.error_source, cost=cost)

    def _error(self, error: float | None) -> str:
        return percent(error) if is_rate(self.measure) and error is not None else f"{error:.4g}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
