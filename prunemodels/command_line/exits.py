"""The commands ``exits`` and ``cascade``: cheaper predictions by stopping early, from a forest or from a table."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from formulations.errors import InvalidInputError
from formulations.extras import package
from formulations.instance.tree_loss import MEASURES, USUAL_LOSS
from formulations.shown import align, error_name, is_rate
from prunemodels.cascades.budget_cascade import BudgetCascadeClassifier, BudgetCascadeRegressor
from prunemodels.cascades.cascade import Cascade
from prunemodels.cascades.cascade_files import storable
from prunemodels.cascades.forest_exits import exit_path
from prunemodels.cascades.params import PARAMS
from prunemodels.command_line.examples import (
    Examples,
    check_held_out_file,
    columns_of,
    columns_table,
    hints_on_rows,
    read_examples,
    read_labelled,
)
from prunemodels.command_line.inputs import Instance, each_budget, file_of, path_of, read_costs, read_instance
from prunemodels.command_line.judge import (
    alike,
    budget_lines,
    budget_warnings,
    check_labels,
    check_labels_alike,
    check_positive,
    choice_line,
    features_of,
    hints_on_columns,
    roles,
    warnings_of,
)
from prunemodels.command_line.parsing import again, draw_pictures, errors_naming, need, refuse, reserve_model, shows_progress
from prunemodels.command_line.process import SETTINGS, doing
from prunemodels.command_line.summary import Line, Summary, card_of, model_name
from prunemodels.evaluation.evaluate import item_label
from prunemodels.evaluation.held_out import on_other_rows
from prunemodels.files.forests import FOREST_ENDINGS, dump_forest
from prunemodels.models.labelled_samples import part_of
from prunemodels.report_page.cascade import OnRows, counted_rows, found_in_fitting, judged_on
from prunemodels.statements.promises import check_enough, check_max_error
from prunemodels.statements.wording import amount, error, share


def exits_command(args: argparse.Namespace) -> Summary:
    """``prunemodels exits``: exits along the optimal path of a forest, which is not retrained."""
    each, outs = _begin(args)
    instance, apart = read_instance(args), None
    held_out = None if args.held_out is None else read_examples(args, "--held-out", instance.model)
    hints = hints_on_rows(held_out, *instance.seen)
    check_positive(args, instance.model.classes, None if held_out is None else held_out.y)
    if args.max_error is not None:
        instance, apart = _set_apart(instance, args)
    path, data = path_of(args, instance), instance.data
    with errors_naming("--data"), doing(args, "learning when to stop"):
        options: dict[str, Any] = {"n_stages": args.stages, "loss": args.loss, "random_state": SETTINGS.seed}
        exits = exit_path(path, data.X, data.y, sample_weight=data.weights, groups=data.groups, **options)
    if apart is not None:
        with errors_naming("--max-error"):
            confidence = args.confidence or SETTINGS.confidence
            exits = exits.at_error(args.max_error, apart.X, apart.y, confidence=confidence, groups=apart.groups)
    trees = path.problem.ensemble.n_trees
    model = f"{args.forest}: {model_name(instance.forest)}, {trees} trees; prunings are the stages"
    return _finish(each, model, exits, held_out, data, outs, hints)


def cascade_command(args: argparse.Namespace) -> Summary:
    """``prunemodels cascade``: models on nested sets of features, found and fitted from a table."""
    each, outs = _begin(args)
    table = read_labelled(args, "--data", args.label, args.weights)
    assert table.y is not None
    columns = columns_of(table.X, roles(args))
    data = features_of(args, table)
    regression = check_labels(args, table.y)
    kind = BudgetCascadeRegressor if regression else BudgetCascadeClassifier
    held = None if args.held_out is None else read_labelled(args, "--held-out", args.label, args.weights)
    if held is not None and held.y is not None:
        same = replace(data, file=args.held_out, X=alike(args, held, data.names, data.X), y=held.y, weights=held.weights)
        check_labels_alike(args, table.y, held.y, regression=regression)
        hints_on_rows(same, data)
    options: dict[str, Any] = {"budget": each[0].budget, "n_stages": args.stages, "random_state": SETTINGS.seed}
    options |= {"checkpoint": args.checkpoint, "max_error": args.max_error, "confidence": args.confidence or SETTINGS.confidence}
    options |= {"max_cost": args.max_cost, "mistakes": args.mistakes, "loss": args.loss}
    cascade = kind(costs=read_costs(args, data), verbose=int(shows_progress(args)), **options)
    with errors_naming("--data"), doing(args, "choosing sets of features, fitting their models, learning when to stop"):
        cascade.fit(data.X, data.y, sample_weight=data.weights, groups=data.groups)
    held_out = None if held is None else read_examples(args, "--held-out", cascade, table=held)
    hints = hints_on_columns(data.X, args) + hints_on_rows(held_out, data)
    model = f"{kind.__name__} of {cascade.exit_path_.stages.n_stages} sets of {len(data.names)} features"
    summary = _finish(each, model, cascade, held_out, data, outs, hints)
    shown = ["", columns_table(columns, len(table.y)), ""]
    return replace(summary, record={**summary.record, "columns": columns}, lines=[*summary.lines, *shown])


def _begin(args: argparse.Namespace) -> tuple[list[argparse.Namespace], list[Path]]:
    """Refuse options that do not go together, before anything is read; the arguments and the output file of each budget."""
    need(args, "label", "is missing: exits are learned from labelled examples; name the label column of --data")
    if args.stages < 2:
        raise InvalidInputError(f"--stages is {args.stages}; give 2 or more, because a single stage has no exit")
    check_held_out_file(args, "from which the policy is learned")
    each = each_budget(args)
    if args.max_error is None:
        refuse(args, "confidence", "goes with --max-error: drop it, or give an error")
    else:
        refuse(args, "budget", "and --max-error do not go together; give one goal")
        refuse(args, "weights", "cannot be used with --max-error, which is promised for examples of equal weight: drop it")
    if len(each) > 1:
        refuse(args, "picture", "is for one budget at a time; drop it, or give one budget")
    return each, [reserve_model(args, file_of(one), FOREST_ENDINGS) for one in each]


def _set_apart(instance: Instance, args: argparse.Namespace) -> tuple[Instance, Examples]:
    """The instance of most rows of ``--data``, and the other rows, in random order, by which ``--max-error`` is tested."""
    data, groups = instance.data, instance.data.group_numbers
    order = np.random.default_rng(SETTINGS.seed).permutation(len(data.X))
    measure = instance.problem.ensemble.measure if args.loss == "error" else MEASURES["log_loss"]
    count = min(round(PARAMS.promised_share * len(order)), PARAMS.most_held_out)
    rest, tested = np.sort(order[count:]), order[:count]
    if groups is not None:
        rest, tested = part_of(len(order), count / len(order), groups, SETTINGS.seed)
        count = np.unique(groups[tested]).size
    with errors_naming("--max-error"):
        check_max_error(args.max_error, measure)
        if is_rate(measure):
            check_enough(count, args.max_error, args.confidence or SETTINGS.confidence, f"a quarter of {data.file}")
    learning = data.take(rest)
    return replace(instance, data=learning, problem=on_other_rows(instance.problem, learning.X)), data.take(tested)


def _finish(
    each: list[argparse.Namespace],
    model: str,
    trained: Cascade,
    held_out: Examples | None,
    data: Examples,
    outs: list[Path],
    hints: list[str],
) -> Summary:
    """Choose the policy of each budget, measure, draw, save and summarise."""
    args, path = each[0], trained.exit_path_
    with errors_naming("--budget"):
        cascades = [trained if one.budget is None else trained.at_cost(one.budget) for one in each]
    # measure on the held-out examples, if there are any
    seen: list[OnRows] = []
    if held_out is not None and held_out.y is not None:
        with errors_naming(f"--held-out {held_out.file}"), doing(args, f"measuring on {held_out.file}"):
            counted = counted_rows(held_out.X, held_out.y, held_out.weights, held_out.groups)
            assert counted is not None
            seen = [judged_on(cascade, *counted, SETTINGS.confidence, args.positive) for cascade in cascades]
    # save and draw
    for cascade, out in zip(cascades, outs, strict=True):
        with doing(args, f"writing {out}"):
            dump_forest(storable(cascade), args.outputs.aside(out))
    rows, n = data if held_out is None else held_out, path.stages.n_stages
    draw_pictures(args, lambda: package("prunemodels.plots").plot_exits(cascades[0], rows.X, rows.y, sample_weight=rows.weights))
    # what is said of all budgets
    more = n - args.stages
    stages = f"{n} stages" + f" ({args.stages} as asked for, {more} between prunings that are far apart)" * (more > 0)
    record: dict[str, Any] = {
        "model": model,
        "task": path.stages.task,
        "measure": path.by.measure,
        "stages": n,
        "policies": len(path),
        "learned_from": path.n,
    }
    lines: list[str | Line] = [
        Line("model", model),
        Line("exits", f"{stages}, {len(path)} optimal policies, learned from {path.n:,} examples"),
    ]
    drop = "budget lam data costs evaluation-cost errors train error-data mistakes max-error confidence"
    drop += "" if seen else " label weights map-labels ignore decimal positive"
    page = Path(outs[0]).with_suffix(".html").name
    options: dict[str, Any] = {"written": outs, "ignored": data.ignored, "hints": hints}
    options["next"] = again(args, "report", outs[0], drop, out=page)
    # what is said of each budget: one in full, several as a table
    judged: list[OnRows | None] = [*seen] or [None] * len(each)
    found = [_record(one, cascade, on) for one, cascade, on in zip(each, cascades, judged, strict=True)]
    if len(each) == 1:
        record |= found[0]
        lines += _lines(args, cascades[0], judged[0])
        return Summary(record, lines, **options, warnings=warnings_of(record))
    record["budgets"] = [one | {"file": file_of(at)} for one, at in zip(found, each, strict=True)]
    budgets, changes = [one.budget for one in each], [on.change for on in seen]
    if held_out is not None and changes:
        lines += ["", *budget_lines("last stage", budgets, changes, held_out.told)]
        return Summary(record, lines, **options, warnings=budget_warnings(budgets, changes))
    of = path.by.measure
    cells = [[f"{b:g}", amount(c.held_out_cost_), error(c.held_out_error_, of)] for b, c in zip(budgets, cascades, strict=True)]
    lines += ["", align(["budget", "cost", error_name(of)], cells, left=1), ""]
    lines += [Line("measured on", f"{data.told}, by policies that were not learned from them (cross-fitted)")]
    return Summary(record, lines, **options)


def _record(args: argparse.Namespace, cascade: Cascade, seen: OnRows | None) -> dict[str, Any]:
    """What JSON says of the policy of a budget."""
    record: dict[str, Any] = {"budget": args.budget, "spending": cascade.spending_, "learned_cost": cascade.cost_}
    record |= {"promise": cascade.promise_}
    record |= {"cross_fitted_cost": cascade.held_out_cost_, "cross_fitted_error": cascade.held_out_error_}
    if seen is None:
        return record | {"in_fitting": found_in_fitting(cascade, SETTINGS.confidence, args.positive)}
    return record | {"held_out": seen.change, "stops": seen.stops.to_frame().to_dict("records")}


def _lines(args: argparse.Namespace, cascade: Cascade, seen: OnRows | None) -> list[str | Line]:
    """What a terminal shows of one policy."""
    measure = cascade.exit_path_.by.measure
    word = "error" if measure in SAID_AS_ERROR else measure
    fitted = f"cost {amount(cascade.held_out_cost_)}, {word} {error(cascade.held_out_error_, measure)}"
    promise, which = cascade.promise_, "held-out rows cannot tell from the best"
    if promise is not None:
        which = f"is promised to err at most {error(promise.at_most, measure)}"
    chosen = f"the cheapest that {which}, cost {amount(cascade.cost_)}"
    if promise is None and getattr(args, "max_cost", None) is not None:
        chosen = f"the least error with no example above {amount(args.max_cost)}, cost {amount(cascade.cost_)}"
    lines: list[str | Line] = [
        Line("policy", chosen if args.budget is None else cascade.spending_),
        *([] if promise is None else [Line("promised", promise.in_words(measure))]),
        Line("cross-fitted", f"on rows that it was not learned from: {fitted}"),
    ]
    if seen is None:
        found = found_in_fitting(cascade, SETTINGS.confidence, args.positive)
        where = [Line("", "of the rows that it was learned from, where it does too well")]
        return [*lines, *([] if found is None else ["", card_of(found), "", *choice_line(found), *where])]
    stops = _who_stops(seen.stops.to_frame().to_dict("records"), measure)
    return [*lines, "", card_of(seen.change), "", *choice_line(seen.change.classes), stops, ""]


SAID_AS_ERROR = [USUAL_LOSS[task].measure for task in ("classification", "regression")]
"""Measures that a line of the terminal calls the error."""


def _who_stops(stops: list[dict[Any, Any]], measure: str) -> str:
    """Who stops where, as a table."""
    rows = [
        [f"stage {s['stage']}", share(s["share"]), amount(s["cost"]), error(s["error"], measure), _named(s["bought"])]
        for s in stops
    ]
    return align(["stops at", "of the rows", "cost", "error", "most of them have bought"], rows)


def _named(items: list[str]) -> str:
    shown = ", ".join(item_label(item) for item in items[: SETTINGS.most_names])
    return (shown + f" and {len(items) - SETTINGS.most_names} more" if len(items) > SETTINGS.most_names else shown) or "nothing"
