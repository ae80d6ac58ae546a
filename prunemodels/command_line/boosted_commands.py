"""The command ``evaluate``, and ``prune`` for models whose trees add up: boosted models in files of any kind."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from formulations.errors import InvalidInputError
from prunemodels.command_line.boosted_report import BoostedSummary, EvaluationSummary, ModelFigures, or_none
from prunemodels.command_line.commands import Examples, read_costs, read_examples, read_model_file, reserve_pictures
from prunemodels.command_line.refusals import errors_naming
from prunemodels.files.forests import check_ending, dump_forest, saved_model
from prunemodels.judging.curve import boosted_curve
from prunemodels.other_libraries.boosted import boosted_path, prune_boosted
from prunemodels.other_libraries.boosted_pruning import BoostedPath, BoostedPruning
from prunemodels.tree_models.tree_model import TreeModel, tree_model_of
from prunemodels.tree_models.unused_columns import drop_unused

OWN_LOSS = "a boosted model is pruned for its own loss on --data"

FOREST_OPTIONS = {
    "errors": ("in-bag", OWN_LOSS),
    "train": (None, OWN_LOSS),
    "error_data": (None, OWN_LOSS),
    "given_share": (0.5, OWN_LOSS),
    "method": (None, "boosted models have one search"),
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


def evaluate_command(args: argparse.Namespace) -> EvaluationSummary:
    """``prunemodels evaluate``: cost, loss and error of a model in a file."""
    start = time.perf_counter()
    with errors_naming("FOREST"):
        model = tree_model_of(read_model_file(args), several_outputs=True)
    data = read_examples(args.data, model, "--data", args.label, args.weights)
    costs = read_costs(args.costs, data.names)
    usage = model.usage(data.X, costs, data.weights)
    return EvaluationSummary(
        forest=args.forest,
        model=type(model.model).__name__,
        trees=model.ensemble.n_trees,
        task=model.task,
        measure=model.measure,
        loss_name=_loss_name(model),
        data=args.data,
        examples=len(data.X),
        figures=_figures(model, data, costs, args.evaluation_cost),
        features=model.counting_features(usage).cost(model.ensemble.is_split),
        seconds=time.perf_counter() - start,
        ignored=data.ignored,
    )


def prune_boosted_command(args: argparse.Namespace, model: Any, out: Path, start: float) -> BoostedSummary:
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
    rows = None if args.held_out is None else read_examples(args.held_out, trees, "--held-out", args.label, args.weights)
    path, chosen = search(args, model, data, costs) if tables or pictures else (None, find(args, model, data, costs))
    pruned = saved_model(chosen)
    pruned = drop_unused(pruned) if args.drop_unused else pruned
    dump_forest(pruned, outputs.aside(out))
    seen = data if rows is None else rows
    if path is not None:
        for table in tables:
            path.to_frame().to_csv(outputs.aside(table), index=False)
        for picture in pictures:
            from prunemodels.plots import plot_curves
            from prunemodels.plots.tradeoff import draw

            draw(plot_curves([boosted_curve(path, seen.X, seen.y, "prune_boosted", None)]), outputs.aside(picture))
    after = tree_model_of(chosen)
    before, cheap = (_figures(m, data, costs, args.evaluation_cost) for m in (trees, after))
    held_out = None if rows is None else tuple(_figures(m, rows, costs, args.evaluation_cost) for m in (trees, after))
    judged = None if held_out is None or args.budget is None else bool(held_out[1].cost > args.budget)
    return BoostedSummary(
        forest=args.forest,
        model=type(trees.model).__name__,
        trees=trees.ensemble.n_trees,
        task=trees.task,
        measure=trees.measure,
        loss_name=_loss_name(trees),
        data=args.data,
        examples=chosen.usage.n_rows,
        unpruned=before,
        pruned=cheap,
        budget=args.budget,
        lam=args.lam,
        stationary=chosen.stationary,
        visited=int(chosen.stats["visited"]),
        saved_as=type(pruned).__name__,
        seconds=time.perf_counter() - start,
        held_out=None if held_out is None else (held_out[0], held_out[1]),
        held_out_data=args.held_out,
        held_out_examples=None if rows is None else len(rows.X),
        overrun=judged,
        written=tuple(str(file) for file in (out, *tables, *pictures)),
        ignored=data.ignored,
    )


def check_boosted_options(args: argparse.Namespace, options: Mapping[str, tuple[Any, str]]) -> None:
    """Refuse options that are for forests, and a missing label.

    Parameters
    ----------
    options
        `PRUNE_OPTIONS` or `REPORT_OPTIONS`.

    Raises
    ------
    InvalidInputError
        naming the option and the remedy.
    """
    for name, (default, why) in options.items():
        if getattr(args, name) != default:
            option = f"--{name.replace('_', '-')}"
            raise InvalidInputError(f"{option} is for forests, {args.forest} holds a boosted model; {why}: drop it")
    if args.label is None:
        raise InvalidInputError(
            "--label is missing: a boosted model is pruned for its loss on --data; name the column of the labels"
        )


def read_boosted_inputs(args: argparse.Namespace, model: Any) -> tuple[TreeModel, Examples, Any]:
    """The trees of a model, the examples of ``--data``, and the prices."""
    with errors_naming("FOREST"):
        trees = tree_model_of(model)
    data = read_examples(args.data, trees, "--data", args.label, args.weights)
    return trees, data, read_costs(args.costs, data.names)


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


def _figures(model: TreeModel, data: Examples, costs: Any, evaluation_cost: float) -> ModelFigures:
    """Cost, loss and error of a model on examples, by weight."""
    usage = model.usage(data.X, costs, data.weights, evaluation_cost)
    error = float(np.average(model.losses(data.X, data.y), weights=data.weights))
    loss = or_none(model.loss(data.X, data.y, data.weights))
    return ModelFigures(usage.cost(model.ensemble.is_split), loss, error, model.ensemble.n_splits)


def _loss_name(model: TreeModel) -> str:
    return "squared error" if model.task == "regression" else "log loss"
