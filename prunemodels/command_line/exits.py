"""The commands ``exits`` and ``cascade``: cheaper predictions by stopping early, from a forest or from a table."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from formulations.errors import InvalidInputError
from formulations.shown import align
from prunemodels.command_line.inputs import (
    Examples,
    check_held_out_file,
    draw_pictures,
    hints_on_rows,
    path_of,
    read_costs,
    read_examples,
    read_instance,
    read_labelled,
    reserve_pictures,
)
from prunemodels.command_line.judge import check_labels, features_of, looks_like_identifier
from prunemodels.command_line.refusals import errors_naming
from prunemodels.command_line.summary import Line, Summary, model_name
from prunemodels.command_line.terminal import shows_progress
from prunemodels.data_files import take_columns, take_features
from prunemodels.evaluation.item_costs import item_label
from prunemodels.evaluation.mean_bounds import MeanInterval, mean_interval
from prunemodels.evaluation.wording import amount, error
from prunemodels.exits.budget_cascade import BudgetCascadeClassifier, BudgetCascadeRegressor
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.evaluation import ExitPathEvaluation
from prunemodels.exits.exit_path import ExitPath
from prunemodels.exits.forest_exits import exit_path
from prunemodels.exits.raw_tables import identifiers, reads_raw_columns
from prunemodels.exits.stops import Stops, stops_of
from prunemodels.files.forests import FOREST_ENDINGS, dump_forest

SEED = 0
"""The random state is fixed, so that the same command gives the same cascade."""

CONFIDENCE = 0.95

SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Budgets of the table, as shares of the cost of the last stage."""

MOST_NAMES = 6
"""The largest number of items that a line names."""


def exits_command(args: argparse.Namespace) -> Summary:
    """``prunemodels exits``: exits along the optimal path of a forest, which is not retrained."""
    start = time.perf_counter()
    out, pictures = _begin(args)
    instance = read_instance(args)
    path, data = path_of(args, instance), instance.data
    with errors_naming("--data"):
        options = {"n_stages": args.stages, "sample_weight": data.weights, "random_state": SEED}
        exits = exit_path(path, data.X, data.y, **options)
    with errors_naming("--budget"):
        cascade = exits.at_row(exits.row_by("one_se")) if args.budget is None else exits.at_cost(args.budget)
    held_out = None if args.held_out is None else read_examples(args, "--held-out", instance.model)
    trees = path.problem.ensemble.n_trees
    model = f"{args.forest}: {model_name(instance.forest)}, {trees} trees; prunings are the stages"
    return _finish(args, start, model, cascade, held_out, data, out, pictures, hints_on_rows(held_out, *instance.seen))


def cascade_command(args: argparse.Namespace) -> Summary:
    """``prunemodels cascade``: models on nested sets of features, found and fitted from a table."""
    start = time.perf_counter()
    out, pictures = _begin(args)
    table = read_labelled(args, "--data", args.label, args.weights)
    assert table.y is not None
    X = features_of(args, table)
    kind = BudgetCascadeRegressor if check_labels(args, table.y) else BudgetCascadeClassifier
    options: dict[str, Any] = {"budget": args.budget, "n_stages": args.stages, "random_state": SEED}
    cascade = kind(costs=read_costs(args.costs, table.columns, X), verbose=int(shows_progress(args)), **options)
    with errors_naming("--data"):
        cascade.fit(X, table.y, sample_weight=table.weights)
    data, held_out = Examples(args.data, X, table.y, table.weights, table.columns, ()), None
    if args.held_out is not None:
        apart = read_labelled(args, "--held-out", args.label)
        with errors_naming("--held-out"):
            take = take_columns if reads_raw_columns(cascade) else take_features
            rows = take(apart.rows, table.columns, args.held_out)
        held_out = Examples(args.held_out, rows, apart.y, None, table.columns, ())
    hints = [looks_like_identifier(name) for name in identifiers(X)]
    model = f"{kind.__name__} of {cascade.exit_path_.stages.n_stages} sets of {len(table.columns)} features"
    return _finish(args, start, model, cascade, held_out, data, out, pictures, hints + hints_on_rows(held_out, data))


def _begin(args: argparse.Namespace) -> tuple[Path, list[Path]]:
    """Refuse options that do not go together, before anything is read; reserve the output files."""
    if args.label is None:
        raise InvalidInputError("--label is missing: exits are learned from labelled examples; name the label column of --data")
    if args.stages < 2:
        raise InvalidInputError(f"--stages is {args.stages}; give 2 or more, because a single stage has no exit")
    check_held_out_file(args, "from which the policy is learned")
    return args.outputs.reserve(args.out, "--out", endings=FOREST_ENDINGS), reserve_pictures(args)


def _finish(
    args: argparse.Namespace,
    start: float,
    model: str,
    cascade: Cascade,
    held_out: Examples | None,
    data: Examples,
    out: Path,
    pictures: list[Path],
    hints: list[str],
) -> Summary:
    """Measure, draw, save and summarise."""
    figures = None
    if held_out is not None:
        with errors_naming(f"--held-out {args.held_out}"):
            figures = cascade_figures(cascade, stops_of(cascade, held_out.X, held_out.y), args.held_out)
    dump_forest(cascade, args.outputs.aside(out))

    def figure() -> Any:
        from prunemodels.plots.exits import plot_exits

        rows = data if held_out is None else held_out
        return plot_exits(cascade, rows.X, rows.y)

    draw_pictures(args, pictures, figure)
    path = cascade.exit_path_
    record = {
        "model": model,
        "task": path.stages.task,
        "stages": path.stages.n_stages,
        "policies": len(path),
        "learned_from": path.n,
        "budget": args.budget,
        "spending": cascade.spending_,
        "learned_cost": cascade.cost_,
        "cross_fitted_cost": cascade.held_out_cost_,
        "cross_fitted_error": cascade.held_out_error_,
        "held_out": figures,
        "ignored": list(data.ignored),
        "seconds": time.perf_counter() - start,
    }
    task = path.stages.task
    goal = f"chosen by one_se, cost {amount(cascade.cost_)}" if args.budget is None else cascade.spending_
    fitted = f"cost {amount(cascade.held_out_cost_)}, error {_error(cascade.held_out_error_, task)}"
    lines: list[str | Line] = [
        Line("model", model),
        Line("exits", f"{_stages(args, path)}, {len(path)} optimal policies, learned from {path.n:,} examples"),
        Line("policy", goal),
        Line("cross-fitted", f"on rows that it was not learned from: {fitted}"),
        *([] if figures is None else _held_out_lines(figures, task)),
        Line("time", f"{record['seconds']:.1f} s"),
    ]
    report = f"prunemodels report {args.out}"
    report += "" if args.held_out is None else f" --held-out {args.held_out} --label {args.label}"
    return Summary(record, lines, [out, *pictures], data.ignored, hints, f"{report} --out report.html")


def _stages(args: argparse.Namespace, path: ExitPath) -> str:
    """How many stages there are, and why more than were asked for."""
    n, more = path.stages.n_stages, path.stages.n_stages - args.stages
    return f"{n} stages" + (f" ({args.stages} as asked for, {more} between prunings that are far apart)" if more > 0 else "")


def cascade_figures(cascade: Cascade, stops: Stops, file: str) -> dict[str, Any]:
    """A cascade on labelled rows that it was not learned from; items paid once for all are in every cost.

    Before is the last stage alone for every row: the unpruned forest, or the model that reads all features. Cost, error and the
    mean of the rows' differences between error and error before have 95 % intervals: mean, low, high. Of the rows that stop at a
    stage: share, mean cost and error, and the items that more than half of them bought.
    """
    seen = stops.evaluation
    last, once = seen.table.n_stages - 1, float(seen.table.once[cascade.policy_.last_stage])
    loss = seen.losses(cascade.policy_)
    increase = loss - seen.last_loss
    lowest = float(increase.min(initial=0.0))
    stops_at = [
        {name: kind(r[name]) for name, kind in (("stage", int), ("share", float), ("cost", float), ("error", float))}
        | {"bought": list(r["bought"])}
        for r in stops.to_frame().to_dict("records")
    ]
    return {
        "file": file,
        "examples": seen.n,
        "cost_before": float(seen.table.cost[last].mean() + seen.table.once[last]),
        "error_before": float(seen.last_loss.mean()),
        "cost": _ends(_interval(stops.cost), once),
        "error": _ends(_interval(loss), 0.0),
        "change": _ends(_interval(increase - lowest), lowest),
        "stops": stops_at,
        "budgets": _budgets(cascade, seen),
    }


def _interval(x: Any) -> MeanInterval:
    return mean_interval(x, float("inf"), CONFIDENCE, "t")


def _ends(interval: MeanInterval, shift: float) -> tuple[float, float, float]:
    return interval.mean + shift, interval.low + shift, interval.high + shift


def _budgets(cascade: Cascade, seen: ExitPathEvaluation) -> list[dict[str, float]]:
    """The best policies within shares of the last stage's cost. Budgets below the first stage's cost are left out."""
    last_stage_cost = float(seen.table.cost[-1].mean() + seen.table.once[-1])
    found = []
    for share in SHARES:
        try:
            policy = cascade.exit_path_.within(share * last_stage_cost).policy
        except InvalidInputError:  # cheaper than the first stage
            continue
        found.append({"budget": share * last_stage_cost, "cost": seen.mean_cost(policy), "error": seen.mean_loss(policy)})
    return found


def _held_out_lines(f: dict[str, Any], task: str) -> list[str | Line]:
    (cost, *cost_ends), (wrong, *ends) = f["cost"], f["error"]
    rates = task == "classification"
    change, low, high = (f"{100 * x:+.2f}" if rates else f"{x:+.4g}" for x in f["change"])
    points = " percentage points" if rates else ""
    shown = [amount(x) for x in cost_ends], [_error(x, task) for x in ends]
    stops = [
        [f"stage {s['stage']}", f"{100 * s['share']:.1f} %", amount(s["cost"]), _error(s["error"], task), _named(s["bought"])]
        for s in f["stops"]
    ]
    budgets = [[amount(b["budget"]), amount(b["cost"]), _error(b["error"], task)] for b in f["budgets"]]
    return [
        Line(
            "held out",
            f"{f['file']}, {f['examples']:,} examples: cost {amount(f['cost_before'])} -> {amount(cost)} "
            f"[{shown[0][0]}, {shown[0][1]}], error {_error(f['error_before'], task)} -> {_error(wrong, task)} "
            f"[{shown[1][0]}, {shown[1][1]}]; paired change {change} [{low}, {high}]{points}",
        ),
        "",
        align(["stops at", "of the rows", "cost", "error", "most of them have bought"], stops),
        "",
        align(["budget", "held-out cost", "held-out error"], budgets),
        "",
    ]


def _error(x: float, task: str) -> str:
    return error(x, task) if np.isfinite(x) else "?"


def _named(items: list[str]) -> str:
    shown = ", ".join(item_label(item) for item in items[:MOST_NAMES])
    return (shown + f" and {len(items) - MOST_NAMES} more" if len(items) > MOST_NAMES else shown) or "nothing"
