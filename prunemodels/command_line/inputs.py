"""What commands read: models, tables of examples, prices and errors; messages begin with the option that they are about."""

from __future__ import annotations

import argparse
import filecmp
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from formulations.instance.cost_sample import check_weights
from formulations.instance.limit import Limit
from formulations.instance.node_errors import NodeErrors
from formulations.instance.problem import PruningProblem
from formulations.shown import probably_meant, row_of
from prunemodels.cascades.cascade import Cascade
from prunemodels.cascades.cascade_files import holds_cascade, load_cascade
from prunemodels.command_line.parsing import NOT_WITH_UNDERSCORES, agreed, errors_naming, option_of, shows_progress, typed
from prunemodels.command_line.process import SETTINGS, doing
from prunemodels.command_line.summary import model_name
from prunemodels.data_files import read_and_tell, read_prices, shown, take_column, take_columns, take_features
from prunemodels.files.forests import load_forest
from prunemodels.models.costs import items_from_list
from prunemodels.models.forests.error_samples import ErrorSample, Given, InBag, OutOfBag
from prunemodels.models.forests.problems import problem_of
from prunemodels.models.forests.reading import ReadForest
from prunemodels.models.labelled_samples import class_numbers
from prunemodels.models.tree_model import TreeModel, tree_model_of
from prunemodels.stages.judging import cost_matrix
from prunemodels.stages.raw_tables import identifiers, reads_raw_columns
from prunemodels.stages.stages import check_same_prices
from prunemodels.statements.groups import check_apart, group_numbers
from prunemodels.written_numbers import Marks
from solvers import pruning_path


def limit_as_budget(args: argparse.Namespace) -> None:
    """Turn one ``--limit`` of the mean cost into ``--budget``, its short form; refuse goals that do not go together."""
    if args.limit is not None and len(args.limit) == 1 and args.limit[0].is_plain and args.budget is None:
        args.budget, args.limit = float(args.limit[0].at_most), None
    goals = ("budget", "limit", "lam", "max_error", "pruned")
    given = [option_of(name) for name in goals if getattr(args, name, None) is not None]
    if len(given) > 1 and given != ["--budget", "--limit"]:
        raise InvalidInputError(f"{' and '.join(given)} do not go together; give one goal, or --budget with --limit")


def each_budget(args: argparse.Namespace) -> list[argparse.Namespace]:
    """The arguments for each of several budgets, smallest first; themselves where there is one at most."""
    budgets = sorted({*(args.budget if isinstance(args.budget, list) else [args.budget])})
    return [argparse.Namespace(**vars(args) | {"budget": budget, "several": len(budgets) > 1}) for budget in budgets]


def file_of(args: argparse.Namespace) -> str:
    """``--out``; of one of several budgets with the budget behind its name: cheap-6.skops."""
    place = Path(args.out)
    return str(place.with_name(f"{place.stem}-{args.budget:g}{place.suffix}")) if args.several else str(args.out)


def limits_of(args: argparse.Namespace) -> list[Limit] | None:
    """The limits of ``--budget`` and ``--limit``; None without any."""
    return [*([] if args.budget is None else [Limit(args.budget)]), *(args.limit or ())] or None


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows of a file, and labels and weights where their columns were named.

    `X` holds the columns `names`, as the model takes them; before there is a model, all columns of the file. `ignored` are
    columns that the model does not use.
    """

    file: str
    X: Any
    y: NDArray[Any] | None
    weights: NDArray[np.float64] | None
    names: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    groups: NDArray[Any] | None = None  # what ``--groups`` names, such as the patient of each visit

    @property
    def group_numbers(self) -> NDArray[np.int64] | None:
        """The group of each example as a number."""
        return group_numbers(self.groups, self.X, "--groups")

    def take(self, rows: NDArray[np.int64]) -> Examples:
        """Some of the examples."""
        y, weights, groups = (None if v is None else v[rows] for v in (self.y, self.weights, self.groups))
        return replace(self, X=_safe_indexing(self.X, rows), y=y, weights=weights, groups=groups)

    @property
    def told(self) -> str:
        """The examples in words."""
        return f"{len(self.X):,} examples of {self.file}"

    @cached_property
    def prints(self) -> NDArray[np.uint64]:
        """A fingerprint of each row's features: equal rows have equal ones, in tables of any kind."""
        return fingerprints(self.X)


def fingerprints(rows: pd.DataFrame | NDArray[Any]) -> NDArray[np.uint64]:
    """A fingerprint of each row, equal for equal rows; numbers count as floats, whatever their type."""
    columns = enumerate(c for _, c in pd.DataFrame(rows).items())
    plain = {k: c.astype(np.float64 if pd.api.types.is_numeric_dtype(c.dtype) else str) for k, c in columns}
    return np.asarray(pd.util.hash_pandas_object(pd.DataFrame(plain), index=False), dtype=np.uint64)


PRINTS = "training_prints_"
"""The attribute of a model that ``prunemodels train`` wrote: the fingerprints of its training rows."""


def rows_in_training(model: Any, rows: Examples) -> int | None:
    """How many examples have the features of one that the model was trained on; None where the model does not know."""
    prints = getattr(model, PRINTS, None)
    return None if prints is None else int(np.isin(rows.prints, prints).sum())


def read_labelled(args: argparse.Namespace, option: str, label: str | None, weights: str | None = None) -> Examples:
    """Read the table that an option names; labels are renamed by ``--map-labels``, and columns of ``--ignore`` left out."""
    file = getattr(args, option[2:].replace("-", "_"))
    ignored = args.ignore or ()
    with errors_naming(option), doing(args, f"reading {file}"):
        table, told = read_and_tell(file, marks_of(args), skip=ignored)
    args.told += told
    y = None if label is None else take_column(table, label, "--label", file)
    given = None if weights is None else take_column(table, weights, "--weights", file)
    if given is not None:
        with errors_naming(f"--weights {weights}"):
            where = f"{file}: {weights}"
            given = check_weights(given, len(table), where, entry=lambda i: f"{row_of(file, i)}: the column {weights!r}")
    group = getattr(args, "groups", None)
    groups = None if group is None else take_column(table, group, "--groups", file)
    absent = [name for name in ignored if name not in table.columns]
    if absent and option == "--data":
        raise InvalidInputError(f"--ignore: {file} has no column {absent[0]!r}; it has {shown(table.columns)}")
    if y is not None and getattr(args, "map_labels", None):
        y = _renamed(y, args.map_labels, file)
    names = tuple(c for c in table.columns if c not in (label, weights, group, *ignored))
    return Examples(file, table, y, given, names, groups=groups)


def marks_of(args: argparse.Namespace) -> Marks:
    """What ``--decimal`` says of numbers in tables, where a file leaves it open."""
    return Marks(said=args.decimal)


def _renamed(y: NDArray[Any], names: Mapping[str, str], file: str) -> NDArray[Any]:
    """The labels with new names; numbers where all of the new names are whole numbers."""
    place = {str(label): label for label in pd.unique(pd.Series(y)).tolist()}
    absent = [old for old in names if old not in place]
    if absent:
        raise InvalidInputError(f"--map-labels: {file} has no label {absent[0]!r}; it has {', '.join(map(repr, place))}")
    whole = all(re.fullmatch(r"-?\d+", new) for new in names.values())
    new = {place[old]: int(name) if whole else name for old, name in names.items()}
    return np.array([new.get(label, label) for label in y.tolist()])


def read_examples(
    args: argparse.Namespace, option: str, model: TreeModel | Cascade, *, weighted: bool = True, table: Examples | None = None
) -> Examples:
    """Read a table for a model, unless `table` is it: columns are found by name where the model knows names, else by position.

    Where `weighted`, each row stands for as many as its weight says, if ``--weights`` names a column.
    """
    label, weights = args.label, args.weights if weighted else None
    table = read_labelled(args, option, label, weights) if table is None else table
    with errors_naming(option):
        kind, words, n_columns, named = columns_read(model, table.names)
        for name, column in (("--label", label), ("--weights", weights)):
            if isinstance(model, Cascade) and column in named:
                raise InvalidInputError(f"{name}: the cascade reads the column {column!r}; name another")
        names = named or table.names
        if len(names) != n_columns and not named:
            remedy = "leave out with --ignore those that are no features" if label else "name the label column with --label"
            raise InvalidInputError(
                f"{table.file} has {len(names)} feature columns ({shown(names)}), the {kind} was trained on {n_columns}, without "
                f"names; {remedy}"
            )
        features = take_columns(table.X, names, table.file) if words else take_features(table.X, names, table.file)
    if table.y is not None:
        with errors_naming(f"--label {label}"):
            table = replace(table, y=_checked_labels(args, table.y, model, kind, table.file))
    # a forest that was trained without names warns when it is given a table
    X = features if named else features.to_numpy()
    unused = tuple(c for c in table.X.columns if c not in {*names, label, weights, getattr(args, "groups", None)})
    return replace(table, X=X, names=names, ignored=unused)


def columns_read(model: TreeModel | Cascade, there: tuple[str, ...]) -> tuple[str, bool, int, tuple[str, ...]]:
    """What a model is called, whether its columns may hold words, their number, and their names, empty without any.

    `there`: the columns of a table, whose number stands for that of a cascade that does not know its own.
    """
    if isinstance(model, Cascade):  # a user's own stages may not say how many features they read
        named = tuple(map(str, getattr(model, "feature_names_in_", ())))
        return "cascade", reads_raw_columns(model), getattr(model, "n_features_in_", len(there)), named
    named = tuple(model.spelled_as(list(there)).columns_by_name or ())
    return "forest" if model.forest is None else "model", model.reads_words, model.n_columns, named


def _checked_labels(args: argparse.Namespace, y: NDArray[Any], model: TreeModel | Cascade, kind: str, file: str) -> NDArray[Any]:
    """The labels, if they are those of the model, or renamed where the user agrees to a pairing."""
    judge = model.stages_ if isinstance(model, Cascade) else model
    classes, task = judge.classes, judge.task
    if classes is None:
        if task == "regression" and not np.issubdtype(y.dtype, np.number):
            raise InvalidInputError(f"{file}: the targets are {y.dtype}, not numbers; the {kind} is a regressor")
        class_numbers(None, y, len(y), entry=lambda i: f"{row_of(file, i)}: the target")
        return y
    counts = pd.Series(y).value_counts()
    known, there = classes.tolist(), sorted(counts.index.tolist(), key=str)
    foreign = [label for label in there if label not in known]
    if not foreign:
        return y
    first = next(k for k, label in enumerate(y.tolist()) if label in foreign)
    message = (
        f"{row_of(file, first)}: {foreign[0]!r} is no label of the model; {file} has {_list(there)}, the model {_list(known)}"
    )
    if len(there) > len(known) or len(foreign) < len(there):
        raise InvalidInputError(f"{message}; name those that mean the same with --map-labels, or leave such rows out")
    shares = _class_shares(model)
    if shares is None:  # in their order
        paired, why = dict(zip(there, known, strict=False)), "if they mean the same in this order"
    else:
        often = [known[k] for k in np.argsort(-shares, kind="stable").tolist()]
        paired = dict(zip(counts.index.tolist(), often, strict=False))
        told = ", ".join(
            f"{old} ({100 * n / len(y):.0f} %) is {new} ({100 * shares[known.index(new)]:.0f} % in training)"
            for (old, new), n in zip(paired.items(), counts.tolist(), strict=False)
        )
        why = f"by how often they come, {told}; if that is so"
    pairs = {str(old): str(new) for old, new in paired.items()}
    option = f"--map-labels {shlex.quote(','.join(f'{old}={new}' for old, new in pairs.items()))}"
    if not agreed(args, f"{message}. {why[0].upper()}{why[1:]}, answer y: the labels are then renamed, as by {option}."):
        raise InvalidInputError(f"{message}; {why}: {typed(args)} {option}")
    args.map_labels = pairs
    return _renamed(y, pairs, file)


def _class_shares(model: TreeModel | Cascade) -> NDArray[np.float64] | None:
    """How often each class came in training; None where a model does not know."""
    if isinstance(model, Cascade):
        sample, classes = model.exit_path_.sample, model.stages_.classes
        truth = getattr(sample, "truth", None)
        return (
            None if truth is None or classes is None else np.bincount(truth, sample.weights, len(classes)) / sample.weights.sum()
        )
    if model.forest is not None:
        return None
    return np.asarray(model.ensemble.value[model.ensemble.roots].mean(axis=0))


def _list(labels: list[Any]) -> str:
    return "[" + ", ".join(map(repr, labels[:6])) + (", ..." if len(labels) > 6 else "") + "]"


def read_costs(args: argparse.Namespace, data: Examples) -> CostItems:
    """Prices from one number for every feature, or from a table of prices."""
    given, names = args.costs, data.names
    with errors_naming(f"--costs {given}"):
        try:
            uniform = Decimal(given)  # a float would round a number that is too small for it to 0
        except InvalidOperation:
            table, told = read_prices(given, marks_of(args))
            args.told += told
            if "feature" in table.columns:
                _check_unpriced(args, table, data)
            items, others = items_from_list(table, names)
            if others:
                priced = "price is" if len(others) == 1 else "prices are"
                args.told.append(f"{given}: {len(others):,} {priced} of no column here: {shown(others, SETTINGS.most_names)}")
            return items
        if "_" in given:
            raise InvalidInputError(f"{NOT_WITH_UNDERSCORES}; write {given.replace('_', '')}")
        return CostItems.plain([uniform] * len(names), names)


def costs_for(args: argparse.Namespace, model: TreeModel | Cascade, data: Examples, file: str) -> CostItems | None:
    """The prices of ``--costs`` for the model of a file; None where it has its own. A cascade's own must be the same."""
    if args.costs is None:
        if not isinstance(model, Cascade) and model.priced(None, 0)[0] is None:
            raise InvalidInputError(f"--costs is missing: {file} was not pruned with prices; {PRICES_NEEDED}")
        return None
    if not isinstance(model, Cascade):
        return read_costs(args, data)
    with errors_naming(f"--costs {args.costs}"):
        check_same_prices(model.stages_, data.names, read_costs(args, data), args.evaluation_cost)
    return None


PRICES_NEEDED = "give a table with the columns feature,cost, or one price for all"


def _check_unpriced(args: argparse.Namespace, table: pd.DataFrame, data: Examples) -> None:
    """Refuse columns without a price, all by name, identifiers first, with the option that leaves them out."""
    priced = {*table["feature"].astype(str)}
    missing = [name for name in data.names if name not in priced]
    if not missing:
        return
    found = [name for name in identifiers(data.X) if name in missing] if isinstance(data.X, pd.DataFrame) else []
    trained = getattr(args, "forest", None) is not None
    leave_out = f"{'train the model again' if trained else 'leave it out'} with --ignore {','.join(found or missing)}"
    meant = probably_meant(missing, sorted(priced))
    if found:
        looks = "has another value in nearly each row and looks like an identifier"
        others = [name for name in missing if name not in found]
        more = f"; {shown(others)} {'has' if len(others) == 1 else 'have'} no price either{meant}" if others else ""
        raise InvalidInputError(f"there is no price for {shown(found)}, which {looks}; {leave_out}, or give it a price{more}")
    remedy = "write a price, 0 if it is free" if trained else f"{leave_out}, or write a price, 0 if it is free"
    raise InvalidInputError(f"there is no price for {shown(missing)}{meant}; {remedy}")


@dataclass(frozen=True, eq=False)
class NamedErrors:
    """An error sample whose error messages begin with the option that asked for it."""

    sample: ErrorSample
    option: str

    def measure(self, forest: ReadForest) -> NodeErrors:
        """See `ErrorSample.measure`."""
        with errors_naming(self.option):
            return self.sample.measure(forest)


NEEDED, USED = (
    {"in-bag": (), "out-of-bag": ("train",), "given": ("error_data",)},
    {"in-bag": ("train",), "out-of-bag": ("train",), "given": ("error_data",)},
)
"""The files that each choice of ``--errors`` needs, and those that it can use."""


def read_errors(args: argparse.Namespace, model: TreeModel) -> tuple[ErrorSample, list[Examples]]:
    """The error sample that ``--errors``, ``--train`` and ``--error-data`` describe, and the tables that were read for it."""
    for name in ("train", "error_data"):
        option, given = option_of(name), getattr(args, name) is not None
        if name in NEEDED[args.errors] and not given:
            raise InvalidInputError(f"--errors {args.errors} needs labelled data: give {option} FILE")
        if given and name not in USED[args.errors]:
            raise InvalidInputError(f"{option} is not used with --errors {args.errors}; drop it, or change --errors")
        if given and args.label is None:
            raise InvalidInputError(f"{option} needs labels: name the column with --label")
    files = {  # in-bag errors are those that the trees were grown by, with the weights that training had
        name: read_examples(args, option_of(name), model, weighted=name == "error_data" or args.errors == "out-of-bag")
        for name in USED[args.errors]
        if getattr(args, name) is not None
    }
    train, given_data = files.get("train"), files.get("error_data")
    sample: ErrorSample = InBag() if train is None else InBag(train.X, train.y)
    if args.errors == "out-of-bag" and train is not None:
        sample = OutOfBag(train.X, train.y, train.weights)
    if given_data is not None:
        sample = Given(given_data.X, given_data.y, given_data.weights)
    return NamedErrors(sample, f"--errors {args.errors}"), list(files.values())


@dataclass(frozen=True, eq=False)
class Instance:
    """What the arguments of a command define: a forest, the cost sample, prices, and the problem.

    `seen` are all tables on which the pruning is found.
    """

    forest: Any
    model: TreeModel
    data: Examples
    costs: CostItems
    problem: PruningProblem
    seen: list[Examples]

    def record(self, args: argparse.Namespace) -> dict[str, Any]:
        """What every command on an instance tells of it."""
        problem, ensemble = self.problem, self.problem.ensemble
        told = {"forest": args.forest, "model": model_name(self.forest), "trees": ensemble.n_trees, "task": ensemble.task}
        told |= {"measure": ensemble.measure, "data": args.data, "examples": problem.usage.n_rows}
        return told | {"error_source": problem.errors.source}


def read_instance(args: argparse.Namespace, forest: Any = None) -> Instance:
    """Read the forest (unless it was read already), the cost sample and the prices, and build the instance from them."""
    forest = read_model_file(args) if forest is None else forest
    with errors_naming("FOREST"):
        read = ReadForest.of(forest)
    model = TreeModel(forest, read.ensemble)
    data = read_examples(args, "--data", model)
    costs = read_costs(args, data)
    errors, seen = read_errors(args, model)
    judged = read.under_costs(mistake_costs(args.mistakes, model.ensemble.classes))
    options = {"errors": errors, "sample_weight": data.weights, "evaluation_cost": args.evaluation_cost}
    with doing(args, "counting what the forest asks for"):
        problem = problem_of(judged, data.X, costs=costs, **options)
    return Instance(forest, TreeModel(forest, problem.ensemble), data, costs, problem, [data, *seen])


def mistake_costs(given: dict[tuple[str, str], float] | None, classes: Any) -> Any:
    """The matrix of ``--mistakes``; None without that option."""
    if given is None:
        return None
    if classes is None:
        raise InvalidInputError("--mistakes is for classes, and the model predicts numbers; drop it")
    with errors_naming("--mistakes"):
        return cost_matrix(given, classes)


def read_model_file(args: argparse.Namespace) -> Any:
    """The model that the first argument names."""
    with errors_naming("FOREST"), doing(args, f"reading {args.forest}"):
        return load_forest(args.forest, trust_pickle=args.trust_pickle)


def read_any_model(args: argparse.Namespace, file: str, option: str = "FOREST|CASCADE") -> TreeModel | Cascade:
    """The model of a file that an option names, or the cascade with the policy that ``--budget`` chooses."""
    with errors_naming(option), doing(args, f"reading {file}"):
        if not holds_cascade(file, trust_pickle=args.trust_pickle):
            return tree_model_of(load_forest(file, trust_pickle=args.trust_pickle))
        cascade: Cascade = load_cascade(file, trust_pickle=args.trust_pickle)
    with errors_naming("--budget"):
        return cascade if args.budget is None else cascade.at_cost(args.budget)


def path_of(args: argparse.Namespace, instance: Instance) -> PruningPath:
    """The path of an instance, with progress on a terminal."""
    with doing(args, "finding all optimal prunings"):
        return pruning_path(instance.problem, progress=shows_progress(args))


def check_held_out_file(args: argparse.Namespace, why: str) -> None:
    """Refuse ``--held-out`` where it is a file that the answer comes from, by whatever name, or a copy of one."""
    if args.held_out is None:
        return
    for name in ("data", "train", "error_data"):
        file = getattr(args, name, None)
        if file is None:
            continue
        same = same_file(args.held_out, file)
        if same or (os.path.isfile(args.held_out) and os.path.isfile(file) and filecmp.cmp(args.held_out, file, shallow=False)):
            how = "names the same file as" if same else "is a copy of the file of"
            raise InvalidInputError(f"--held-out {how} {option_of(name)}, {why}; give examples that were kept apart")


def same_file(a: str, b: str) -> bool:
    """Whether two paths name the same file, links followed."""
    return os.path.realpath(a) == os.path.realpath(b)


def hints_on_rows(held_out: Examples | None, *seen: Examples) -> list[str]:
    """What a user should know about rows that come twice: within a file, or among those kept apart and those that were not.

    Held-out rows all of which are among others that hardly repeat are refused, and so is a group that stands on both sides.
    """
    for some in seen:
        check_apart(some.groups, None if held_out is None else held_out.groups, (some.file, "--held-out"))
    hints = [
        f"{repeated:,} of the {len(some.prints):,} examples of {some.file} repeat the features of another one"
        for some in (*seen, held_out)
        if some is not None and (repeated := len(some.prints) - len(np.unique(some.prints)))
    ]
    if held_out is None:
        return hints
    for some in seen:
        shared = int(np.isin(held_out.prints, some.prints).sum())
        if shared == len(held_out.prints) and len(np.unique(some.prints)) > SETTINGS.mostly * len(some.prints):
            raise InvalidInputError(
                f"--held-out {held_out.file}: all of its {shared:,} examples are in {some.file}, too; give examples that were "
                "kept apart"
            )
        if shared:
            hints.append(
                f"{shared:,} of the {len(held_out.prints):,} held-out examples have the features of an example of {some.file}: "
                "if they are the same, the held-out error is too small; leave them out"
            )
    return hints
