"""The commands ``path`` and ``prune``: read the instance, prune, write the files, and summarise what the Python answers say."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.limits_solution import LimitsSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError
from formulations.extras import package
from formulations.shown import is_rate
from prunemodels.command_line.given import draw_pictures, errors_naming, need, option_of, refuse, reserve, shows_progress
from prunemodels.command_line.inputs import (
    Examples,
    Instance,
    check_held_out_file,
    hints_on_rows,
    limit_as_budget,
    limits_of,
    path_of,
    read_costs,
    read_examples,
    read_instance,
    read_model_file,
    same_file,
)
from prunemodels.command_line.judge import changed, loss_name, model_record, verdict_on
from prunemodels.command_line.summary import Line, Summary, budget_table, measure_name, plain
from prunemodels.evaluation.certified_budget import CertifiedBudget, budget_for_confidence
from prunemodels.evaluation.curve import boosted_curve
from prunemodels.evaluation.held_out import held_out_change, hold_out, on_other_rows
from prunemodels.evaluation.tradeoffs import SHARES
from prunemodels.files.forests import MODEL_ENDINGS, check_ending, dump_forest, saved_model
from prunemodels.files.mixtures import MixtureFiles
from prunemodels.models.boosting.boosted import boosted_path, prune_boosted
from prunemodels.models.boosting.boosted_pruning import BoostedPath, BoostedPruning
from prunemodels.models.forests.problems import apply_pruning
from prunemodels.models.tree_model import TreeModel, adds_up, tree_model_of
from prunemodels.models.unused_columns import drop_unused
from prunemodels.report_page.evidence import row_of
from prunemodels.statements.change import HeldOutChange
from prunemodels.statements.limit_uses import limit_uses, use_in_words
from prunemodels.statements.wording import count, error
from solvers.budgets import solve_budget, solve_within
from solvers.budgets.by_path import exact_cost

SEED = 0
"""Seed of the split that ``--confidence`` makes. It is fixed, so that the same command gives the same pruning."""

CHOOSES = "on which the pruning is chosen"

GRID = 12
"""Lambdas of a boosted model's trade-off, as many as `prune_boosted` goes along."""


@dataclass(frozen=True, eq=False)
class ChosenPruning:
    """The pruning that ``prune`` writes, and how it was found.

    `row` is its row of the path, None where it is no breakpoint; `next_dearer` the next breakpoint that costs more, None with
    ``--confidence``; `solution` the answer to the budget or the limits, None with ``--lam``.
    """

    pruning: Pruning
    row: int | None
    next_dearer: Pruning | None
    solution: BudgetSolution | LimitsSolution | None = None
    certified: CertifiedBudget | None = None


def path_command(args: argparse.Namespace) -> Summary:
    """``prunemodels path``: every optimal pruning as a table, and as a picture if one is asked for."""
    table = args.outputs.reserve(args.out, "--out", endings=(".csv",))
    check_held_out_file(args, CHOOSES)
    instance = read_instance(args)
    path = path_of(args, instance)
    path.to_frame().to_csv(args.outputs.aside(table), index=False)
    draw_pictures(args, lambda: package("prunemodels.plots").plot_tradeoff(path))
    return _summary(args, instance, path, None, [table])


def prune_command(args: argparse.Namespace) -> Summary:
    """``prunemodels prune``: one pruned model, and the path and pictures if they are asked for."""
    check_budget_options(args)
    outputs = args.outputs
    out = outputs.reserve(args.out, "--out", endings=MODEL_ENDINGS)
    if out.suffix == ".skops":
        package("skops.io")  # refused now rather than after the work
    model = read_model_file(args)
    boosted = adds_up(model)
    if boosted:
        check_boosted_options(args, "confidence mixture limit")
    with errors_naming("--out"):
        check_ending(model, out)
    tables = reserve(args, "path_csv", ".csv")
    files = [out, *tables]
    if boosted:
        return _prune_boosted(args, model, out, tables)
    mixture = MixtureFiles.beside(out, outputs) if args.mixture else None
    instance = read_instance(args, model)
    path = path_of(args, instance)
    choice = choose_pruning(args, path)
    _save(args, apply_pruning(choice.pruning, model), out)
    for table in tables:
        path.to_frame().to_csv(outputs.aside(table), index=False)
    if mixture is not None and isinstance(choice.solution, BudgetSolution):
        mixture.write(outputs, choice.solution, model)
        files += mixture.all
    return _summary(args, instance, path, choice, files)


def _save(args: argparse.Namespace, pruned: Any, out: Path) -> None:
    dump_forest(drop_unused(pruned) if args.drop_unused else pruned, args.outputs.aside(out))


def check_budget_options(args: argparse.Namespace) -> None:
    """Refuse options that do not go together, before anything is read."""
    limit_as_budget(args)
    if args.budget is None:
        if args.limit is None:
            refuse(args, "method time_limit confidence mixture", "goes with --budget, not with --lam: drop it, or give a budget")
        refuse(args, "confidence mixture", "goes with --budget, not with --limit: drop it, or give a budget")
    check_held_out_file(args, CHOOSES)
    if args.confidence is None:
        return
    refuse(
        args,
        "weights",
        "cannot be used with --confidence, whose bounds hold for examples of equal weight; draw --data by the weights",
    )
    refuse(
        args,
        "method time_limit mixture",
        "cannot be used with --confidence, which chooses a certified breakpoint; drop one of them",
    )
    for name in ("train", "error_data"):
        file = getattr(args, name)
        if file is not None and same_file(file, args.data):
            raise InvalidInputError(
                f"--confidence needs examples in --data that are used nowhere else, but {option_of(name)} names the same file; "
                "give another"
            )


def choose_pruning(args: argparse.Namespace, path: PruningPath) -> ChosenPruning:
    """The pruning that the arguments ask for."""
    if limits_of(args) is None:
        chosen = path.row_at_lam(args.lam)
        return ChosenPruning(path[chosen], chosen, path[chosen - 1] if chosen else None)
    if args.confidence is not None:
        with errors_naming(f"--confidence {args.confidence:g}"):
            certified = budget_for_confidence(path.problem, args.budget, confidence=args.confidence, random_state=SEED)
        pruning = Pruning(path.problem, certified.pruning.kept)
        solution = solve_budget(path.problem, args.budget, method="path", path=path)
        solution = replace(solution, pruning=pruning, error=pruning.error)
        return ChosenPruning(pruning, row_of(path, pruning), None, solution, certified)
    found = within_limits(args, path)
    within = 0 if args.budget is None else path.row_at_cost(args.budget)
    dearer = path[within - 1] if within else None
    return ChosenPruning(found.pruning, row_of(path, found.pruning), dearer, found)


def within_limits(args: argparse.Namespace, path: PruningPath) -> BudgetSolution | LimitsSolution:
    """The answer to ``--budget`` or to the limits."""
    options: dict[str, Any] = {"time_limit": args.time_limit, "path": path, "progress": shows_progress(args)}
    with errors_naming("--limit" if args.budget is None else "--budget"):
        return solve_within(path.problem, limits_of(args) or (), method=args.method or "best", **options)


def _summary(
    args: argparse.Namespace,
    instance: Instance,
    path: PruningPath,
    choice: ChosenPruning | None,
    files: list[Path],
) -> Summary:
    """Figures and lines of ``path`` (without a choice) and of ``prune``, and the pictures of a choice."""
    rows = None if args.held_out is None else read_examples(args, "--held-out", instance.model, weighted=True)
    measure, problem = instance.problem.ensemble.measure, path.problem
    apart = f"held-out {measure_name(measure)}" if rows is not None else f"{measure_name(measure)} on {args.data}"
    table = _budget_rows(args, instance, path, choice, rows)
    mean, source = "mean " * is_rate(measure) + measure_name(measure), problem.errors.source
    record = instance.record(args) | {"breakpoints": len(path)}
    record["unpruned"] = instance.measured([Pruning.unpruned(problem)])[0]
    lines: list[str | Line] = [
        f"{args.forest}: {record['model']} of {record['trees']} trees{_goal(args)}",
        "",
        budget_table(table, measure, error=apart, source=source, cost="cost" if rows is None else "held-out cost"),
        "",
        Line("single trees", f"{mean} of the trees, {source}: what pruning minimises beside the cost"),
    ]
    after = f"prunemodels prune {args.forest} ... --budget B saves a forest, and also searches between these prunings"
    if choice is not None:
        parts = [_chosen(args, path, choice)] + ([] if rows is None else [_on_held_out(args, instance, choice, rows)])
        for more, told in parts:
            record |= more
            lines += told
        record["pruned"] = instance.measured([choice.pruning])[0]
        draw_pictures(args, lambda: _picture(instance, path, choice, rows))
        after = f"prunemodels report {args.forest} ... --pruned {args.out} writes a page on it for others"
    lines += [Line("cost sample", instance.sample), Line("path", count(len(path), "optimal pruning"))]
    record |= {"table": table, "measured_on": args.data if rows is None else "held out"}
    return Summary(record, lines, files, instance.data.ignored, hints_on_rows(rows, *instance.seen), after)


def _goal(args: argparse.Namespace) -> str:
    """What was asked for, for the title; nothing of ``path``."""
    if args.command == "path":
        return ""
    wanted = [f"{limit.title} at most {float(limit.at_most):g}" for limit in limits_of(args) or ()]
    return f", pruned to {', '.join(wanted) if args.lam is None else f'lambda = {args.lam:g}'}"


def _budget_rows(
    args: argparse.Namespace, instance: Instance, path: PruningPath, choice: ChosenPruning | None, rows: Examples | None
) -> list[dict[str, Any]]:
    """The unpruned forest, the best of the path within shares of its cost, and the chosen pruning; each pruning once.

    Costs and errors are those on held-out examples, if there are some, else those on the cost sample.
    """
    unpruned = Pruning.unpruned(path.problem)

    def label(budget: float) -> str:
        return f"{budget:.4g} ({100 * budget / unpruned.cost:.0f} %)" if unpruned.cost > 0 else f"{budget:.4g}"

    best = {path.row_at_cost(share * unpruned.cost): share * unpruned.cost for share in SHARES}  # the tightest budget of each
    taken = [] if choice is None else [choice]
    found = [(b, label(b), path[row], False) for row, b in best.items() if row not in [c.row for c in taken]]
    for c in taken:
        limit = c.pruning.cost if args.budget is None else args.budget
        name = label(limit) if args.budget is not None else "limits" if args.limit else f"lambda {args.lam:g}"
        found.append((limit, name, c.pruning, True))
    found = [(unpruned.cost, "unpruned", unpruned, False), *sorted(found, key=lambda entry: -entry[0])]
    figures = instance.measured([pruning for _, _, pruning, _ in found], rows)
    return [{"budget": name, "chosen": chosen} | f for (_, name, _, chosen), f in zip(found, figures, strict=True)]


def _chosen(args: argparse.Namespace, path: PruningPath, choice: ChosenPruning) -> tuple[dict[str, Any], list[str | Line]]:
    """The pruning that is written: by which rule, and what is proven of it."""
    solution, certified, dearer = choice.solution, choice.certified, choice.next_dearer
    lam = None if choice.row is None else float(path.lam[choice.row])
    rule = f"the optimum for lambda = {args.lam:g}" if solution is None else "the least error found"
    if certified is not None:
        rule = "the dearest optimal pruning of one half of the rows that the other half certifies"
    place = "between two prunings of the path" if lam is None else f"on the path, at lambda = {lam:.6g}"
    record: dict[str, Any] = {"budget": args.budget, "lam": args.lam, "chosen_lam": lam, "next_dearer": dearer, "answer": None}
    lines: list[str | Line] = [Line("chosen", f"{rule}; {place}")]
    if solution is not None:
        proven = {"status": solution.status, "gap": solution.gap, "exact_cost": exact_cost(choice.pruning)}
        record["answer"] = plain(proven) | plain(solution)
        how = "" if certified is not None else f" ({args.method or 'best'}: {solution.status})"
        lines.append(Line("answer", f"{solution.in_words()}{how}"))
    if certified is not None:
        names = ("confidence", "method", "smaller_budget", "certified_cost", "upper_bound", "n_choosing", "n_certifying")
        record["certified"] = {name: getattr(certified, name) for name in names}
        lines.append(Line("certified", repr(certified)))
    if args.mixture and isinstance(solution, BudgetSolution):
        lines.append(Line("mixture", repr(solution.relaxation)))
    if dearer is not None:
        lines.append(Line("next dearer", f"the path's next pruning: {dearer!r}"))
    return record, lines


def _on_held_out(
    args: argparse.Namespace, instance: Instance, choice: ChosenPruning, rows: Examples
) -> tuple[dict[str, Any], list[str | Line]]:
    """Cost, use of limits, and error of the chosen pruning on held-out examples, before and after."""
    limits, pruning = args.limit or (), choice.pruning
    with errors_naming(f"--held-out {rows.file}"):
        if rows.y is not None:
            apart = on_other_rows(instance.problem, rows.X, rows.weights)
            seen = held_out_change(apart, pruning.kept, instance.forest, rows.y, 0.95, limits)
            return seen_apart(args, seen)
        cost = hold_out(pruning, instance.forest, rows.X, sample_weight=rows.weights).cost
        uses = limit_uses(instance.problem.usage.on(rows.X, rows.weights), pruning.kept, limits)
    more, told = verdict_on(args.budget, cost)
    told = told or [
        Line("held out", f"cost {cost.mean:.4g}, 95 % interval {cost.low:.4g} to {cost.high:.4g}, {cost.n:,} examples")
    ]
    told += [Line("", use_in_words(use), "warning" if use.is_over else "") for use in uses]
    return {"held_out": {"n": cost.n, "cost_after": cost, "uses": uses}} | more, told


def seen_apart(args: argparse.Namespace, seen: HeldOutChange) -> tuple[dict[str, Any], list[str | Line]]:
    """A change on held-out examples, what it says of a budget, and what may do better where the error rose by much."""
    more, told = verdict_on(args.budget, seen.cost_after, getattr(args, "unit", None) or "")
    lines: list[str | Line] = ["", repr(seen), "", *told]
    if seen.far_worse:
        ways = "exits (prunemodels exits), a cascade (prunemodels cascade), or a larger budget"
        before = error(seen.error_before.mean, seen.measure)
        lines.append(Line("worse", f"the unpruned forest errs {before} there; at this cost may do better: {ways}", "warning"))
    return {"held_out": seen} | more, lines


def _picture(instance: Instance, path: PruningPath, choice: ChosenPruning, rows: Examples | None) -> Any:
    """The whole path, and for a budget what is near it."""
    plots = package("prunemodels.plots")
    if not isinstance(choice.solution, BudgetSolution):
        return plots.plot_tradeoff(path, chosen=choice.pruning)
    held_out = None
    if rows is not None:
        held_out = [hold_out(choice.pruning, instance.forest, rows.X, rows.y, sample_weight=rows.weights)]
    return plots.plot_budget(choice.solution, path, held_out=held_out, chosen=choice.pruning)


def check_boosted_options(args: argparse.Namespace, more: str) -> None:
    """Refuse options that are for forests, among them `more`, and a missing label."""
    for names, why in (
        ("errors train error_data given_share mistakes", "a boosted model is pruned for its own loss on --data"),
        (f"method {more}", "for a budget or a lambda there is one search"),
    ):
        refuse(args, names, f"is for forests, {args.forest} holds a boosted model; {why}: drop it")
    need(args, "label", "is missing: a boosted model is pruned for its loss on --data; name the column of the labels")


def read_boosted_inputs(args: argparse.Namespace, model: Any) -> tuple[TreeModel, Examples, Any]:
    """The trees of a model, the examples of ``--data``, and the prices."""
    with errors_naming("FOREST"):
        trees = tree_model_of(model)
    data = read_examples(args, "--data", trees, weighted=True)
    return trees, data, read_costs(args.costs, data.names, data.X)


def search_boosted(
    args: argparse.Namespace, model: Any, data: Examples, costs: Any, *, whole: bool
) -> tuple[BoostedPath | None, BoostedPruning]:
    """The trade-off, if all of it is wanted, and the pruning for ``--budget`` or ``--lam``."""
    options = {"costs": costs, "sample_weight": data.weights, "evaluation_cost": args.evaluation_cost}
    options |= {} if args.time_limit is None else {"time_limit": args.time_limit}
    path: BoostedPath | None = None
    of: Any = (model, data.X, data.y)
    with errors_naming("FOREST"):
        if whole:
            path = boosted_path(*of, lams=GRID, budgets=[] if args.budget is None else [args.budget], **options)
        if path is not None and args.budget is not None:
            return path, path.at_cost(args.budget)
        return path, prune_boosted(*of, budget=args.budget, lam=args.lam, **options)


def _prune_boosted(args: argparse.Namespace, model: Any, out: Path, tables: list[Path]) -> Summary:
    """``prunemodels prune`` for a model whose trees add up."""
    trees, data, costs = read_boosted_inputs(args, model)
    rows = None if args.held_out is None else read_examples(args, "--held-out", trees, weighted=True)
    path, chosen = search_boosted(args, model, data, costs, whole=bool(tables or args.pictures))
    pruned, seen = saved_model(chosen), data if rows is None else rows
    _save(args, pruned, out)
    if path is not None:
        for table in tables:
            path.to_frame().to_csv(args.outputs.aside(table), index=False)
        curve = boosted_curve(path, seen.X, seen.y, "prune_boosted", None)
        draw_pictures(args, lambda: package("prunemodels.plots").plot_curves([curve]))
    after = tree_model_of(chosen)
    change = changed(trees, after, seen, costs, args.evaluation_cost)
    losses = [m.loss(seen.X, seen.y, seen.weights) for m in (trees, after)]
    record = model_record(args, trees) | {"examples": len(data.X), "budget": args.budget, "lam": args.lam}
    record |= {"pruned": {"cost": chosen.cost, "loss": chosen.loss, "splits": chosen.n_splits}}
    record |= {"visited": int(chosen.stats["visited"]), "stationary": chosen.stationary, "saved_as": type(pruned).__name__}
    record |= {"measured_on": args.data if rows is None else "held out"}
    record |= {"loss": {"name": loss_name(trees), "before": losses[0], "after": losses[1]}}
    rule = "the least loss found within the budget" if args.budget is not None else "the least loss + lambda cost found"
    apart = "held out" if rows is not None else "on which the pruning was found"
    more, told = verdict_on(args.budget if rows is not None else None, change.cost_after)
    lines: list[str | Line] = [
        f"{args.forest}: {record['model']} of {record['trees']} trees{_goal(args)}",
        "",
        repr(change),
        "",
        Line("measured on", f"{len(seen.X):,} examples of {seen.file}, {apart}"),
        Line(
            "loss",
            f"{loss_name(trees)} {losses[0]:.4g} -> {losses[1]:.4g}; splits {trees.ensemble.n_splits:,} -> {chosen.n_splits:,}",
        ),
        Line("chosen", f"{rule}, of {record['visited']:,} prunings visited; no proof that there is no better one"),
        Line(
            "cost sample",
            f"{len(data.X):,} examples of {data.file}: cost {chosen.cost:.4g}, {loss_name(trees)} {chosen.loss:.4g}",
        ),
        *told,
    ]
    if record["saved_as"] == "ModelForest":
        lines.append(Line("saved as", "trees of prunemodels, since CatBoost cannot hold pruned trees; load_forest reads them"))
    record |= {"on_data" if rows is None else "held_out": change} | more
    return Summary(record, lines, [out, *tables], data.ignored, hints_on_rows(rows, data))
