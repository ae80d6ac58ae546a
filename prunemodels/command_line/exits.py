"""The commands ``exits`` and ``cascade``: cheaper predictions by stopping early, from a forest or from a table."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from formulations.errors import InvalidInputError
from formulations.extras import package
from formulations.shown import align
from prunemodels.cascades.budget_cascade import BudgetCascadeClassifier, BudgetCascadeRegressor
from prunemodels.cascades.cascade import Cascade
from prunemodels.cascades.forest_exits import exit_path
from prunemodels.command_line.inputs import (
    Examples,
    check_held_out_file,
    hints_on_rows,
    path_of,
    read_costs,
    read_examples,
    read_instance,
    read_labelled,
)
from prunemodels.command_line.judge import check_labels, choice_line, features_of, hints_on_columns, warnings_of
from prunemodels.command_line.parsing import draw_pictures, errors_naming, need, shows_progress
from prunemodels.command_line.settings import SETTINGS
from prunemodels.command_line.summary import Line, Summary, card_of, model_name
from prunemodels.evaluation.evaluate import item_label
from prunemodels.files.forests import FOREST_ENDINGS, dump_forest
from prunemodels.report_page.cascade import counted_rows, judged_on
from prunemodels.statements.wording import amount, error, share


def exits_command(args: argparse.Namespace) -> Summary:
    """``prunemodels exits``: exits along the optimal path of a forest, which is not retrained."""
    out = _begin(args)
    instance = read_instance(args)
    path, data = path_of(args, instance), instance.data
    with errors_naming("--data"):
        exits = exit_path(path, data.X, data.y, n_stages=args.stages, sample_weight=data.weights, random_state=SETTINGS.seed)
    with errors_naming("--budget"):
        cascade = exits if args.budget is None else exits.at_cost(args.budget)
    held_out = None if args.held_out is None else read_examples(args, "--held-out", instance.model)
    trees = path.problem.ensemble.n_trees
    model = f"{args.forest}: {model_name(instance.forest)}, {trees} trees; prunings are the stages"
    return _finish(args, model, cascade, held_out, data, out, hints_on_rows(held_out, *instance.seen))


def cascade_command(args: argparse.Namespace) -> Summary:
    """``prunemodels cascade``: models on nested sets of features, found and fitted from a table."""
    out = _begin(args)
    table = read_labelled(args, "--data", args.label, args.weights)
    assert table.y is not None
    data = features_of(args, table)
    kind = BudgetCascadeRegressor if check_labels(args, table.y) else BudgetCascadeClassifier
    options: dict[str, Any] = {"budget": args.budget, "n_stages": args.stages, "random_state": SETTINGS.seed}
    cascade = kind(costs=read_costs(args, data), verbose=int(shows_progress(args)), **options)
    with errors_naming("--data"):
        cascade.fit(data.X, data.y, sample_weight=data.weights)
    held_out = None if args.held_out is None else read_examples(args, "--held-out", cascade)
    hints = hints_on_columns(data.X) + hints_on_rows(held_out, data)
    model = f"{kind.__name__} of {cascade.exit_path_.stages.n_stages} sets of {len(data.names)} features"
    return _finish(args, model, cascade, held_out, data, out, hints)


def _begin(args: argparse.Namespace) -> Path:
    """Refuse options that do not go together, before anything is read; reserve the output files."""
    need(args, "label", "is missing: exits are learned from labelled examples; name the label column of --data")
    if args.stages < 2:
        raise InvalidInputError(f"--stages is {args.stages}; give 2 or more, because a single stage has no exit")
    check_held_out_file(args, "from which the policy is learned")
    out: Path = args.outputs.reserve(args.out, "--out", endings=FOREST_ENDINGS)
    return out


def _finish(
    args: argparse.Namespace,
    model: str,
    cascade: Cascade,
    held_out: Examples | None,
    data: Examples,
    out: Path,
    hints: list[str],
) -> Summary:
    """Measure, draw, save and summarise."""
    path, rows = cascade.exit_path_, data if held_out is None else held_out
    task, n, more = path.stages.task, path.stages.n_stages, path.stages.n_stages - args.stages
    record = {"model": model, "task": task, "stages": n, "policies": len(path), "learned_from": path.n, "budget": args.budget}
    record |= {"spending": cascade.spending_, "learned_cost": cascade.cost_}
    record |= {"cross_fitted_cost": cascade.held_out_cost_, "cross_fitted_error": cascade.held_out_error_}
    stages = f"{n} stages" + f" ({args.stages} as asked for, {more} between prunings that are far apart)" * (more > 0)
    fitted = f"cost {amount(cascade.held_out_cost_)}, error {error(cascade.held_out_error_, task)}"
    lines: list[str | Line] = [
        Line("model", model),
        Line("exits", f"{stages}, {len(path)} optimal policies, learned from {path.n:,} examples"),
        Line(
            "policy",
            f"the cheapest that held-out rows cannot tell from the best, cost {amount(cascade.cost_)}"
            if args.budget is None
            else cascade.spending_,
        ),
        Line("cross-fitted", f"on rows that it was not learned from: {fitted}"),
    ]
    report = f"prunemodels report {args.out}"
    if held_out is not None and held_out.y is not None:
        with errors_naming(f"--held-out {args.held_out}"):
            counted = counted_rows(held_out.X, held_out.y, held_out.weights)
            assert counted is not None
            seen = judged_on(cascade, *counted, SETTINGS.confidence, args.positive)
        stops = seen.stops.to_frame().to_dict("records")
        record |= {"held_out": seen.change, "stops": stops}
        lines += ["", card_of(seen.change), "", *choice_line(seen.change.classes), _who_stops(stops, task), ""]
        report += f" --held-out {args.held_out} --label {args.label}"
    dump_forest(cascade, args.outputs.aside(out))
    draw_pictures(args, lambda: package("prunemodels.plots").plot_exits(cascade, rows.X, rows.y, sample_weight=rows.weights))
    return Summary(record, lines, [out], data.ignored, hints, f"{report} --out report.html", warnings=warnings_of(record))


def _who_stops(stops: list[dict[Any, Any]], task: str) -> str:
    """Who stops where, as a table."""
    rows = [
        [f"stage {s['stage']}", share(s["share"]), amount(s["cost"]), error(s["error"], task), _named(s["bought"])] for s in stops
    ]
    return align(["stops at", "of the rows", "cost", "error", "most of them have bought"], rows)


def _named(items: list[str]) -> str:
    shown = ", ".join(item_label(item) for item in items[: SETTINGS.most_names])
    return (shown + f" and {len(items) - SETTINGS.most_names} more" if len(items) > SETTINGS.most_names else shown) or "nothing"
