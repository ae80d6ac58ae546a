"""The commands ``exits`` and ``cascade``: cheaper predictions by stopping early, from a forest or from a table."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from formulations.errors import InvalidInputError
from formulations.instance.cost_sample import check_weights
from proofs_checks import check_closure_path
from prunemodels.command_line.budget_commands import same_file
from prunemodels.command_line.check_report import CheckSummary
from prunemodels.command_line.commands import read_and_solve, read_costs, read_examples, reserve_pictures
from prunemodels.command_line.exit_report import CascadeFigures, ExitSummary
from prunemodels.command_line.refusals import errors_naming
from prunemodels.data_files import read_table, shown, take_any_features, take_column, take_columns, take_features
from prunemodels.exits.budget_cascade import BudgetCascadeClassifier, BudgetCascadeRegressor
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.cascade_files import load_cascade
from prunemodels.exits.forest_exits import exit_path
from prunemodels.exits.raw_tables import identifiers, reads_raw_columns
from prunemodels.exits.stops import stops_of
from prunemodels.files.forests import FOREST_ENDINGS, dump_forest

SEED = 0
"""The random state is fixed, so that the same command gives the same cascade."""


def exits_command(args: argparse.Namespace) -> ExitSummary:
    """``prunemodels exits``: exits along the optimal path of a forest, which is not retrained."""
    start = time.perf_counter()
    _check_options(args)
    out = args.outputs.reserve(args.out, "--out", endings=FOREST_ENDINGS)
    pictures = reserve_pictures(args)
    solved = read_and_solve(args)
    with errors_naming("--data"):
        weights = solved.data.weights
        path = exit_path(
            solved.path, solved.data.X, solved.data.y, n_stages=args.stages, sample_weight=weights, random_state=SEED
        )
    with errors_naming("--budget"):
        cascade = path.at_row(path.row_by("one_se")) if args.budget is None else path.at_cost(args.budget)
    held_out = None
    if args.held_out is not None:
        seen = read_examples(args.held_out, solved.model, "--held-out", args.label)
        held_out = (seen.X, seen.y)
    model = (
        f"{args.forest}: {type(solved.forest).__name__}, {solved.path.problem.ensemble.n_trees} trees; prunings are the stages"
    )
    return _write(args, start, model, cascade, held_out, (solved.data.X, solved.data.y), out, pictures)


def cascade_command(args: argparse.Namespace) -> ExitSummary:
    """``prunemodels cascade``: models on nested sets of features, found and fitted from a table."""
    start = time.perf_counter()
    _check_options(args)
    out = args.outputs.reserve(args.out, "--out", endings=FOREST_ENDINGS)
    pictures = reserve_pictures(args)
    with errors_naming("--data"):
        table = read_table(args.data)
    y = take_column(table, args.label, "--label", args.data)
    weights = _weights(args, table)
    names = tuple(str(c) for c in table.columns if c not in (args.label, args.weights))
    if not names:
        raise InvalidInputError(f"--data: {args.data} has no column but {shown(table.columns)}; give features, too")
    _check_label(args, y)
    with errors_naming("--data"):
        X = take_any_features(table, names, args.data)
    numbers = args.regression or type_of_target(y).startswith("continuous")
    options: dict[str, Any] = {"budget": args.budget, "n_stages": args.stages, "random_state": SEED}
    kind = BudgetCascadeRegressor if numbers else BudgetCascadeClassifier
    cascade = kind(costs=read_costs(args.costs, names), verbose=0 if args.quiet else 1, **options)
    with errors_naming("--data"):
        cascade.fit(X, y, sample_weight=weights)
    held_out = None if args.held_out is None else _labelled(args, cascade, names)
    model = f"{kind.__name__} of {cascade.exit_path_.stages.n_stages} sets of {len(names)} features"
    hints = tuple(
        f"the column {name!r} looks like an identifier, which says nothing about new examples; drop it from data and prices"
        for name in identifiers(X)
    )
    return _write(args, start, model, cascade, held_out, (X, y), out, pictures, hints)


def check_exits(args: argparse.Namespace) -> CheckSummary:
    """``prunemodels check exits``: every policy of a saved cascade's path is optimal, and they are nested."""
    start = time.perf_counter()
    with errors_naming("CASCADE"):
        cascade = load_cascade(args.cascade, trust_pickle=args.trust_pickle)
    path = cascade.exit_path_
    return CheckSummary(f"{args.cascade}: {path!r}", (check_closure_path(path.closures),), time.perf_counter() - start)


def _write(
    args: argparse.Namespace,
    start: float,
    model: str,
    cascade: Cascade,
    held_out: tuple[Any, Any] | None,
    learned_from: tuple[Any, Any],
    out: Path,
    pictures: list[Path],
    hints: tuple[str, ...] = (),
) -> ExitSummary:
    """Measure, draw and save; all files appear together."""
    figures = None
    if held_out is not None:
        with errors_naming(f"--held-out {args.held_out}"):
            figures = CascadeFigures.of(cascade, stops_of(cascade, *held_out), args.held_out)
    dump_forest(cascade, args.outputs.aside(out))
    for picture in pictures:
        from prunemodels.plots.exits import plot_exits
        from prunemodels.plots.tradeoff import draw

        draw(plot_exits(cascade, *(learned_from if held_out is None else held_out)), args.outputs.aside(picture))
    return ExitSummary.of(model, cascade, args.budget, figures, time.perf_counter() - start, [out, *pictures], hints)


def _check_options(args: argparse.Namespace) -> None:
    """Refuse options that do not go together, before anything is read."""
    if args.label is None:
        raise InvalidInputError("--label is missing: exits are learned from labelled examples; name the label column of --data")
    if args.stages < 2:
        raise InvalidInputError(f"--stages is {args.stages}; give 2 or more, because a single stage has no exit")
    if args.held_out is not None and same_file(args.held_out, args.data):
        raise InvalidInputError(
            "--held-out names the same file as --data, from which the policy is learned; give examples that were kept apart"
        )


def _check_label(args: argparse.Namespace, y: NDArray[Any]) -> None:
    """Refuse labels from which nothing can be learned, before any training."""
    if (y == y[0]).all():
        raise InvalidInputError(
            f"--label {args.label}: all examples of {args.data} have {y.tolist()[0]!r}; give examples with different labels"
        )
    if args.regression and not np.issubdtype(y.dtype, np.number):
        raise InvalidInputError(
            f"--label {args.label}: {args.data} holds {y.tolist()[0]!r}, and --regression needs numbers; drop --regression"
        )


def _weights(args: argparse.Namespace, table: pd.DataFrame) -> NDArray[np.float64] | None:
    if args.weights is None:
        return None
    with errors_naming(f"--weights {args.weights}"):
        return check_weights(take_column(table, args.weights, "--weights", args.data), len(table), args.weights)


def _labelled(args: argparse.Namespace, cascade: Cascade, names: tuple[str, ...]) -> tuple[Any, Any]:
    with errors_naming("--held-out"):
        table = read_table(args.held_out)
        take = take_columns if reads_raw_columns(cascade) else take_features
        return take(table, names, args.held_out), take_column(table, args.label, "--label", args.held_out)
