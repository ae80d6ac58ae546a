"""The commands ``path`` and ``prune``: read the instance, prune, write the files, and summarise what the Python answers say."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from formulations.answers.pruning import Pruning
from formulations.errors import InvalidInputError
from formulations.extras import package
from formulations.shown import align
from prunemodels.command_line.examples import (
    Examples,
    check_held_out_file,
    hints_on_rows,
    read_examples,
    same_file,
)
from prunemodels.command_line.inputs import (
    each_budget,
    file_of,
    limit_as_budget,
    limits_of,
    path_of,
    read_instance,
    read_model_file,
)
from prunemodels.command_line.judge import (
    budget_lines,
    budget_warnings,
    choice_line,
    verdict_on,
    warnings_of,
)
from prunemodels.command_line.parsing import again, draw_pictures, errors_naming, need, option_of, refuse, reserve, reserve_model
from prunemodels.command_line.process import doing
from prunemodels.command_line.prunings import Found, along, check_boosted_options, of_boosted, of_forest
from prunemodels.command_line.summary import Line, Summary, card_of
from prunemodels.estimators.pruned_forest import PrunedForest
from prunemodels.evaluation.held_out import hold_out
from prunemodels.files.answers import save_solution
from prunemodels.files.forests import MODEL_ENDINGS, check_ending, dump_forest
from prunemodels.models.tree_model import adds_up
from prunemodels.models.unused_columns import drop_unused
from prunemodels.statements.change import HeldOutChange
from prunemodels.statements.wording import amount, error, limit_uses, use_in_words

CHOOSES = "on which the pruning is chosen"


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
    seen = along(path, on)
    draw_pictures(args, lambda: package("prunemodels.plots").plot_tradeoff(path, held_out=seen))
    record = instance.record(args) | {"breakpoints": len(path), "unpruned": Pruning.unpruned(path.problem)}
    record |= {"measured_on": on.file, "evaluation": None if seen is None else seen.to_frame().to_dict("records")}
    lines: list[str | Line] = [f"{args.forest}: {record['model']} of {record['trees']} trees", "", card_of(path), ""]
    lines += [] if seen is None else [card_of(seen), ""]
    middle = f"{path.cost[len(path) // 2]:.4g}"
    after = again(args, "prune", args.forest, "picture", budget=middle, out=f"{Path(args.out).stem}-{middle}.skops")
    return Summary(record, [*lines, Line("measured on", on.told)], [table], instance.data.ignored, hints, next=after)


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
    found = of_boosted(each, model, whole=whole) if boosted else of_forest(each, model)
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
