"""The commands ``path`` and ``prune``: read, prune, write, and say what was done."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from formulations.instance.cost_sample import check_weights
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import NodeErrors
from formulations.instance.problem import PruningProblem
from prunemodels.command_line.budget_commands import Taken, check_budget_options, take
from prunemodels.command_line.budget_report import HeldOutFigures
from prunemodels.command_line.refusals import named
from prunemodels.command_line.report import ForestFigures, Summary
from prunemodels.datasets import read_table, shown, take_column, take_features
from prunemodels.evaluation.forest import Evaluation, evaluate
from prunemodels.evaluation.held_out import HeldOut, hold_out
from prunemodels.files.forests import FOREST_ENDINGS, dump_forest, load_forest
from prunemodels.files.mixtures import MixtureFiles
from prunemodels.files.outputs import OutputFiles, check_output
from prunemodels.forests.costs import items_from_table
from prunemodels.forests.error_samples import Blend, ErrorSample, Given, InBag, OutOfBag, encode_labels
from prunemodels.forests.problems import problem_from_forest
from prunemodels.forests.reading import read_forest
from prunemodels.forests.surgery import apply_pruning
from prunemodels.plots.tradeoff import draw, picture_files, plot_tradeoff
from solvers import pruning_path


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows of a file: the features as the forest takes them, labels and weights if they were asked for."""

    X: pd.DataFrame | NDArray[Any]
    y: NDArray[Any] | None
    weights: NDArray[np.float64] | None
    names: tuple[str, ...]
    ignored: tuple[str, ...]


def read_examples(file: str, ensemble: Ensemble, option: str, label: str | None, weights: str | None = None) -> Examples:
    """Read a table for a forest: columns by name where the forest knows names, by place where not.

    Raises
    ------
    InvalidInputError, BrokenFileError
        each begins with the option that named the file or the column.
    """
    with named(option):
        table = read_table(file)
    y = None if label is None else take_column(table, label, "--label", file)
    omega = None if weights is None else take_column(table, weights, "--weights", file)
    others = [c for c in table.columns if c not in (label, weights)]
    with named(option):
        names = ensemble.feature_names or by_place(others, ensemble.n_features, "forest", file, label)
        features = take_features(table, names, file)
    if y is not None:
        with named(f"--label {label}"):
            _check_labels(y, ensemble, file)
    if omega is not None:
        with named(f"--weights {weights}"):
            omega = check_weights(omega, len(table), f"{file}: {weights}")
    # a forest that was trained without names warns about tables
    rows = features if ensemble.feature_names else features.to_numpy()
    return Examples(rows, y, omega, tuple(names), tuple(c for c in others if c not in set(names)))


def by_place(columns: list[str], n_features: int, kind: str, file: str, label: str | None) -> tuple[str, ...]:
    """The columns of a file for a model that knows no names: all, if they are as many as it was trained on."""
    if len(columns) != n_features:
        remedy = "name the label column with --label" if label is None else "drop what is no feature"
        raise InvalidInputError(
            f"{file} has {len(columns)} feature columns ({shown(columns)}), the {kind} was trained on {n_features}, "
            f"without names; {remedy}"
        )
    return tuple(columns)


def _check_labels(y: NDArray[Any], ensemble: Ensemble, file: str) -> None:
    if ensemble.task == "regression" and not np.issubdtype(y.dtype, np.number):
        raise InvalidInputError(f"{file}: the targets are {y.dtype}, not numbers; the forest is a regressor")
    encode_labels(ensemble, y)


def read_costs(given: str, names: tuple[str, ...]) -> CostItems:
    """Prices from one number for every feature, or from a table of `items_from_table`.

    Raises
    ------
    InvalidInputError, BrokenFileError
        beginning with ``--costs``.
    """
    with named(f"--costs {given}"):
        try:
            uniform = float(given)
        except ValueError:
            return items_from_table(read_table(given), names)
        return CostItems.plain([uniform] * len(names), names)


@dataclass(frozen=True, eq=False)
class NamedErrors:
    """An error sample whose refusals begin with the option that asked for it."""

    sample: ErrorSample
    option: str

    def measure(self, forest: Any, ensemble: Ensemble) -> NodeErrors:
        """See `ErrorSample.measure`."""
        with named(self.option):
            return self.sample.measure(forest, ensemble)


NEEDS = {"in-bag": (), "out-of-bag": ("train",), "given": ("error_data",), "blend": ("error_data",)}
MAY_USE = {"in-bag": ("train",), "out-of-bag": ("train",), "given": ("error_data",), "blend": ("train", "error_data")}


def read_errors(args: argparse.Namespace, ensemble: Ensemble) -> ErrorSample:
    """The error sample that ``--errors`` and its companions describe."""
    _check_companions(args)
    files = {
        name: read_examples(getattr(args, name), ensemble, f"--{name.replace('_', '-')}", args.label)
        for name in MAY_USE[args.errors]
        if getattr(args, name) is not None
    }
    train, given = files.get("train"), files.get("error_data")
    sample: ErrorSample = InBag() if train is None else InBag(train.X, train.y)
    if args.errors == "out-of-bag" and train is not None:
        sample = OutOfBag(train.X, train.y)
    if args.errors == "given" and given is not None:
        sample = Given(given.X, given.y)
    if args.errors == "blend" and given is not None:
        sample = Blend([(1 - args.given_share, sample), (args.given_share, Given(given.X, given.y))])
    return NamedErrors(sample, f"--errors {args.errors}")


def _check_companions(args: argparse.Namespace) -> None:
    """``--train`` and ``--error-data`` where they are needed, nowhere else, and with labels."""
    for name in ("train", "error_data"):
        option, given = f"--{name.replace('_', '-')}", getattr(args, name) is not None
        if name in NEEDS[args.errors] and not given:
            raise InvalidInputError(f"--errors {args.errors} needs labelled data: give {option} FILE")
        if given and name not in MAY_USE[args.errors]:
            raise InvalidInputError(f"{option} is not used with --errors {args.errors}; drop it, or change --errors")
        if given and args.label is None:
            raise InvalidInputError(f"{option} needs labels: name the column with --label")


@dataclass(frozen=True, eq=False)
class Work:
    """What a command has read and computed."""

    forest: Any
    data: Examples
    costs: CostItems
    path: PruningPath

    def evaluate(self, forest: Any, evaluation_cost: float) -> Evaluation | None:
        """Cost and error of a forest on the labelled data; None without labels."""
        if self.data.y is None:
            return None
        return evaluate(forest, self.data.X, self.data.y, costs=self.costs, evaluation_cost=evaluation_cost)


def read_problem(args: argparse.Namespace) -> tuple[Any, Examples, CostItems, PruningProblem]:
    """Read everything that the arguments name: the forest, the cost sample, the prices, and the instance that they make."""
    with named("FOREST"):
        forest = load_forest(args.forest, trust_pickle=args.trust_pickle)
        ensemble = read_forest(forest)
    data = read_examples(args.data, ensemble, "--data", args.label, args.weights)
    costs = read_costs(args.costs, data.names)
    problem = problem_from_forest(
        forest,
        data.X,
        costs=costs,
        errors=read_errors(args, ensemble),
        sample_weight=data.weights,
        evaluation_cost=args.evaluation_cost,
    )
    return forest, data, costs, problem


def compute(args: argparse.Namespace) -> Work:
    """Read the instance, and compute its path."""
    forest, data, costs, problem = read_problem(args)
    return Work(forest, data, costs, pruning_path(problem, progress=not args.quiet))


def path_command(args: argparse.Namespace) -> Summary:
    """``prunemodels path``: every optimal pruning as a table, and as a picture if one is wanted."""
    start = time.perf_counter()
    table = check_output(args.out, "--out", endings=(".csv",), force=args.force)
    pictures = _check_pictures(args)
    work = compute(args)
    with OutputFiles() as outputs:
        work.path.to_frame().to_csv(outputs.aside(table), index=False)
        for picture in pictures:
            draw(plot_tradeoff(work.path), outputs.aside(picture))
        return _summary(args, work, start, [table, *pictures])


def prune_command(args: argparse.Namespace) -> Summary:
    """``prunemodels prune``: one pruned forest, and what led to it if that is wanted."""
    start = time.perf_counter()
    check_budget_options(args)
    out = check_output(args.out, "--out", endings=FOREST_ENDINGS, force=args.force)
    tables = [] if args.path_csv is None else [check_output(args.path_csv, "--path-csv", endings=(".csv",), force=args.force)]
    pictures = _check_pictures(args)
    mixture = MixtureFiles.beside(out, force=args.force) if args.mixture else None
    work = compute(args)
    path = work.path
    taken = take(args, path)
    pruned = apply_pruning(taken.pruning, work.forest)
    held_out = _hold_out(args, work, taken.pruning)
    with OutputFiles() as outputs:
        dump_forest(pruned, outputs.aside(out))
        for table in tables:
            path.to_frame().to_csv(outputs.aside(table), index=False)
        for picture in pictures:
            draw(taken.picture(path, held_out), outputs.aside(picture))
        if mixture is not None and taken.solution is not None:
            mixture.write(outputs, taken.solution, work.forest)
        files = [out, *tables, *pictures, *(mixture.all if mixture else [])]
        return _summary(args, work, start, files, taken, pruned, held_out)


def _hold_out(args: argparse.Namespace, work: Work, pruning: Pruning) -> HeldOut | None:
    """The pruning on the examples of ``--held-out``, if there are any."""
    if args.held_out is None:
        return None
    kept_apart = read_examples(args.held_out, pruning.problem.ensemble, "--held-out", args.label, args.weights)
    with named(f"--held-out {args.held_out}"):
        return hold_out(pruning, work.forest, kept_apart.X, kept_apart.y, sample_weight=kept_apart.weights)


def _check_pictures(args: argparse.Namespace) -> list[Path]:
    if args.picture is None:
        return []
    with named("--picture"):
        files = picture_files(args.picture)
    return [check_output(file, "--picture", force=args.force) for file in files]


def _summary(
    args: argparse.Namespace,
    work: Work,
    start: float,
    written: list[Path],
    taken: Taken | None = None,
    pruned: Any = None,
    held_out: HeldOut | None = None,
) -> Summary:
    """The summary; figures of the pruned forest come from evaluating it."""
    problem: PruningProblem = work.path.problem
    chosen = dearer = row = None
    if taken is not None:
        row, dearer = taken.row, taken.next_dearer
        chosen = ForestFigures.of(taken.pruning, work.evaluate(pruned, args.evaluation_cost))
    return Summary(
        forest=args.forest,
        model=type(work.forest).__name__,
        trees=problem.ensemble.n_trees,
        task=problem.ensemble.task,
        data=args.data,
        examples=problem.n_rows,
        error_source=problem.errors.source,
        data_labelled=None if args.label is None else args.data,
        breakpoints=len(work.path),
        seconds=time.perf_counter() - start,
        unpruned=ForestFigures.of(Pruning.unpruned(problem), work.evaluate(work.forest, args.evaluation_cost)),
        pruned=chosen,
        budget=getattr(args, "budget", None),
        lam=getattr(args, "lam", None),
        chosen_lam=None if row is None else float(work.path.lam[row]),
        next_dearer=None if dearer is None else ForestFigures.of(dearer, None),
        budget_answer=None if taken is None else taken.figures(),
        held_out=None if held_out is None else HeldOutFigures.of(held_out, args.held_out),
        written=tuple(str(file) for file in written),
        ignored=work.data.ignored,
    )
