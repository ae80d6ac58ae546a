"""``prunemodels prune``: its options are checked, and a pruning is chosen by --budget or --lam."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError
from prunemodels.command_line.budget_report import BudgetFigures
from prunemodels.command_line.refusals import errors_naming
from prunemodels.command_line.terminal import shows_progress
from prunemodels.evaluation.certified_budget import CertifiedBudget, budget_for_confidence
from prunemodels.evaluation.held_out import HeldOut
from solvers.budgets import solve_budget

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 0
"""Seed of the split that ``--confidence`` makes. It is fixed, so that the same command gives the same pruning."""


@dataclass(frozen=True, eq=False)
class ChosenPruning:
    """The pruning that ``prune`` writes, and how it was found.

    Parameters
    ----------
    row
        its row of the path; None for a pruning that is no breakpoint.
    next_dearer
        the next breakpoint that costs more; None where there is none, and with ``--confidence``.
    solution
        the answer to the budget; None with ``--lam``.
    """

    pruning: Pruning
    row: int | None
    next_dearer: Pruning | None
    method: str = "path"
    solution: BudgetSolution | None = None
    certified: CertifiedBudget | None = None

    def figures(self) -> BudgetFigures | None:
        """The figures that the summary shows; None with ``--lam``."""
        return None if self.solution is None else BudgetFigures.of(self.solution, self.method, self.pruning, self.certified)

    def picture(self, path: PruningPath, held_out: HeldOut | None) -> Figure:
        """The trade-off with the pruning marked, and the budget if there is one."""
        from prunemodels.plots import plot_budget, plot_tradeoff

        if self.solution is None:
            return plot_tradeoff(path, chosen=self.pruning)
        return plot_budget(self.solution, path, held_out=None if held_out is None else [held_out], chosen=self.pruning)


def check_budget_options(args: argparse.Namespace) -> None:
    """Refuse options that do not go together, before anything is read.

    Raises
    ------
    InvalidInputError
        naming the option and the remedy.
    """
    given = {
        "--method": args.method is not None,
        "--time-limit": args.time_limit is not None,
        "--confidence": args.confidence is not None,
        "--mixture": args.mixture,
    }
    if args.budget is None:
        for option in (o for o, there in given.items() if there):
            raise InvalidInputError(f"{option} goes with --budget, not with --lam: drop it, or give a budget")
    if args.held_out is not None and same_file(args.held_out, args.data):
        raise InvalidInputError(
            "--held-out names the same file as --data, on which the pruning is chosen; give examples that were kept apart"
        )
    if args.confidence is None:
        return
    if args.weights is not None:
        raise InvalidInputError(
            "--weights cannot be used with --confidence, whose bounds hold for examples of equal weight; "
            "draw --data by the weights"
        )
    for option in ("--method", "--mixture", "--time-limit"):
        if given[option]:
            raise InvalidInputError(
                f"{option} cannot be used with --confidence, which chooses a certified breakpoint; drop one of them"
            )
    for option, file in (("--train", args.train), ("--error-data", args.error_data)):
        if file is not None and same_file(file, args.data):
            raise InvalidInputError(
                f"--confidence needs examples in --data that are used nowhere else, but {option} names the same file; "
                "give another"
            )


def choose_pruning(args: argparse.Namespace, path: PruningPath) -> ChosenPruning:
    """The pruning that the arguments ask for."""
    if args.budget is None:
        row = path.row_at_lam(args.lam)
        return ChosenPruning(path[row], row, path[row - 1] if row else None)
    if args.confidence is not None:
        with errors_naming(f"--confidence {args.confidence:g}"):
            certified = budget_for_confidence(path.problem, args.budget, confidence=args.confidence, random_state=SEED)
        solution = solve_budget(path.problem, args.budget, method="path", path=path)
        pruning = Pruning(path.problem, certified.pruning.kept)
        return ChosenPruning(pruning, _row_of(pruning, path), None, "path", solution, certified)
    method: Any = args.method or "best"
    solution = solve_budget(
        path.problem, args.budget, method=method, time_limit=args.time_limit, path=path, progress=shows_progress(args)
    )
    within = path.row_at_cost(args.budget)
    dearer = path[within - 1] if within else None
    return ChosenPruning(solution.pruning, _row_of(solution.pruning, path), dearer, method, solution)


def _row_of(pruning: Pruning, path: PruningPath) -> int | None:
    """The row of the path that equals the pruning; None where no row does."""
    rows = [k for k in range(len(path)) if path.integer_cost[k] == pruning.integer_cost]
    return next((k for k in rows if np.array_equal(path[k].kept, pruning.kept)), None)


def same_file(a: str, b: str) -> bool:
    """Whether two paths name the same file, links followed."""
    return os.path.realpath(a) == os.path.realpath(b)
