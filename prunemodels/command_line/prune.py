"""The commands ``path`` and ``prune``: read the instance, prune, write the files, and summarise what the Python answers say."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError
from formulations.extras import package
from formulations.programs.limit_rows import limit_rows
from formulations.shown import align
from prunemodels.command_line.inputs import (
    Examples,
    Instance,
    check_held_out_file,
    each_budget,
    file_of,
    hints_on_rows,
    limit_as_budget,
    limits_of,
    mistake_costs,
    path_of,
    read_costs,
    read_examples,
    read_instance,
    read_model_file,
    rows_in_training,
    same_file,
)
from prunemodels.command_line.judge import (
    answered,
    budget_lines,
    budget_warnings,
    changed,
    check_positive,
    choice_line,
    model_record,
    verdict_on,
    warnings_of,
)
from prunemodels.command_line.parsing import (
    again,
    draw_pictures,
    errors_naming,
    need,
    option_of,
    refuse,
    reserve,
    reserve_model,
    shows_progress,
)
from prunemodels.command_line.process import SETTINGS, doing
from prunemodels.command_line.summary import Line, Summary, card_of, plain
from prunemodels.estimators.fitted_forest import pruning_for_error
from prunemodels.estimators.pruned_forest import PrunedForest
from prunemodels.evaluation.curve import tradeoff_curve
from prunemodels.evaluation.held_out import held_out_change, hold_out, on_other_rows
from prunemodels.evaluation.path import PathEvaluation, evaluate_path
from prunemodels.evaluation.vote import cut_of_forest, with_cut
from prunemodels.files.answers import save_solution
from prunemodels.files.forests import MODEL_ENDINGS, check_ending, dump_forest, saved_model
from prunemodels.models.boosting.boosted import boosted_path, prune_boosted
from prunemodels.models.boosting.boosted_pruning import BoostedPath, BoostedPruning
from prunemodels.models.forests.problems import apply_pruning
from prunemodels.models.forests.reading import ReadForest
from prunemodels.models.tree_model import TreeModel, adds_up, tree_model_of
from prunemodels.models.unused_columns import drop_unused
from prunemodels.report_page.evidence import row_of
from prunemodels.solving import solve
from prunemodels.statements.change import HeldOutChange
from prunemodels.statements.promises import Promise
from prunemodels.statements.wording import amount, count, error, limit_uses, use_in_words

CHOOSES = "on which the pruning is chosen"


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


def path_command(args: argparse.Namespace) -> Summary:
    """``prunemodels path``: every optimal pruning as a table, and as a picture if one is asked for."""
    table = args.outputs.reserve(args.out, "--out", endings=(".csv",))
    check_held_out_file(args, CHOOSES)
    if args.held_out is not None:
        need(args, "label", "is missing: the screen shows the error on --held-out; name the label column")
    instance = read_instance(args)
    rows = None if args.held_out is None else read_examples(args, "--held-out", instance.model)
    hints = hints_on_rows(rows, *instance.seen)
    path, on = path_of(args, instance), instance.data if rows is None else rows
    path.to_frame().to_csv(args.outputs.aside(table), index=False)
    seen = _along(path, on)
    draw_pictures(args, lambda: package("prunemodels.plots").plot_tradeoff(path, held_out=seen))
    record = instance.record(args) | {"breakpoints": len(path), "unpruned": Pruning.unpruned(path.problem)}
    record |= {"measured_on": on.file, "evaluation": None if seen is None else seen.to_frame().to_dict("records")}
    lines: list[str | Line] = [f"{args.forest}: {record['model']} of {record['trees']} trees", "", card_of(path), ""]
    lines += [] if seen is None else [card_of(seen), ""]
    middle = f"{path.cost[len(path) // 2]:.4g}"
    after = again(args, "prune", args.forest, "picture", budget=middle, out=f"{Path(args.out).stem}-{middle}.skops")
    return Summary(record, [*lines, Line("measured on", on.told)], [table], instance.data.ignored, hints, next=after)


def _along(path: PruningPath, rows: Examples) -> PathEvaluation | None:
    """Cost and error of the whole path on examples, if they are labelled."""
    return None if rows.y is None else evaluate_path(path, rows.X, rows.y, sample_weight=rows.weights)


def prune_command(args: argparse.Namespace) -> Summary:
    """``prunemodels prune``: one pruned model, and the path and pictures if they are asked for."""
    each = check_budget_options(args)
    outs = [reserve_model(args, file_of(one), MODEL_ENDINGS) for one in each]
    model = read_model_file(args)
    boosted = adds_up(model)
    if boosted:
        check_boosted_options(args, "confidence cut_vote groups limit max_error proof")
    with errors_naming("--out"):
        check_ending(model, outs[0])
    tables = reserve(args, "path_csv", ".csv")
    proofs = reserve(args, "proof", ".npz")
    # search, with the whole path where it is shown or serves several budgets
    whole = bool(tables or args.pictures or len(each) > 1)
    found = _of_boosted(each, model, whole=whole) if boosted else _of_forest(each, model)
    first = found[0]
    rows = first.held_out
    hints, on = hints_on_rows(rows, *first.seen), first.data if rows is None else rows
    # the files
    for one, out in zip(found, outs, strict=True):
        dump_forest(drop_unused(one.saved) if args.drop_unused else one.saved, args.outputs.aside(out))
    for table in tables:
        first.path.to_frame().to_csv(args.outputs.aside(table), index=False)
    if first.solution is not None:
        for proof in proofs:
            save_solution(first.solution, args.outputs.aside(proof))
    draw_pictures(args, lambda: first.picture(on))
    files = [*outs, *tables, *proofs]
    # the record and the lines
    if len(each) > 1:
        return _of_budgets(each, found, on, files, hints)
    args, record = each[0], first.record | {"budget": each[0].budget, "lam": args.lam, "measured_on": on.file}
    record["on_data"] = None if first.data.y is None else first.change(first.data)
    title = f"{args.forest}: {record['model']} of {record['trees']} trees, pruned to {_goal(args)}"
    lines: list[str | Line] = [card_of(first.answer, title), ""]
    if rows is not None:
        more, told = _on_held_out(args, first, rows)
        record |= more
        lines += told
    lines += [*first.lines, Line("cost sample", first.data.told)]
    return Summary(
        record, lines, files, first.data.ignored, hints, next=_next(args, boosted=boosted), warnings=warnings_of(record)
    )


def _next(args: argparse.Namespace, *, boosted: bool) -> str:
    """A page on the pruning, where there are held-out examples; else its answers for the examples."""
    if args.held_out is None or args.label is None:
        name = Path(args.out).with_suffix(".csv").name
        return again(args, "predict", args.out, "budget costs evaluation-cost", out=name)
    page, own = Path(args.out).with_suffix(".html").name, "confidence max-error"
    if boosted:
        return again(args, "report", args.forest, own, out=page)
    return again(args, "report", args.forest, f"{own} budget limit lam method time-limit", pruned=args.out, out=page)


def _kept_apart(args: argparse.Namespace, model: TreeModel, seen: list[Examples]) -> Examples | None:
    """The examples of ``--held-out``, refused where they do not suit before any work."""
    rows = None if args.held_out is None else read_examples(args, "--held-out", model)
    hints_on_rows(rows, *seen)
    check_positive(args, model.classes, (seen[0] if rows is None else rows).y)
    return rows


def _goal(args: argparse.Namespace) -> str:
    """What was asked for, in words."""
    wanted = [f"{limit.title} at most {float(limit.at_most):g}" for limit in limits_of(args) or ()]
    if args.max_error is not None:
        return f"an error of at most {args.max_error:g}"
    return ", ".join(wanted) if args.lam is None else f"lambda = {args.lam:g}"


def _of_budgets(
    each: list[argparse.Namespace], found: list[Found], rows: Examples, files: list[Path], hints: list[str]
) -> Summary:
    """The prunings for several budgets, as one table."""
    first = found[0]
    changes = [None if rows.y is None else one.change(rows) for one in found]
    record = {name: first.record[name] for name in ("forest", "model", "trees", "data")} | {"measured_on": rows.file}
    record["budgets"] = [
        one.record | {"budget": args.budget, "file": file_of(args), "change": change}
        for one, args, change in zip(found, each, changes, strict=True)
    ]
    title = f"{record['forest']}: {record['model']} of {record['trees']} trees, pruned to {len(each)} budgets"
    lines: list[str | Line] = [title, ""]
    budgets = [args.budget for args in each]
    if seen := [change for change in changes if change is not None]:
        lines += budget_lines("unpruned", budgets, seen, rows.told)
    else:
        told = [(one.record["pruned"], one.record["unpruned"]) for one in found if isinstance(one.answer, PrunedForest)]
        cells = [[f"{b:g}", amount(after.cost), f"{after.n_splits:,}"] for b, (after, _) in zip(budgets, told, strict=True)]
        before = told[0][1]
        cells = [["unpruned", amount(before.cost), f"{before.n_splits:,}"], *cells]
        lines += [align(["budget", "cost", "splits"], cells, left=1), "", Line("measured on", rows.told)]
    return Summary(record, lines, files, first.data.ignored, hints, warnings=budget_warnings(budgets, changes))


def check_budget_options(args: argparse.Namespace) -> list[argparse.Namespace]:
    """Refuse options that do not go together, before anything is read; the arguments for each budget."""
    limit_as_budget(args)
    each = each_budget(args)
    # one goal
    if args.max_error is not None:
        need(args, "label", "is missing: --max-error is tested on labelled examples; name the label column of --data")
    elif args.budget is None and args.limit is None:
        if args.lam is None:
            raise InvalidInputError("one of --budget, --limit, --lam and --max-error is required")
        refuse(args, "method time_limit proof", "goes with --budget, not with --lam: drop it, or give a budget")
    # options that go with some goals only
    if len(each) > 1:
        refuse(args, "proof picture", "is for one budget at a time; drop it, or give one budget")
    check_held_out_file(args, CHOOSES)
    if args.cut_vote:
        need(args, "label", "is missing: --cut-vote chooses by labelled examples; name the label column of --data")
        if args.max_error is not None:
            raise InvalidInputError(
                "--cut-vote and --max-error do not go together: the vote is tested as it is; drop one of them"
            )
    if args.max_error is None:
        refuse(args, "confidence", "goes with --max-error: drop it, or give an error")
        return each
    refuse(
        args,
        "weights",
        "cannot be used with --max-error, whose bounds hold for examples of equal weight; draw --data by the weights",
    )
    refuse(
        args,
        "method time_limit proof",
        "cannot be used with --max-error, which chooses a certified breakpoint; drop one of them",
    )
    # examples that test an error must not have been used for anything else
    for name in ("train", "error_data"):
        file = getattr(args, name)
        if file is not None and same_file(file, args.data):
            raise InvalidInputError(
                f"--max-error needs examples in --data that are used nowhere else, but {option_of(name)} names the same file; "
                "give another"
            )
    return each


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


def _of_forest(each: list[argparse.Namespace], model: Any) -> list[Found]:
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
        return package("prunemodels.plots").plot_tradeoff(path, held_out=_along(path, rows), chosen=seen or pruning)

    return Found(instance.model, instance.seen, answer, saved, path, change, picture, record, lines, held_out, solution)


def _on_held_out(args: argparse.Namespace, found: Found, rows: Examples) -> tuple[dict[str, Any], list[str | Line]]:
    """Cost, use of limits, and error on held-out examples, before and after; without labels cost and use."""
    with errors_naming(f"--held-out {rows.file}"), doing(args, f"measuring on {rows.file}"):
        if rows.y is not None:
            return seen_apart(args, found.change(rows))
        assert isinstance(found.answer, PrunedForest)  # boosted models need labels
        pruning = found.answer.pruning
        seen = hold_out(pruning, found.answer.forest, rows.X, sample_weight=rows.weights)
        uses = limit_uses(found.answer.problem.usage.on(rows.X, rows.weights), pruning.kept, args.limit or ())
    more, told = verdict_on(args.budget, seen.cost)
    told += [Line("", use_in_words(use), "warning" if use.is_over else "") for use in uses]
    return {"held_out": {"n": seen.cost.n, "cost_after": seen.cost, "uses": uses}} | more, [card_of(seen), "", *told]


def seen_apart(
    args: argparse.Namespace, seen: HeldOutChange, *, cascade: bool = False
) -> tuple[dict[str, Any], list[str | Line]]:
    """A change on held-out examples, what it says of a budget, and what may do better where the error rose by much."""
    more, told = verdict_on(args.budget, seen.cost_after, getattr(args, "unit", None) or "")
    lines: list[str | Line] = [card_of(seen), "", *choice_line(seen.classes), *told]
    if seen.far_worse:
        before = error(seen.error_before.mean, seen.measure)
        better = f"the last stage errs {before} there; a larger budget may do better"
        if not cascade:
            ways = "exits (prunemodels exits), a cascade (prunemodels cascade), or a larger budget"
            better = f"the unpruned forest errs {before} there; at this cost may do better: {ways}"
        lines.append(Line("worse", better, "warning"))
    return {"held_out": seen} | more, lines


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


def _of_boosted(each: list[argparse.Namespace], model: Any, *, whole: bool) -> list[Found]:
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
        return changed(args, answered(args, trees, rows, costs), answered(args, after, rows, costs), trees.classes, rows)

    return Found(trees, [data], chosen, saved, path, change, picture, record, lines, held_out)
