"""The prunings that commands are asked for: of forests along their path, of boosted models by a search."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.extras import package
from formulations.programs.limit_rows import limit_rows
from prunemodels.command_line.examples import (
    Examples,
    hints_on_rows,
    read_examples,
    rows_in_training,
    same_file,
)
from prunemodels.command_line.inputs import (
    Instance,
    limits_of,
    mistake_costs,
    path_of,
    read_costs,
    read_instance,
)
from prunemodels.command_line.judge import (
    answers_on,
    changed,
    check_positive,
    model_record,
)
from prunemodels.command_line.parsing import errors_naming, need, refuse, shows_progress
from prunemodels.command_line.process import SETTINGS, doing
from prunemodels.command_line.summary import Line, plain
from prunemodels.estimators.fitted_forest import pruning_for_error
from prunemodels.estimators.pruned_forest import PrunedForest
from prunemodels.evaluation.curve import tradeoff_curve
from prunemodels.evaluation.held_out import held_out_change, hold_out, on_other_rows
from prunemodels.evaluation.path import PathEvaluation, evaluate_path
from prunemodels.evaluation.vote import cut_of_forest, with_cut
from prunemodels.files.forests import saved_model
from prunemodels.models.boosting.boosted import boosted_path, prune_boosted
from prunemodels.models.boosting.boosted_pruning import BoostedPath, BoostedPruning
from prunemodels.models.forests.problems import apply_pruning
from prunemodels.models.forests.reading import ReadForest
from prunemodels.models.tree_model import TreeModel, tree_model_of
from prunemodels.report_page.evidence import row_of
from prunemodels.solving import solve
from prunemodels.statements.change import HeldOutChange
from prunemodels.statements.promises import Promise
from prunemodels.statements.wording import amount, count


@dataclass(frozen=True, eq=False)
class Found:
    """A model and what ``prune`` made of it.

    `answer` shows itself; `saved` is the model for the file; `path` has all prunings, where they are asked for; `change` measures
    both models on labelled examples, and `picture` draws the trade-off. `solution` answers the budget or the limits of a forest.
    """

    before: TreeModel
    seen: list[Examples]
    answer: PrunedForest | BoostedPruning
    saved: Any
    path: Any
    change: Callable[[Examples], HeldOutChange]
    picture: Callable[[Examples], Any]
    record: dict[str, Any]
    lines: list[Line]
    held_out: Examples | None
    solution: LimitedSolution | None = None

    @property
    def data(self) -> Examples:
        """The cost sample."""
        return self.seen[0]


def along(path: PruningPath, rows: Examples) -> PathEvaluation | None:
    """Cost and error of the whole path on examples, if they are labelled."""
    return None if rows.y is None else evaluate_path(path, rows.X, rows.y, sample_weight=rows.weights)


def _kept_apart(args: argparse.Namespace, model: TreeModel, seen: list[Examples]) -> Examples | None:
    """The examples of ``--held-out``, refused where they do not suit before any work."""
    rows = None if args.held_out is None else read_examples(args, "--held-out", model)
    hints_on_rows(rows, *seen)
    check_positive(args, model.classes, (seen[0] if rows is None else rows).y)
    return rows


def choose_pruning(
    args: argparse.Namespace, path: PruningPath, instance: Instance
) -> tuple[Pruning, LimitedSolution | None, Promise | None]:
    """The pruning that the arguments ask for, the answer to the budget or limits, and what is promised."""
    if args.max_error is not None:
        judged = ReadForest.of(instance.forest).under_costs(mistake_costs(args.mistakes, instance.model.ensemble.classes))
        with errors_naming("--max-error"):
            confidence = args.confidence or SETTINGS.confidence
            goal = args.max_error, confidence
            pruning, promise = pruning_for_error(path.problem, judged, instance.data.y, *goal, groups=instance.data.group_numbers)
        return pruning, None, promise
    if limits_of(args) is None:
        return path.at_lam(args.lam), None, None
    found = within_limits(args, path)
    return found.pruning, found, None


def within_limits(args: argparse.Namespace, path: PruningPath) -> LimitedSolution:
    """The answer to ``--budget`` or to the limits."""
    options: dict[str, Any] = {"time_limit": args.time_limit, "path": path, "progress": shows_progress(args)}
    with errors_naming("--limit" if args.budget is None else "--budget"), doing(args, "searching within the limits"):
        answer: LimitedSolution = solve(path.problem, limits=limits_of(args) or (), method=args.method or "best", **options)
        return answer


def of_forest(each: list[argparse.Namespace], model: Any) -> list[Found]:
    """A forest: all optimal prunings, and those that the arguments for each budget ask for."""
    instance = read_instance(each[0], model)
    rows = _kept_apart(each[0], instance.model, instance.seen)
    for args in each:
        if (limits := limits_of(args)) is not None:
            with errors_naming("--limit" if args.limit else "--budget"):
                limit_rows(instance.problem, limits)
    path = path_of(each[0], instance)
    return [_pruned_forest(args, model, instance, path, rows) for args in each]


def _pruned_forest(
    args: argparse.Namespace, model: Any, instance: Instance, path: PruningPath, held_out: Examples | None
) -> Found:
    """The pruning of a path that the arguments ask for."""
    problem, unpruned = instance.problem, Pruning.unpruned(instance.problem)
    pruning, solution, promise = choose_pruning(args, path, instance)
    apart = args.error_data is None or not same_file(args.error_data, args.data)
    row, labels, groups = row_of(path, pruning), instance.data.y, instance.data.group_numbers
    bare, cut = apply_pruning(pruning, model), None
    if args.cut_vote:
        with errors_naming("--cut-vote"):
            cut = cut_of_forest(problem, bare, labels, groups)
    saved = with_cut(bare, cut)
    trained_on = rows_in_training(model, instance.data)
    answer = PrunedForest(saved, pruning, path, row, solution, None, model, labels, apart, trained_on, promise, groups, cut)
    lam, above = None if row is None else float(path.lam[row]), np.flatnonzero(path.cost > pruning.cost)
    dearer = path[above[-1]] if above.size else None
    record = instance.record(args) | {"breakpoints": len(path), "unpruned": unpruned, "pruned": pruning}
    record |= {"chosen_lam": lam, "next_dearer": dearer, "answer": None, "in_training": trained_on}
    rule = f"the optimum for lambda = {args.lam:g}" if args.lam is not None else "the least error found"
    if promise is not None:
        rule = f"the cheapest whose error is promised to be at most {args.max_error:g}"
    record |= {"promise": promise, "cut": cut}
    if solution is not None:
        proven = {"status": solution.status, "gap": solution.gap, "exact_cost": pruning.exact_cost, "budget": solution.budget}
        record["answer"] = plain(proven) | plain(replace(solution, proof=None))  # --proof writes that
    place = "between two prunings of the path" if lam is None else f"on the path, at lambda = {lam:.6g}"
    lines = [Line("chosen", f"{rule}; {place}, which has {count(len(path), 'optimal pruning')}")]
    if dearer is not None:
        lines.append(Line("next dearer", f"the path's next pruning costs {amount(dearer.cost)}, with {dearer.n_splits:,} splits"))

    def change(rows: Examples) -> HeldOutChange:
        on = problem if rows is instance.data else on_other_rows(problem, rows.X, rows.weights)
        judged: Any = SETTINGS.confidence, args.limit or (), args.positive, rows.group_numbers, cut
        return held_out_change(on, pruning.kept, model, rows.y, *judged)

    def picture(rows: Examples) -> Any:
        seen = None if rows.y is None else hold_out(pruning, model, rows.X, rows.y, sample_weight=rows.weights)
        return package("prunemodels.plots").plot_tradeoff(path, held_out=along(path, rows), chosen=seen or pruning)

    return Found(instance.model, instance.seen, answer, saved, path, change, picture, record, lines, held_out, solution)


def check_boosted_options(args: argparse.Namespace, more: str) -> None:
    """Refuse options that are for forests, among them `more`, and a missing label."""
    for names, why in (
        ("errors train error_data mistakes", "a boosted model is pruned for its own loss on --data"),
        (f"method {more}", "for a budget or a lambda there is one search"),
    ):
        refuse(args, names, f"is for forests, {args.forest} holds a boosted model; {why}: drop it")
    need(args, "label", "is missing: a boosted model is pruned for its loss on --data; name the column of the labels")


def read_boosted_inputs(args: argparse.Namespace, model: Any) -> tuple[TreeModel, Examples, Any]:
    """The trees of a model, the examples of ``--data``, and the prices."""
    with errors_naming("FOREST"):
        trees = tree_model_of(model)
    data = read_examples(args, "--data", trees)
    return trees, data, read_costs(args, data)


def search_boosted(
    each: list[argparse.Namespace], model: Any, data: Examples, costs: Any, *, whole: bool
) -> list[tuple[BoostedPath | None, BoostedPruning]]:
    """The trade-off, if all of it is wanted, and the pruning for each budget, or for ``--lam``."""
    args, budgets = each[0], [args.budget for args in each if args.budget is not None]
    options = {"costs": costs, "sample_weight": data.weights, "evaluation_cost": args.evaluation_cost}
    options |= {} if args.time_limit is None else {"time_limit": args.time_limit}
    path: BoostedPath | None = None
    of: Any = (model, data.X, data.y)
    with errors_naming("FOREST"), doing(args, "searching prunings"):
        if whole:
            path = boosted_path(*of, lams=SETTINGS.grid, budgets=budgets, **options)
        if path is not None and budgets:
            return [(path, path.at_cost(budget)) for budget in budgets]
        return [(path, prune_boosted(*of, budget=args.budget, lam=args.lam, **options))]


def of_boosted(each: list[argparse.Namespace], model: Any, *, whole: bool) -> list[Found]:
    """A model whose trees add up: the trade-off, if all of it is wanted, and the prunings that the arguments ask for."""
    trees, data, costs = read_boosted_inputs(each[0], model)
    rows = _kept_apart(each[0], trees, [data])
    found = search_boosted(each, model, data, costs, whole=whole)
    return [_pruned_boosted(args, trees, data, costs, rows, *one) for args, one in zip(each, found, strict=True)]


def _pruned_boosted(
    args: argparse.Namespace,
    trees: TreeModel,
    data: Examples,
    costs: Any,
    held_out: Examples | None,
    path: BoostedPath | None,
    chosen: BoostedPruning,
) -> Found:
    """The pruning that the arguments ask for."""
    saved, after = saved_model(chosen), tree_model_of(chosen)
    record = model_record(args, trees) | {"examples": len(data.X)}
    record |= {"pruned": {"cost": chosen.cost, "loss": chosen.loss, "splits": chosen.n_splits}}
    record |= {"visited": int(chosen.stats["visited"]), "stationary": chosen.stationary, "saved_as": type(saved).__name__}
    rule = "the least loss found within the budget" if args.budget is not None else "the least loss + lambda cost found"
    lines = [Line("chosen", f"{rule}, of {record['visited']:,} prunings visited; no proof that there is no better one")]
    if record["saved_as"] == "ModelForest":
        lines.append(Line("saved as", "trees of prunemodels, since CatBoost cannot hold pruned trees; load_forest reads them"))

    def picture(rows: Examples) -> Any:
        assert path is not None  # it is searched where pictures are asked for
        return package("prunemodels.plots").plot_curves([tradeoff_curve(path, rows.X, rows.y, sample_weight=rows.weights)])

    def change(rows: Examples) -> HeldOutChange:
        return changed(args, answers_on(args, trees, rows, costs), answers_on(args, after, rows, costs), rows)

    return Found(trees, [data], chosen, saved, path, change, picture, record, lines, held_out)
