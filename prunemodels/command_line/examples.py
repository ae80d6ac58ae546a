"""Tables of examples that commands read, and what a user should know of their rows and columns; messages begin with the option.

How columns were read is what a user looks over before trusting what was learned from them.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from formulations.errors import InvalidInputError
from formulations.instance.cost_sample import check_weights
from formulations.shown import align, row_of
from prunemodels.cascades.cascade import Cascade
from prunemodels.command_line.parsing import agreed, errors_naming, option_of, typed
from prunemodels.command_line.process import SETTINGS, doing
from prunemodels.data_files import read_and_tell, shown, take_column, take_columns, take_features
from prunemodels.models.labelled_samples import check_apart, class_numbers, group_numbers
from prunemodels.models.tree_model import TreeModel
from prunemodels.number_columns import TAKEN, Marks
from prunemodels.stages.raw_tables import reads_raw_columns
from prunemodels.stages.table_preparation import as_floats, kind_of, level_words
from prunemodels.statements.wording import count, share


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


YES_NO = (("no", "yes"), ("n", "y"), ("False", "True"), ("f", "t"), ("0", "1"), ("nein", "ja"), ("non", "oui"), ("no", "s\xed"))
"""Pairs of words, of which a column of two may be one."""


def columns_of(table: pd.DataFrame, roles: dict[str, str]) -> list[dict[str, Any]]:
    """A record for each column: what it holds, how many cells are missing, which values, and what was taken for numbers.

    `roles`: what columns are that are no features.
    """
    taken = table.attrs.get(TAKEN, {})
    return [
        {"column": name, "role": roles.get(name, "feature")} | _read(column, name) | {"taken": taken.get(name, [])}
        for name, column in ((str(name), column) for name, column in table.items())
    ]


def _read(column: pd.Series[Any], name: str) -> dict[str, Any]:
    """What one column holds."""
    present, kind = column.dropna(), kind_of(column, name)
    missing = len(column) - len(present)
    if not len(present):
        return {"read_as": "empty", "missing": missing, "values": ""}
    words = sorted({str(word) for word in level_words(present)}) if kind == "category" or present.nunique() == 2 else []
    if tuple(word.casefold() for word in words) in {tuple(word.casefold() for word in pair) for pair in YES_NO}:
        parts = [f"{word} {share(float((level_words(present) == word).mean()), 0)}" for word in words]
        return {"read_as": "yes/no", "missing": missing, "values": ", ".join(parts)}
    if kind == "number":
        numbers = as_floats(pd.Series(pd.to_numeric(present)))
        return {"read_as": "number", "missing": missing, "values": f"{numbers.min():g} to {numbers.max():g}"}
    if kind == "date":
        return {"read_as": "date", "missing": missing, "values": f"{str(present.min())[:10]} to {str(present.max())[:10]}"}
    few = [word if len(word) <= SETTINGS.word else f"{word[: SETTINGS.word]}..." for word in words[: SETTINGS.few_words]]
    more = f", ... ({len(words):,} words)" if len(words) > len(few) else ""
    return {"read_as": "words", "missing": missing, "values": ", ".join(few) + more}


def columns_table(found: Sequence[dict[str, Any]], n_rows: int) -> str:
    """The columns on one screen; many are grouped by what they hold."""
    header = ["column", "read as", "missing", "values", "from"]
    if len(found) <= SETTINGS.evidence_lines:
        rows = [
            [
                column["column"] + f" ({column['role']})" * (column["role"] != "feature"),
                column["read_as"],
                f"{column['missing']:,}" if column["missing"] else "",
                column["values"],
                ", ".join(column["taken"]),
            ]
            for column in found
        ]
        return _without_empty(header, rows)
    # one row for all columns that were read in the same way, from the same words
    groups: dict[tuple[str, str, bool, str], list[dict[str, Any]]] = {}
    for column in found:
        role = "" if column["role"] == "feature" else column["role"]
        key = role, column["read_as"], bool(column["missing"]), ", ".join(column["taken"])
        groups.setdefault(key, []).append(column)
    rows = []
    for (role, kind, gaps, taken), columns in groups.items():
        names = [column["column"] for column in columns]
        few = ", ".join(names[: SETTINGS.few_words]) + f" and {len(names) - SETTINGS.few_words:,} more" * (
            len(names) > SETTINGS.few_words
        )
        most = max(column["missing"] for column in columns)
        told = f"up to {share(most / n_rows)}" if gaps else ""
        rows.append([role or count(len(names), "column"), kind, told, few, taken])
    return _without_empty([header[0], header[1], header[2], "which", header[4]], rows)


def _without_empty(header: list[str], rows: list[list[str]]) -> str:
    """A table without the columns that are empty in every row."""
    kept = [k for k in range(len(header)) if any(row[k] for row in rows)]
    return align([header[k] for k in kept], [[row[k] for k in kept] for row in rows], left=len(kept))
