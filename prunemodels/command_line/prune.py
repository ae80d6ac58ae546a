"""The commands ``path`` and ``prune``: read the instance, prune, write the files, and summarise.

Every figure comes from a `Pruning` or from `evaluate`; nothing is read back from a solver. Exact fractions are also given as
text, such as ``"37/8"``.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.limits_solution import LimitsSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError
from formulations.extras import package
from prunemodels.command_line.boosted import prune_boosted_command
from prunemodels.command_line.inputs import (
    Examples,
    Instance,
    check_held_out_file,
    draw_pictures,
    figures_of,
    hints_on_rows,
    limit_as_budget,
    limits_of,
    option_of,
    path_of,
    read_examples,
    read_instance,
    read_model_file,
    reserve_pictures,
    same_file,
)
from prunemodels.command_line.refusals import errors_naming
from prunemodels.command_line.summary import (
    Line,
    Summary,
    budget_table,
    limit_figures,
    limit_lines,
    measure_name,
    row,
    shown_error,
)
from prunemodels.command_line.terminal import shows_progress
from prunemodels.evaluation.certified_budget import CertifiedBudget, budget_for_confidence
from prunemodels.evaluation.held_out import HeldOut, hold_out, on_other_rows
from prunemodels.evaluation.held_out_tradeoff import SHARES
from prunemodels.evaluation.limit_uses import LimitUse, limit_uses
from prunemodels.evaluation.wording import budget_verdict, is_overrun
from prunemodels.files.forests import MODEL_ENDINGS, check_ending, dump_forest
from prunemodels.files.mixtures import MixtureFiles
from prunemodels.models.forests.problems import apply_pruning
from prunemodels.models.tree_model import adds_up
from prunemodels.models.unused_columns import drop_unused
from solvers.budgets import solve_budget, solve_within
from solvers.budgets.by_path import exact_cost

SEED = 0
"""Seed of the split that ``--confidence`` makes. It is fixed, so that the same command gives the same pruning."""

CHOOSES = "on which the pruning is chosen"


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
        the answer to the budget or the limits; None with ``--lam``.
    """

    pruning: Pruning
    row: int | None
    next_dearer: Pruning | None
    method: str = "path"
    solution: BudgetSolution | LimitsSolution | None = None
    certified: CertifiedBudget | None = None


def path_command(args: argparse.Namespace) -> Summary:
    """``prunemodels path``: every optimal pruning as a table, and as a picture if one is asked for."""
    start = time.perf_counter()
    table = args.outputs.reserve(args.out, "--out", endings=(".csv",))
    pictures = reserve_pictures(args)
    check_held_out_file(args, CHOOSES)
    instance = read_instance(args)
    path = path_of(args, instance)
    path.to_frame().to_csv(args.outputs.aside(table), index=False)

    def figure() -> Any:
        from prunemodels.plots.tradeoff import plot_tradeoff

        return plot_tradeoff(path)

    draw_pictures(args, pictures, figure)
    return _summary(args, instance, path, start, [table, *pictures], None, _held_out_rows(args, instance), None)


def prune_command(args: argparse.Namespace) -> Summary:
    """``prunemodels prune``: one pruned model, and the path and pictures if they are asked for."""
    start = time.perf_counter()
    check_budget_options(args)
    outputs = args.outputs
    out = outputs.reserve(args.out, "--out", endings=MODEL_ENDINGS)
    if out.suffix == ".skops":
        package("skops.io")  # refused now rather than after the work
    forest = read_model_file(args)
    if adds_up(forest):
        return prune_boosted_command(args, forest, out, start)
    with errors_naming("--out"):
        check_ending(forest, out)
    tables = [] if args.path_csv is None else [outputs.reserve(args.path_csv, "--path-csv", endings=(".csv",))]
    pictures = reserve_pictures(args)
    mixture = MixtureFiles.beside(out, outputs) if args.mixture else None
    instance = read_instance(args, forest)
    path = path_of(args, instance)
    choice = choose_pruning(args, path)
    pruned = apply_pruning(choice.pruning, forest)
    rows = _held_out_rows(args, instance)
    held_out = None if rows is None else _hold_out(instance, choice.pruning, rows)
    dump_forest(drop_unused(pruned) if args.drop_unused else pruned, outputs.aside(out))
    for table in tables:
        path.to_frame().to_csv(outputs.aside(table), index=False)

    def figure() -> Any:
        from prunemodels.plots import plot_budget, plot_tradeoff

        if not isinstance(choice.solution, BudgetSolution):
            return plot_tradeoff(path, chosen=choice.pruning)
        return plot_budget(choice.solution, path, held_out=None if held_out is None else [held_out], chosen=choice.pruning)

    draw_pictures(args, pictures, figure)
    if mixture is not None and isinstance(choice.solution, BudgetSolution):
        mixture.write(outputs, choice.solution, forest)
    files = [out, *tables, *pictures, *(mixture.all if mixture else [])]
    return _summary(args, instance, path, start, files, choice, rows, held_out)


def check_budget_options(args: argparse.Namespace) -> None:
    """Refuse options that do not go together, before anything is read."""
    limit_as_budget(args)
    given = [o for o in ("method", "time_limit", "confidence", "mixture") if getattr(args, o) not in (None, False)]
    if args.budget is None:
        for name in given:
            if args.limit is None:
                raise InvalidInputError(f"{option_of(name)} goes with --budget, not with --lam: drop it, or give a budget")
            if name in ("confidence", "mixture"):
                raise InvalidInputError(f"{option_of(name)} goes with --budget, not with --limit: drop it, or give a budget")
    check_held_out_file(args, CHOOSES)
    if args.confidence is None:
        return
    if args.weights is not None:
        raise InvalidInputError(
            "--weights cannot be used with --confidence, whose bounds hold for examples of equal weight; "
            "draw --data by the weights"
        )
    for name in (name for name in given if name != "confidence"):
        raise InvalidInputError(
            f"{option_of(name)} cannot be used with --confidence, which chooses a certified breakpoint; drop one of them"
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
    limits = limits_of(args)
    if limits is None:
        chosen = path.row_at_lam(args.lam)
        return ChosenPruning(path[chosen], chosen, path[chosen - 1] if chosen else None)
    if args.confidence is not None:
        with errors_naming(f"--confidence {args.confidence:g}"):
            certified = budget_for_confidence(path.problem, args.budget, confidence=args.confidence, random_state=SEED)
        solution = solve_budget(path.problem, args.budget, method="path", path=path)
        pruning = Pruning(path.problem, certified.pruning.kept)
        return ChosenPruning(pruning, _row_of(pruning, path), None, "path", solution, certified)
    method: Any = args.method or "best"
    options: dict[str, Any] = {"time_limit": args.time_limit, "path": path, "progress": shows_progress(args)}
    with errors_naming("--budget" if args.limit is None else "--limit"):
        found = solve_within(path.problem, limits, method=method, **options)
    within = 0 if args.budget is None else path.row_at_cost(args.budget)
    dearer = path[within - 1] if within else None
    return ChosenPruning(found.pruning, _row_of(found.pruning, path), dearer, method, found)


def _row_of(pruning: Pruning, path: PruningPath) -> int | None:
    """The row of the path that equals the pruning; None where no row does."""
    rows = [k for k in range(len(path)) if path.integer_cost[k] == pruning.integer_cost]
    return next((k for k in rows if np.array_equal(path[k].kept, pruning.kept)), None)


def _held_out_rows(args: argparse.Namespace, instance: Instance) -> Examples | None:
    """The examples of ``--held-out``; None without that option."""
    return None if args.held_out is None else read_examples(args, "--held-out", instance.model, weighted=True)


def _hold_out(instance: Instance, pruning: Pruning, rows: Examples) -> HeldOut:
    """Evaluate a pruning on held-out examples."""
    with errors_naming(f"--held-out {rows.file}"):
        return hold_out(pruning, instance.forest, rows.X, rows.y, sample_weight=rows.weights)


def _budget_rows(
    args: argparse.Namespace, instance: Instance, path: PruningPath, choice: ChosenPruning | None, held_out: Examples | None
) -> list[dict[str, Any]]:
    """The unpruned forest, the best of the path within shares of its cost, and the chosen pruning; each pruning once.

    Costs and errors are those on held-out examples, if there are some, else those on the cost sample.
    """

    def measured(pruning: Pruning) -> dict[str, Any]:
        if held_out is None:
            return instance.figures(pruning)
        seen = _hold_out(instance, pruning, held_out)
        return figures_of(pruning, seen.cost.mean, None if seen.error is None else seen.error.mean)

    def label(budget: float) -> str:
        return f"{budget:.4g} ({100 * budget / unpruned.cost:.0f} %)" if unpruned.cost > 0 else f"{budget:.4g}"

    unpruned = Pruning.unpruned(path.problem)
    best = {path.row_at_cost(share * unpruned.cost): share for share in SHARES}  # the last, tightest budget of each row
    taken = None if choice is None else choice.row
    rows = [
        (share * unpruned.cost, row(label(share * unpruned.cost), measured(path[number])))
        for number, share in best.items()
        if number != taken
    ]
    if choice is not None:
        limit = choice.pruning.cost if args.budget is None else args.budget
        name = label(limit) if args.budget is not None else "limits" if args.limit else f"lambda {args.lam:g}"
        rows.append((limit, row(name, measured(choice.pruning), chosen=True)))
    rows.sort(key=lambda pair: -pair[0])
    return [row("unpruned", measured(unpruned)), *(shown for _, shown in rows)]


def _summary(
    args: argparse.Namespace,
    instance: Instance,
    path: PruningPath,
    start: float,
    written: list[Path],
    choice: ChosenPruning | None,
    rows: Examples | None,
    held_out: HeldOut | None,
) -> Summary:
    """Figures and lines of ``path`` (without a choice) and of ``prune``."""
    measure = instance.problem.ensemble.measure
    budget, lam = getattr(args, "budget", None), getattr(args, "lam", None)
    dearer = None if choice is None else choice.next_dearer
    solution = None if choice is None else choice.solution
    answer = None if choice is None or not isinstance(solution, BudgetSolution) else budget_answer(solution, choice)
    within = limits_answer(solution) if isinstance(solution, LimitsSolution) else None
    told = () if choice is None or rows is None or not isinstance(solution, LimitsSolution) else _uses(instance, choice, rows)
    apart = None if held_out is None else held_out_figures(held_out, args.held_out, budget)
    record = instance.record(args) | {
        "data_labelled": None if args.label is None else args.data,
        "breakpoints": len(path),
        "unpruned": instance.figures(Pruning.unpruned(instance.problem)),
        "pruned": None if choice is None else instance.figures(choice.pruning),
        "budget": budget,
        "lam": lam,
        "chosen_lam": None if choice is None or choice.row is None else float(path.lam[choice.row]),
        "next_dearer": None if dearer is None else figures_of(dearer),
        "budget_answer": answer,
        "limits_answer": within,
        "held_out_limits": limit_figures(told),
        "held_out": apart,
        "table": _budget_rows(args, instance, path, choice, rows),
        "measured_on": args.data if rows is None else "held out",
        "mixture": getattr(args, "mixture", False),
        "seconds": time.perf_counter() - start,
    }

    def shown(error: float) -> str:
        return shown_error(error, measure)

    lines = _head(record)
    if choice is not None:
        lines.append(Line("chosen", _rule(record)))
    if answer is not None and budget is not None:
        lines += answer_lines(answer, budget, shown)
        lines += mixture_lines(answer["relaxation"], shown) if args.mixture else []
    lines += [] if within is None else within_lines(within, shown)
    if dearer is not None:
        lines.append(
            Line("next dearer", f"the path's next pruning costs {dearer.cost:.4g}, single trees' error {shown(dearer.error)}")
        )
    lines += [] if apart is None else [*held_out_lines(apart, shown), *_instead(record["table"], apart, shown)]
    lines += limit_lines(record["held_out_limits"])
    prunings = f"{len(path):,} optimal pruning{'s' if len(path) != 1 else ''}"
    lines += [Line("cost sample", instance.sample), Line("path", f"{prunings}, {record['seconds']:.1f} s in all")]
    hints = hints_on_rows(rows, *instance.seen)
    goal = "--budget B saves a forest, and also searches between these prunings"
    after = f"prunemodels prune {args.forest} ... {goal}" if choice is None else f"prunemodels report {args.forest} ... --pruned"
    after += "" if choice is None else f" {args.out} writes a page on it for others"
    return Summary(record, lines, written, instance.data.ignored, hints, after)


def _head(record: dict[str, Any]) -> list[str | Line]:
    """The title and the table."""
    budget, lam, measure, within = record["budget"], record["lam"], record["measure"], record["limits_answer"]
    wanted = [f"lambda = {lam:g}"] if lam is not None else [] if budget is None else [f"cost at most {budget:g}"]
    wanted += [] if within is None else [f"{w['limit']} at most {w['at_most']:g}" for w in within["limits"]]
    goal = f", pruned to {', '.join(wanted)}" if wanted else ""
    apart = record["measured_on"] == "held out"
    error = f"held-out {measure_name(measure)}" if apart else f"{measure_name(measure)} on {record['measured_on']}"
    source, cost = record["error_source"], "held-out cost" if apart else "cost"
    mean = f"mean {measure_name(measure)}" if measure_name(measure) == "error rate" else measure_name(measure)
    return [
        f"{record['forest']}: {record['model']} of {record['trees']} trees{goal}",
        "",
        budget_table(record["table"], measure, error=error, source=source, cost=cost),
        "",
        Line("single trees", f"{mean} of the trees, {source}: what pruning minimises beside the cost"),
    ]


def _instead(table: list[dict[str, Any]], apart: dict[str, Any], shown: Callable[[float], str]) -> list[str | Line]:
    """What may do better, where the unpruned forest's error on the held-out rows lies below the interval of the pruned one's."""
    before = next(entry["figures"][0]["data_error"] for entry in table if entry["budget"] == "unpruned")
    if before is None or apart["error_low"] is None or apart["error_low"] <= before:
        return []
    ways = "exits (prunemodels exits), a cascade (prunemodels cascade), or a larger budget of the table above"
    return [Line("worse", f"the unpruned forest errs {shown(before)} there; at this cost may do better: {ways}", "warning")]


def _rule(record: dict[str, Any]) -> str:
    """The rule by which the pruning was chosen, and its place on the path."""
    if record["limits_answer"] is not None:
        rule = "the least error found within the limits"
    elif record["budget"] is None:
        rule = f"the optimum for lambda = {record['lam']:g}"
    elif record["budget_answer"]["confidence"] is not None:
        return "the dearest optimal pruning of one half of the rows that the other half certifies"
    else:
        rule = "the least error found within the budget"
    if record["chosen_lam"] is None:
        return f"{rule}; between two prunings of the path"
    return f"{rule}; on the path, at lambda = {record['chosen_lam']:.6g}"


def budget_answer(solution: BudgetSolution, choice: ChosenPruning) -> dict[str, Any]:
    """The answer to a budget.

    Its exact cost, on the cost sample, is at most the budget. No pruning within the budget errs less than the bound; the gap is
    that of `BudgetSolution`. The relaxation is LP1's: its value, lambda*, the two prunings that it mixes, and the weight of the
    dearer one. With ``--confidence`` the rows that certified the budget are told, and the smaller budget on the rows that chose.
    """
    pruning, certified, mixture = choice.pruning, choice.certified, solution.relaxation
    answer = solution if certified is None else replace(solution, pruning=pruning, error=pruning.error)
    return {
        "budget": str(solution.budget),
        "method": choice.method,
        "status": str(solution.status),
        "stopped": str(solution.stopped),
        "seconds": float(solution.stats.get("seconds", 0.0)),
        "cost": pruning.cost,
        "exact_cost": str(exact_cost(pruning)),
        "error": answer.error,
        "bound": answer.bound,
        "gap": answer.gap,
        "relaxation": {
            "value": float(mixture.value),
            "lam": float(mixture.lam),
            "exact_lam": str(mixture.lam),
            "weight": float(mixture.weight),
            "exact_weight": str(mixture.weight),
            "cheaper": {"cost": mixture.cheaper.cost, "error": mixture.cheaper.error},
            "dearer": {"cost": mixture.dearer.cost, "error": mixture.dearer.error},
        },
        "confidence": None
        if certified is None
        else {
            "confidence": certified.confidence,
            "method": certified.method,
            "smaller_budget": float(certified.smaller_budget),
            "exact_smaller_budget": str(certified.smaller_budget),
            "choosing_rows": certified.n_choosing,
            "certifying_rows": certified.n_certifying,
            "certified_cost": certified.certified_cost,
            "upper_bound": certified.upper_bound,
        },
    }


def limits_answer(solution: LimitsSolution) -> dict[str, Any]:
    """The answer to limits: what the pruning uses of each on the cost sample, exactly, and what is proven."""
    rows = zip(solution.kept_to(), solution.multipliers, strict=True)
    limits = [
        {"limit": title, "at_most": float(most), "use": float(use), "exact_use": str(use), "multiplier": mu}
        for (title, use, most), mu in rows
    ]
    return {
        "limits": limits,
        "method": solution.method,
        "status": str(solution.status),
        "stopped": str(solution.stopped),
        "seconds": float(solution.stats.get("seconds", 0.0)),
        "error": solution.error,
        "bound": solution.bound,
        "gap": solution.gap,
        "relaxation": None if math.isinf(solution.relaxation) else solution.relaxation,
    }


def within_lines(answer: dict[str, Any], shown: Callable[[float], str]) -> list[str | Line]:
    """The lines on the answer to limits; `shown` formats an error."""
    used = ", ".join(f"{w['limit']} {w['use']:.4g} of {w['at_most']:g}" for w in answer["limits"])
    search = f"{answer['method']}: {answer['status']}, {answer['seconds']:.1f} s"
    proven = f"no pruning within the limits has trees that err less than {shown(answer['bound'])}"
    reached = answer["gap"] == 0
    proven += "; this one reaches it" if reached else f"; this one {shown(answer['error'])}, gap {shown(answer['gap'])}"
    return [Line("limits", f"{used} on the cost sample; {search}"), Line("proven", proven)]


def _uses(instance: Instance, choice: ChosenPruning, rows: Examples) -> tuple[LimitUse, ...]:
    """What the pruning uses of its limits on the examples of ``--held-out``."""
    assert isinstance(choice.solution, LimitsSolution)
    with errors_naming(f"--held-out {rows.file}"):
        usage = on_other_rows(instance.problem, rows.X, rows.weights).usage
        return limit_uses(usage, choice.pruning.kept, choice.solution.limits)


def answer_lines(answer: dict[str, Any], budget: float, shown: Callable[[float], str]) -> list[str | Line]:
    """The lines on the answer to a budget; `shown` formats an error."""
    proven = f"no pruning of cost {budget:g} has trees that err less than {shown(answer['bound'])}"
    reached = answer["gap"] == 0
    proven += "; this one reaches it" if reached else f"; this one {shown(answer['error'])}, gap {shown(answer['gap'])}"
    c = answer["confidence"]
    if c is None:
        search = f"{answer['method']}: {answer['status']}, {answer['seconds']:.1f} s"
        spent = f"cost {answer['cost']:.6g} of {budget:g} on the cost sample; {search}"
    else:
        spent = (
            f"{budget:g} for the population with {100 * c['confidence']:g} % confidence; mean cost at most "
            f"{c['upper_bound']:.6g}, certified by {c['certifying_rows']:,} rows of mean cost {c['certified_cost']:.6g}; the "
            f"budget on the other {c['choosing_rows']:,} was {c['smaller_budget']:.6g}"
        )
    return [Line("budget", spent), Line("proven", proven)]


def mixture_lines(relaxation: dict[str, Any], shown: Callable[[float], str]) -> list[str | Line]:
    """The two forests of ``--mixture``; `shown` formats an error."""
    mu, dearer, cheaper = relaxation["weight"], relaxation["dearer"], relaxation["cheaper"]
    mixed = f"one pruning, of cost {dearer['cost']:.6g}"
    if relaxation["exact_weight"] != "1":
        parts = ((mu, dearer), (1 - mu, cheaper))
        mixed = " and ".join(f"{s:.4g} of cost {p['cost']:.6g} (error {shown(p['error'])})" for s, p in parts)
    return [Line("mixture", f"trees' error {shown(relaxation['value'])} at lambda* = {relaxation['lam']:.6g}: {mixed}")]


def held_out_figures(held_out: HeldOut, file: str, budget: float | None) -> dict[str, Any]:
    """Cost and error on held-out rows with the ends of their intervals, and what they say about a budget."""
    cost, error = held_out.cost, held_out.error
    return {
        "file": file,
        "examples": cost.n,
        "confidence": cost.confidence,
        "method": cost.method,
        "cost": cost.mean,
        "cost_low": cost.low,
        "cost_high": cost.high,
        "error": None if error is None else error.mean,
        "error_low": None if error is None else error.low,
        "error_high": None if error is None else error.high,
        "overrun": None if budget is None else is_overrun(budget, cost),
        "budget_verdict": None if budget is None else budget_verdict(budget, cost).replace("\u00a0", " "),
    }


def held_out_lines(apart: dict[str, Any], shown: Callable[[float], str]) -> list[str | Line]:
    """The lines on held-out rows, with a warning where a budget is overrun; `shown` formats an error."""
    certain = f"{100 * apart['confidence']:g} % interval"
    ends = f"{certain} {apart['cost_low']:.4g} to {apart['cost_high']:.4g}"
    where = f"on {apart['examples']:,} examples of {apart['file']}"
    lines: list[str | Line] = [Line("held out", f"cost {apart['cost']:.4g}, {ends}, {where}")]
    if apart["error"] is not None:
        ends = f"{certain} {shown(apart['error_low'])} to {shown(apart['error_high'])}"
        lines.append(Line("", f"forest's error {shown(apart['error'])}, {ends}"))
    if apart["budget_verdict"] is not None:
        lines.append(Line("", apart["budget_verdict"], "warning" if apart["overrun"] else ""))
    return lines
