"""The commands ``path`` and ``prune``: read the instance, prune, write the files, and summarise."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError
from formulations.extras import package
from formulations.instance.cost_items import CostItems
from formulations.instance.cost_sample import check_weights
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import NodeErrors
from formulations.instance.problem import PruningProblem
from prunemodels.command_line.arguments import NOT_WITH_UNDERSCORES
from prunemodels.command_line.boosted_report import BoostedSummary
from prunemodels.command_line.budget_commands import ChosenPruning, check_budget_options, choose_pruning
from prunemodels.command_line.budget_report import HeldOutFigures
from prunemodels.command_line.budget_table import BudgetRow, ForestFigures
from prunemodels.command_line.refusals import errors_naming
from prunemodels.command_line.report import Summary
from prunemodels.command_line.terminal import shows_progress
from prunemodels.data_files import read_prices, read_table, shown, take_column, take_columns, take_features
from prunemodels.evaluation.held_out import HeldOut, hold_out
from prunemodels.evaluation.held_out_tradeoff import SHARES
from prunemodels.files.forests import MODEL_ENDINGS, check_ending, dump_forest, load_forest
from prunemodels.files.mixtures import MixtureFiles
from prunemodels.files.outputs import OutputFiles
from prunemodels.forests.error_samples import Blend, ErrorSample, Given, InBag, OutOfBag
from prunemodels.forests.labels import class_numbers
from prunemodels.forests.problems import problem_from_forest
from prunemodels.forests.reading import read_forest
from prunemodels.forests.surgery import apply_pruning
from prunemodels.judging.evaluate import evaluate
from prunemodels.tree_models.tree_model import TreeModel, adds_up
from prunemodels.tree_models.unused_columns import drop_unused
from solvers import pruning_path


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows of a file: features as the forest takes them, and labels and weights where their columns were named.

    `names` are the columns that the forest uses, `ignored` the others.
    """

    X: pd.DataFrame | NDArray[Any]
    y: NDArray[Any] | None
    weights: NDArray[np.float64] | None
    names: tuple[str, ...]
    ignored: tuple[str, ...]


def read_examples(file: str, model: TreeModel, option: str, label: str | None, weights: str | None = None) -> Examples:
    """Read a table for a model: columns are found by name where the model knows names, else by position.

    Raises
    ------
    InvalidInputError, BrokenFileError
        The message begins with the option that named the file or the column.
    """
    with errors_naming(option):
        table = read_table(file)
    y = None if label is None else take_column(table, label, "--label", file)
    example_weights = None if weights is None else take_column(table, weights, "--weights", file)
    columns = [c for c in table.columns if c not in (label, weights)]
    kind = "forest" if model.forest is None else "model"
    with errors_naming(option):
        named = model.spelled_as(columns).columns_by_name
        names = named or columns_in_order(columns, model.n_columns, kind, file, label)
        features = take_columns(table, names, file) if model.reads_words else take_features(table, names, file)
    if y is not None:
        with errors_naming(f"--label {label}"):
            _check_labels(y, model, kind, file)
    if example_weights is not None:
        with errors_naming(f"--weights {weights}"):
            example_weights = check_weights(example_weights, len(table), f"{file}: {weights}")
    # a forest that was trained without names warns when it is given a table
    rows = features if named else features.to_numpy()
    return Examples(rows, y, example_weights, tuple(names), tuple(c for c in columns if c not in set(names)))


def columns_in_order(columns: list[str], n_features: int, kind: str, file: str, label: str | None) -> tuple[str, ...]:
    """All columns of a file, for a model without feature names; refused unless it was trained on as many."""
    if len(columns) != n_features:
        remedy = "name the label column with --label" if label is None else "drop the columns that are not features"
        raise InvalidInputError(
            f"{file} has {len(columns)} feature columns ({shown(columns)}), the {kind} was trained on {n_features}, "
            f"without names; {remedy}"
        )
    return tuple(columns)


def _check_labels(y: NDArray[Any], model: TreeModel, kind: str, file: str) -> None:
    if model.task == "regression" and not np.issubdtype(y.dtype, np.number):
        raise InvalidInputError(f"{file}: the targets are {y.dtype}, not numbers; the {kind} is a regressor")
    class_numbers(model.classes, y, len(y))


def read_costs(given: str, names: tuple[str, ...]) -> CostItems:
    """Prices from one number for every feature, or from a table of `CostItems.from_table`.

    Raises
    ------
    InvalidInputError, BrokenFileError
        beginning with ``--costs``.
    """
    with errors_naming(f"--costs {given}"):
        try:
            uniform = Decimal(given)  # a float would round a number that is too small for it to 0
        except InvalidOperation:
            return CostItems.from_table(read_prices(given), names)
        if "_" in given:
            raise InvalidInputError(f"{NOT_WITH_UNDERSCORES}; write {given.replace('_', '')}")
        return CostItems.plain([uniform] * len(names), names)


@dataclass(frozen=True, eq=False)
class NamedErrors:
    """An error sample whose error messages begin with the option that asked for it."""

    sample: ErrorSample
    option: str

    def measure(self, forest: Any, ensemble: Ensemble) -> NodeErrors:
        """See `ErrorSample.measure`."""
        with errors_naming(self.option):
            return self.sample.measure(forest, ensemble)


_REQUIRED_FILES = {"in-bag": (), "out-of-bag": ("train",), "given": ("error_data",), "blend": ("error_data",)}
_USABLE_FILES = {"in-bag": ("train",), "out-of-bag": ("train",), "given": ("error_data",), "blend": ("train", "error_data")}


def read_errors(args: argparse.Namespace, model: TreeModel) -> ErrorSample:
    """The error sample that ``--errors``, ``--train`` and ``--error-data`` describe."""
    _check_error_files(args)
    files = {
        name: read_examples(getattr(args, name), model, f"--{name.replace('_', '-')}", args.label)
        for name in _USABLE_FILES[args.errors]
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


def _check_error_files(args: argparse.Namespace) -> None:
    """Refuse ``--train`` and ``--error-data`` where they are missing, not used, or without labels."""
    for name in ("train", "error_data"):
        option, given = f"--{name.replace('_', '-')}", getattr(args, name) is not None
        if name in _REQUIRED_FILES[args.errors] and not given:
            raise InvalidInputError(f"--errors {args.errors} needs labelled data: give {option} FILE")
        if given and name not in _USABLE_FILES[args.errors]:
            raise InvalidInputError(f"{option} is not used with --errors {args.errors}; drop it, or change --errors")
        if given and args.label is None:
            raise InvalidInputError(f"{option} needs labels: name the column with --label")


@dataclass(frozen=True, eq=False)
class SolvedInstance:
    """The inputs of a command, and the path of the instance that they define."""

    forest: Any
    data: Examples
    costs: CostItems
    path: PruningPath

    @property
    def model(self) -> TreeModel:
        """The forest and its trees."""
        return TreeModel(self.forest, self.path.problem.ensemble)

    def figures(self, pruning: Pruning) -> ForestFigures:
        """A pruning's figures on the cost sample, and the forest's error there where it is labelled."""
        if self.data.y is None:
            return figures_of(pruning)
        forest = apply_pruning(pruning, self.forest)
        return figures_of(pruning, None, evaluate(forest, self.data.X, self.data.y, costs=self.costs).error)


def read_problem(args: argparse.Namespace, forest: Any = None) -> tuple[Any, Examples, CostItems, PruningProblem]:
    """Read the forest, the cost sample and the prices that the arguments name, and build the instance from them.

    Parameters
    ----------
    forest
        the forest, if it was read already.
    """
    forest = read_model_file(args) if forest is None else forest
    with errors_naming("FOREST"):
        model = TreeModel(forest, read_forest(forest))
    data = read_examples(args.data, model, "--data", args.label, args.weights)
    costs = read_costs(args.costs, data.names)
    problem = problem_from_forest(
        forest,
        data.X,
        costs=costs,
        errors=read_errors(args, model),
        sample_weight=data.weights,
        evaluation_cost=args.evaluation_cost,
    )
    return forest, data, costs, problem


def read_model_file(args: argparse.Namespace) -> Any:
    """The model that the first argument names.

    Raises
    ------
    InvalidInputError, BrokenFileError, UnsupportedModelError, NotFittedForestError
        The message begins with the argument's name.
    """
    with errors_naming("FOREST"):
        return load_forest(args.forest, trust_pickle=args.trust_pickle)


def read_and_solve(args: argparse.Namespace, forest: Any = None) -> SolvedInstance:
    """Read the instance, and compute its path; `forest` as in `read_problem`."""
    forest, data, costs, problem = read_problem(args, forest)
    return SolvedInstance(forest, data, costs, pruning_path(problem, progress=shows_progress(args)))


def path_command(args: argparse.Namespace) -> Summary:
    """``prunemodels path``: every optimal pruning as a table, and as a picture if one is asked for."""
    start = time.perf_counter()
    outputs: OutputFiles = args.outputs
    table = outputs.reserve(args.out, "--out", endings=(".csv",))
    pictures = reserve_pictures(args)
    solved = read_and_solve(args)
    solved.path.to_frame().to_csv(outputs.aside(table), index=False)
    for picture in pictures:
        from prunemodels.plots.tradeoff import draw, plot_tradeoff

        draw(plot_tradeoff(solved.path), outputs.aside(picture))
    held_out = _held_out_rows(args, solved)
    return _summary(args, solved, start, [table, *pictures], held_out=held_out)


def prune_command(args: argparse.Namespace) -> Summary | BoostedSummary:
    """``prunemodels prune``: one pruned model, and the path and pictures if they are asked for."""
    start = time.perf_counter()
    check_budget_options(args)
    outputs: OutputFiles = args.outputs
    out = outputs.reserve(args.out, "--out", endings=MODEL_ENDINGS)
    if out.suffix == ".skops":
        package("skops.io")  # refused now rather than after the work
    forest = read_model_file(args)
    if adds_up(forest):
        from prunemodels.command_line.boosted_commands import prune_boosted_command

        return prune_boosted_command(args, forest, out, start)
    with errors_naming("--out"):
        check_ending(forest, out)
    tables = [] if args.path_csv is None else [outputs.reserve(args.path_csv, "--path-csv", endings=(".csv",))]
    pictures = reserve_pictures(args)
    mixture = MixtureFiles.beside(out, outputs) if args.mixture else None
    solved = read_and_solve(args, forest)
    path = solved.path
    choice = choose_pruning(args, path)
    pruned = apply_pruning(choice.pruning, solved.forest)
    rows = _held_out_rows(args, solved)
    held_out = None if rows is None else _hold_out(args, solved, choice.pruning, rows)
    dump_forest(drop_unused(pruned) if args.drop_unused else pruned, outputs.aside(out))
    for table in tables:
        path.to_frame().to_csv(outputs.aside(table), index=False)
    for picture in pictures:
        from prunemodels.plots.tradeoff import draw

        draw(choice.picture(path, held_out), outputs.aside(picture))
    if mixture is not None and choice.solution is not None:
        mixture.write(outputs, choice.solution, solved.forest)
    files = [out, *tables, *pictures, *(mixture.all if mixture else [])]
    return _summary(args, solved, start, files, choice, rows, held_out)


def _held_out_rows(args: argparse.Namespace, solved: SolvedInstance) -> Examples | None:
    """The examples of ``--held-out``; None without that option."""
    if args.held_out is None:
        return None
    return read_examples(args.held_out, solved.model, "--held-out", args.label, args.weights)


def _hold_out(args: argparse.Namespace, solved: SolvedInstance, pruning: Pruning, rows: Examples) -> HeldOut:
    """Evaluate a pruning on held-out examples."""
    with errors_naming(f"--held-out {args.held_out}"):
        return hold_out(pruning, solved.forest, rows.X, rows.y, sample_weight=rows.weights)


def figures_of(pruning: Pruning, cost: float | None = None, error: float | None = None) -> ForestFigures:
    """The figures of a pruning; `cost` and `error` where they were measured on other examples than the cost sample."""
    return ForestFigures(pruning.cost if cost is None else cost, pruning.error, error, pruning.n_splits)


def budget_rows(
    args: argparse.Namespace, solved: SolvedInstance, choice: ChosenPruning | None, held_out: Examples | None
) -> tuple[BudgetRow, ...]:
    """The unpruned forest, the best of the path within shares of its cost, and the chosen pruning; each pruning once.

    Costs and errors are those on held-out examples, if there are some, else those on the cost sample.
    """

    def measured(pruning: Pruning) -> ForestFigures:
        if held_out is not None:
            seen = _hold_out(args, solved, pruning, held_out)
            return figures_of(pruning, seen.cost.mean, None if seen.error is None else seen.error.mean)
        return solved.figures(pruning)

    path, unpruned = solved.path, Pruning.unpruned(solved.path.problem)
    best = {path.row_at_cost(share * unpruned.cost): share for share in SHARES}  # the last, tightest budget of each row
    taken = None if choice is None else choice.row
    rows = [
        (share * unpruned.cost, BudgetRow(_budget(share * unpruned.cost, unpruned.cost), (measured(path[row]),)))
        for row, share in best.items()
        if row != taken
    ]
    if choice is not None:
        limit = choice.pruning.cost if args.budget is None else args.budget
        label = f"lambda {args.lam:g}" if args.budget is None else _budget(limit, unpruned.cost)
        rows.append((limit, BudgetRow(label, (measured(choice.pruning),), chosen=True)))
    rows.sort(key=lambda row: -row[0])
    return (BudgetRow("unpruned", (measured(unpruned),)), *(row for _, row in rows))


def _budget(budget: float, unpruned: float) -> str:
    return f"{budget:.4g} ({100 * budget / unpruned:.0f} %)" if unpruned > 0 else f"{budget:.4g}"


def reserve_pictures(args: argparse.Namespace) -> list[Path]:
    """The files of ``--picture``, reserved; none without that option."""
    if args.picture is None:
        return []
    from prunemodels.plots.tradeoff import picture_files

    with errors_naming("--picture"):
        files = picture_files(args.picture)
    return [args.outputs.reserve(file, "--picture") for file in files]


def _summary(
    args: argparse.Namespace,
    solved: SolvedInstance,
    start: float,
    written: list[Path],
    choice: ChosenPruning | None = None,
    held_out: Examples | None = None,
    on_held_out: HeldOut | None = None,
) -> Summary:
    """Build the summary; all figures come from prunings and from evaluating forests."""
    problem: PruningProblem = solved.path.problem
    table = budget_rows(args, solved, choice, held_out)
    unpruned = Pruning.unpruned(problem)
    chosen = dearer = row = None
    if choice is not None:
        row, dearer = choice.row, choice.next_dearer
        chosen = solved.figures(choice.pruning)
    return Summary(
        forest=args.forest,
        model=type(solved.forest).__name__,
        trees=problem.ensemble.n_trees,
        task=problem.ensemble.task,
        measure=problem.ensemble.measure,
        data=args.data,
        examples=problem.n_rows,
        error_source=problem.errors.source,
        data_labelled=None if args.label is None else args.data,
        breakpoints=len(solved.path),
        seconds=time.perf_counter() - start,
        unpruned=solved.figures(unpruned),
        pruned=chosen,
        budget=getattr(args, "budget", None),
        lam=getattr(args, "lam", None),
        chosen_lam=None if row is None else float(solved.path.lam[row]),
        next_dearer=None if dearer is None else figures_of(dearer),
        budget_answer=None if choice is None else choice.figures(),
        held_out=None if on_held_out is None else HeldOutFigures.of(on_held_out, args.held_out, args.budget),
        table=table,
        measured_on=args.data if held_out is None else "held out",
        mixture=getattr(args, "mixture", False),
        written=tuple(str(file) for file in written),
        ignored=solved.data.ignored,
    )
