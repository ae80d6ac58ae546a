"""``prunemodels prune`` for models whose trees add up: boosted models in files of any kind."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from formulations.errors import InvalidInputError
from prunemodels.command_line.inputs import (
    Examples,
    draw_pictures,
    hints_on_rows,
    option_of,
    read_costs,
    read_examples,
    reserve_pictures,
)
from prunemodels.command_line.judge import loss_name, model_figures, model_table
from prunemodels.command_line.refusals import errors_naming
from prunemodels.command_line.summary import Line, Summary, model_name
from prunemodels.evaluation.curve import boosted_curve
from prunemodels.files.forests import check_ending, dump_forest, saved_model
from prunemodels.models.boosting.boosted import boosted_path, prune_boosted
from prunemodels.models.boosting.boosted_pruning import BoostedPath, BoostedPruning
from prunemodels.models.tree_model import TreeModel, tree_model_of
from prunemodels.models.unused_columns import drop_unused

OWN_LOSS = "a boosted model is pruned for its own loss on --data"

FOREST_OPTIONS = {
    "errors": ("in-bag", OWN_LOSS),
    "train": (None, OWN_LOSS),
    "error_data": (None, OWN_LOSS),
    "given_share": (0.5, OWN_LOSS),
    "mistakes": (None, OWN_LOSS),
    "method": (None, "boosted models have one search"),
    "limit": (None, "its search knows a budget only"),
}
"""Options that are for forests, with their defaults, and why."""

PRUNE_OPTIONS = FOREST_OPTIONS | {
    "confidence": (None, "its bounds are those of prunings that are optimal"),
    "mixture": (False, "the relaxation that it mixes is one of forests"),
}
"""Those of ``prune``."""

REPORT_OPTIONS = FOREST_OPTIONS | {"pruned": (None, "the page shows the prunings of its own search")}
"""Those of ``report``."""

GRID = 12
"""Lambdas of a trade-off, as many as `prune_boosted` goes along."""


def prune_boosted_command(args: argparse.Namespace, model: Any, out: Path, start: float) -> Summary:
    """``prunemodels prune`` for a model whose trees add up.

    Parameters
    ----------
    model
        what ``FOREST`` holds.
    out
        the file of ``--out``, reserved.
    start
        when the command began, by ``time.perf_counter``.
    """
    check_boosted_options(args, PRUNE_OPTIONS)
    outputs = args.outputs
    tables = [] if args.path_csv is None else [outputs.reserve(args.path_csv, "--path-csv", endings=(".csv",))]
    pictures = reserve_pictures(args)
    with errors_naming("--out"):
        check_ending(model, out)
    trees, data, costs = read_boosted_inputs(args, model)
    rows = None if args.held_out is None else read_examples(args, "--held-out", trees, weighted=True)
    path, chosen = search(args, model, data, costs) if tables or pictures else (None, find(args, model, data, costs))
    pruned = saved_model(chosen)
    pruned = drop_unused(pruned) if args.drop_unused else pruned
    dump_forest(pruned, outputs.aside(out))
    seen = data if rows is None else rows
    if path is not None:
        for table in tables:
            path.to_frame().to_csv(outputs.aside(table), index=False)

        def figure(path: BoostedPath = path) -> Any:
            from prunemodels.plots import plot_curves

            return plot_curves([boosted_curve(path, seen.X, seen.y, "prune_boosted", None)])

        draw_pictures(args, pictures, figure)
    before, after = trees, tree_model_of(chosen)
    on_data = [model_figures(m, data, costs, args.evaluation_cost) for m in (before, after)]
    held_out = None if rows is None else [model_figures(m, rows, costs, args.evaluation_cost) for m in (before, after)]
    record = {
        "forest": args.forest,
        "model": model_name(trees.model),
        "trees": trees.ensemble.n_trees,
        "task": trees.task,
        "measure": trees.measure,
        "loss_name": loss_name(trees),
        "data": args.data,
        "examples": len(data.X),
        "unpruned": on_data[0],
        "pruned": on_data[1],
        "budget": args.budget,
        "lam": args.lam,
        "stationary": chosen.stationary,
        "visited": int(chosen.stats["visited"]),
        "saved_as": type(pruned).__name__,
        "held_out": held_out,
        "held_out_data": args.held_out,
        "held_out_examples": None if rows is None else len(rows.X),
        "overrun": None if held_out is None or args.budget is None else bool(held_out[1]["cost"] > args.budget),
        "ignored": list(data.ignored),
        "seconds": time.perf_counter() - start,
    }
    files = [out, *tables, *pictures]
    return Summary(record, _lines(record), files, data.ignored, hints_on_rows(rows, data))


def _lines(r: Mapping[str, Any]) -> list[str | Line]:
    """What a terminal shows; the figures are those on held-out examples where there are some."""
    goal = f"cost at most {r['budget']:g}" if r["budget"] is not None else f"lambda = {r['lam']:g}"
    before, after = r["held_out"] or (r["unpruned"], r["pruned"])
    where = f"{r['examples']:,} examples of {r['data']}, on which the pruning was found"
    if r["held_out"] is not None:
        where = f"{r['held_out_examples']:,} examples of {r['held_out_data']}, held out"
    rule = "the least loss found within the budget" if r["budget"] is not None else "the least loss + lambda cost found"
    loss = f"{r['loss_name']} {r['unpruned']['loss']:.4g} -> {r['pruned']['loss']:.4g}"
    lines: list[str | Line] = [
        f"{r['forest']}: {r['model']} of {r['trees']} trees, pruned to {goal}",
        "",
        model_table([("unpruned", before), ("pruned", after)], r["measure"], r["loss_name"]),
        "",
        Line("measured on", where),
        Line("chosen", f"{rule}, of {r['visited']:,} prunings visited; no proof that there is no better one"),
        Line("cost sample", f"{r['examples']:,} examples of {r['data']}: cost {r['pruned']['cost']:.4g}, {loss}"),
    ]
    if r["overrun"] is not None:
        kept = "the held-out examples cost more than the budget" if r["overrun"] else "kept on the held-out examples"
        lines.append(Line("budget", kept, "warning" if r["overrun"] else ""))
    if r["saved_as"] == "ModelForest":
        lines.append(Line("saved as", "trees of prunemodels, since CatBoost cannot hold pruned trees; load_forest reads them"))
    return [*lines, Line("time", f"{r['seconds']:.1f} s")]


def check_boosted_options(args: argparse.Namespace, options: Mapping[str, tuple[Any, str]]) -> None:
    """Refuse options that are for forests (`PRUNE_OPTIONS` or `REPORT_OPTIONS`), and a missing label."""
    for name, (default, why) in options.items():
        if getattr(args, name) != default:
            raise InvalidInputError(f"{option_of(name)} is for forests, {args.forest} holds a boosted model; {why}: drop it")
    if args.label is None:
        raise InvalidInputError(
            "--label is missing: a boosted model is pruned for its loss on --data; name the column of the labels"
        )


def read_boosted_inputs(args: argparse.Namespace, model: Any) -> tuple[TreeModel, Examples, Any]:
    """The trees of a model, the examples of ``--data``, and the prices."""
    with errors_naming("FOREST"):
        trees = tree_model_of(model)
    data = read_examples(args, "--data", trees, weighted=True)
    return trees, data, read_costs(args.costs, data.names, data.X)


def find(args: argparse.Namespace, model: Any, data: Examples, costs: Any) -> BoostedPruning:
    """The pruning for ``--budget`` or ``--lam``."""
    assert data.y is not None  # check_boosted_options refuses no label
    with errors_naming("FOREST"):
        return prune_boosted(model, data.X, data.y, budget=args.budget, lam=args.lam, **_given(args, data, costs))


def search(args: argparse.Namespace, model: Any, data: Examples, costs: Any) -> tuple[BoostedPath, BoostedPruning]:
    """The trade-off, and the pruning for ``--budget`` or ``--lam``."""
    budgets = [] if args.budget is None else [args.budget]
    assert data.y is not None  # check_boosted_options refuses no label
    with errors_naming("FOREST"):
        path = boosted_path(model, data.X, data.y, lams=GRID, budgets=budgets, **_given(args, data, costs))
    return path, find(args, model, data, costs) if args.budget is None else path.at_cost(args.budget)


def _given(args: argparse.Namespace, data: Examples, costs: Any) -> dict[str, Any]:
    """The arguments of `prune_boosted` and `boosted_path` alike."""
    limit = {} if args.time_limit is None else {"time_limit": args.time_limit}
    return {"costs": costs, "sample_weight": data.weights, "evaluation_cost": args.evaluation_cost, **limit}
