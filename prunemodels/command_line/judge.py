"""The command ``train``: a model is fitted to a table; and how commands judge models on examples."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import train_test_split
from sklearn.utils.multiclass import type_of_target

from formulations.errors import InvalidInputError
from formulations.shown import align, cell, error_name, row_of
from prunemodels.cascades.cascade import Cascade
from prunemodels.command_line.examples import (
    PRINTS,
    Examples,
    check_held_out_file,
    columns_of,
    columns_table,
    fingerprints,
    hints_on_rows,
    read_labelled,
)
from prunemodels.command_line.parsing import again, errors_naming, reserve, reserve_model
from prunemodels.command_line.process import SETTINGS, doing
from prunemodels.command_line.summary import Line, Summary, card_of, model_name
from prunemodels.data_files import shown, take_any_features
from prunemodels.evaluation.answers import Known
from prunemodels.evaluation.pairs import Answered, answered, change_between
from prunemodels.files.forests import FOREST_ENDINGS, dump_forest
from prunemodels.models.labelled_samples import check_apart, class_numbers, part_of
from prunemodels.models.tree_model import TreeModel, tree_model_of
from prunemodels.stages.raw_tables import codes, group_columns, identifiers, is_numeric
from prunemodels.stages.table_preparation import kind_of, prepared
from prunemodels.statements.by_class import NAMES, ByClass, by_class, positive_class
from prunemodels.statements.change import HeldOutChange
from prunemodels.statements.mean_bounds import MeanInterval, repeated
from prunemodels.statements.wording import amount, budget_verdict, count, error, interval, is_overrun

DEPTHS = {"forest": 8, "boosted": 4}


def class_by_class(
    args: argparse.Namespace,
    classes: Any,
    y: Any,
    said: Sequence[Any],
    weights: Any,
    names: tuple[str, str] = NAMES,
    groups: Any = None,
) -> ByClass | None:
    """What one model, or one before and one after, says of examples class by class; None for numbers."""
    at = weights > 0
    with errors_naming("--positive"):
        seen = [answers[at] for answers in said]
        groups = None if groups is None else groups[at]
        return by_class(classes, y[at], seen, weights[at], SETTINGS.confidence, args.positive, names, groups)


def class_lines(seen: ByClass | None) -> list[str | Line]:
    """The table of what one model finds, and which class is taken for the one to be found."""
    return [] if seen is None else [card_of(seen), "", *choice_line(seen)]


def choice_line(seen: ByClass | None) -> list[str | Line]:
    """Which of two classes is taken for the one to be found, and how to take the other."""
    return [] if seen is None or not seen.choice else [Line("to be found", seen.choice)]


def budget_lines(before: str, budgets: Sequence[float], seen: Sequence[HeldOutChange], on: str) -> list[str | Line]:
    """One table of several budgets: cost, error and the class to be found, with intervals; and what each says of its budget."""
    measure, shown_error = seen[0].measure, f"{error_name(seen[0].measure)} (interval)"
    found = [None if one.classes is None else one.classes.sensitivity for one in seen]
    header = ["budget", "cost (interval)", shown_error, *([] if found[0] is None else [f"“{found[0].name}” found"])]

    def cells(name: str, cost: MeanInterval, wrong: MeanInterval, rate: Any) -> list[str]:
        told = [f"{amount(cost.mean)} ({interval(cost)})", f"{error(wrong.mean, measure)} ({_ends(wrong, measure)})"]
        return [name, *told, *([] if rate is None else [str(rate)])]

    first = seen[0]
    rates = [(None, None) if one is None else one.rates for one in found]
    rows = [cells(before, first.cost_before, first.error_before, rates[0][0])]
    for budget, one, rate in zip(budgets, seen, rates, strict=True):
        rows.append(cells(f"{budget:g}", one.cost_after, one.error_after, rate[1]))
    lines: list[str | Line] = [align(header, rows, left=1), "", *choice_line(first.classes)]
    for budget, one in zip(budgets, seen, strict=True):
        over = is_overrun(budget, one.cost_after)
        verdict = budget_verdict(budget, one.cost_after) if over else ""
        lines.append(Line(f"budget {budget:g}", f"{one.verdict} {verdict}".rstrip(), "warning" if over else ""))
    return [*lines, Line("measured on", on)]


def _ends(of: MeanInterval, measure: str) -> str:
    """An interval of errors in words, the per cent once."""
    return interval(of, lambda x: error(x, measure)).replace("\u00a0% to", " to")


def budget_warnings(budgets: Sequence[float], seen: Sequence[HeldOutChange | None]) -> tuple[str, ...]:
    """What is to be read before any saving, by budget."""
    pairs = [(budget, told) for budget, one in zip(budgets, seen, strict=True) if one is not None for told in one.first]
    return tuple(f"Budget {budget:g}: {told}" for budget, told in pairs)


def warnings_of(record: Mapping[str, Any]) -> tuple[str, ...]:
    """What is to be read before any saving: of held-out examples, else of those on ``--data`` or those of fitting."""
    seen = (record.get(where) for where in ("held_out", "on_data", "in_fitting"))
    return next((one.first for one in seen if isinstance(one, HeldOutChange | ByClass)), ())


def model_record(args: argparse.Namespace, model: TreeModel) -> dict[str, Any]:
    """What a summary says of a model."""
    return {"forest": args.forest, "model": model_name(model.model), "trees": model.ensemble.n_trees, "data": args.data}


def answers_on(args: argparse.Namespace, model: TreeModel | Cascade, rows: Examples, costs: Any) -> Answered:
    """What a model or a cascade answers for examples, by weight."""
    return answered(model, rows.X, rows.y, weights_of(rows), costs, args.evaluation_cost)


def weights_of(rows: Examples) -> NDArray[np.float64]:
    """The weights of examples, 1 where they have none."""
    return np.ones(len(rows.X)) if rows.weights is None else rows.weights


def groups_of(rows: Examples) -> NDArray[np.int64] | None:
    """The groups of the examples of positive weight; None where each is a group of its own."""
    groups = rows.group_numbers
    return None if groups is None else repeated(groups[weights_of(rows) > 0])


def changed(
    args: argparse.Namespace, before: Answered, after: Answered, rows: Examples, names: tuple[str, str] = NAMES
) -> HeldOutChange:
    """What two models cost, and how they err, on the same examples, by weight."""
    with errors_naming("--positive"):
        options = names, rows.group_numbers, SETTINGS.confidence, args.positive
        return change_between(before, after, rows.y, weights_of(rows), *options)


def verdict_on(budget: Any, cost: MeanInterval, unit: str = "") -> tuple[dict[str, Any], list[str | Line]]:
    """What a mean cost on held-out examples says about a budget; nothing without one."""
    if budget is None:
        return {}, []
    over, told = is_overrun(budget, cost), budget_verdict(budget, cost, unit).replace("\u00a0", " ")
    return {"over_budget": over, "budget_verdict": told}, [Line("budget", told, "warning" if over else "")]


def train_command(args: argparse.Namespace) -> Summary:
    """``prunemodels train``: a forest or a boosted model, fitted to a table, saved, and measured on examples kept apart."""
    out = reserve_model(args, args.out, FOREST_ENDINGS)
    if args.held_out is not None and args.apart_csv is not None:
        raise InvalidInputError("--apart-csv writes what --split keeps apart, but --held-out names such examples; drop one")
    kept = reserve(args, "apart_csv", ".csv")
    check_held_out_file(args, "on which the model is trained")
    table = read_labelled(args, "--data", args.label)
    whole, y = table.X, table.y
    assert y is not None
    regression = check_labels(args, y)
    groups = table.group_numbers
    # which rows are trained on, and which are kept apart
    rows, apart = (np.arange(len(y)), np.arange(0)) if args.held_out else _parts(args, y, groups, regression=regression)
    columns = columns_of(table.X, roles(args))
    table = features_of(args, table, rows)
    X = table.X
    if args.held_out is None:
        test_X, test_y, where = X.iloc[apart], y[apart], f"kept apart from {args.data}"
        test_groups = None if groups is None else groups[apart]
    else:
        held_out, where = read_labelled(args, "--held-out", args.label), f"of {args.held_out}"
        test_X, test_y, test_groups = alike(args, held_out, table.names, X), held_out.y, held_out.group_numbers
        check_apart(table.groups, held_out.groups, ("--data", "--held-out"))
    assert test_y is not None
    check_labels_alike(args, y[rows], test_y, regression=regression)
    # train, and measure on both parts
    model = _unfitted(args, X, regression=regression)
    with errors_naming("--data"), doing(args, "training the model"):
        model.fit(X.iloc[rows], y[rows])
    setattr(model, PRINTS, np.unique(fingerprints(X.iloc[rows])))
    tree_model = tree_model_of(model)
    with errors_naming(f"--label {args.label}"):
        measured, trained = (
            float(np.mean(tree_model.losses(some, truth))) for some, truth in ((test_X, test_y), (X.iloc[rows], y[rows]))
        )
    # per class, and beside the constant answer
    said, ones = [tree_model.predict(test_X)], np.ones(len(test_y))
    found = class_by_class(args, tree_model.classes, test_y, said, ones, groups=test_groups)
    simple = np.mean(y[rows]) if regression else pd.Series(y[rows]).mode()[0]
    plain = float(np.mean((test_y - simple) ** 2 if regression else test_y != simple))
    # the files
    dump_forest(model, args.outputs.aside(out))
    for file in kept:
        whole.iloc[apart].to_csv(args.outputs.aside(file), index=False)
    # the record and the lines
    measure = tree_model.measure
    record = {"model": model_name(model), "trees": tree_model.ensemble.n_trees, "measure": measure}
    record |= {"features": len(table.names), "examples": len(rows), "held_out_examples": len(test_y)}
    record |= {"columns": columns, "held_out_error": measured, "training_error": trained, "plain_error": plain, "classes": found}
    of_groups = "" if test_groups is None else f" of {count(np.unique(test_groups).size, 'other group')}"
    always = "the mean for everybody" if regression else f"the answer {simple!s} for everybody"
    lines: list[str | Line] = [
        f"{args.out}: {record['model']}, {record['trees']} trees on {len(table.names)} columns",
        "",
        Line(
            "held-out error",
            f"{error(measured, measure)} on {len(test_y):,} examples{of_groups} {where}; {always} {error(plain, measure)}",
            "" if measured < plain else "warning",
        ),
        Line("trained on", f"{len(rows):,} examples of {args.data}, with {error(trained, measure)} there"),
        "",
        *class_lines(found),
        "",
        columns_table(columns, len(y)),
        "",
    ]
    # what the user should know of the data
    hints = hints_on_columns(X, args)
    seen, test = Examples(args.data, X, y, None, table.names), Examples(args.held_out, test_X, test_y, None, table.names)
    hints += hints_on_rows(test if args.held_out else None, seen)
    if args.held_out is None and (shared := int(np.isin(fingerprints(test_X), fingerprints(X.iloc[rows])).sum())):
        hints.append(f"{shared:,} of the examples kept apart have the features of one in training, which flatters the error")
    next_ = _next(args, len(table.names))
    warnings = () if found is None else found.first
    return Summary(record, lines, [out, *kept], args.ignore or (), hints, next=next_, warnings=warnings)


def features_of(args: argparse.Namespace, table: Examples, rows: NDArray[Any] | slice = slice(None)) -> Examples:
    """The columns of ``--data`` that are features, as numbers if all of them are, without those that are empty in some rows."""
    if not table.names:
        raise InvalidInputError(f"--data: {args.data} has no column but {shown(table.X.columns)}; give features, too")
    empty = [name for name in table.names if table.X[name].iloc[rows].isna().all()]
    names = tuple(name for name in table.names if name not in empty)
    if not names:
        raise InvalidInputError(f"--data: no column of {args.data} has a value to learn from, {shown(empty)} are empty")
    args.told += [f"{args.data}: {shown(empty)} left out, without a value to learn from"] if empty else []
    with errors_naming("--data"):
        return replace(table, X=take_any_features(table.X, names, args.data), names=names)


def _next(args: argparse.Namespace, n_features: int) -> str:
    """Prune the model to half of its features at a price of 1 each; first keep examples apart in a file, where none were."""
    apart, kept = args.apart_csv or args.held_out, "train seed positive held-out"
    if apart is None:
        return f"{again(args, 'train', None, '', apart_csv='apart.csv')} --force"
    out = Path(args.out)
    budget = max(1, n_features // 2)
    more = {"data": apart, "costs": 1, "budget": budget, "out": out.with_name(f"{out.stem}-{budget}{out.suffix}")}
    return again(args, "prune", args.out, kept, **more)


def roles(args: argparse.Namespace) -> dict[str, str]:
    """What columns of ``--data`` are that are no features."""
    found = {
        args.label: "label",
        getattr(args, "weights", None): "weight",
        getattr(args, "groups", None): "group",
    } | dict.fromkeys(args.ignore or (), "ignored")
    return {name: role for name, role in found.items() if name is not None}


def alike(args: argparse.Namespace, held_out: Examples, names: Sequence[str], X: pd.DataFrame) -> pd.DataFrame:
    """The features of ``--held-out``, if they hold what those of the training table X hold: told before any training."""
    with errors_naming("--held-out"):
        found = take_any_features(held_out.X, names, args.held_out)
        for name in names:
            kind = kind_of(X[name], name)
            wrong = np.flatnonzero(Known(kind).unknown(found[name]))
            if wrong.size:
                where, value = row_of(args.held_out, int(wrong[0])), cell(found[name].iloc[wrong[0]])
                raise InvalidInputError(
                    f"{where}: the column {name!r} is {value}, in --data it holds {kind}s; give such a value, or leave it empty"
                )
    return found


def check_labels_alike(args: argparse.Namespace, y: NDArray[Any], held_out: NDArray[Any], *, regression: bool) -> None:
    """Refuse labels of the examples kept apart that training does not know, and a ``--positive`` that is none."""
    classes = None if regression else np.unique(y)
    with errors_naming(f"--label {args.label}"):
        class_numbers(classes, held_out, len(held_out))
    check_positive(args, classes, held_out)


def check_positive(args: argparse.Namespace, classes: NDArray[Any] | None, truth: NDArray[Any] | None) -> None:
    """Refuse a ``--positive`` that is no class of the model, or that no example or every one has, before any work."""
    if truth is None or args.positive is None:
        return
    with errors_naming("--positive"):
        if classes is None:
            raise InvalidInputError(f"{args.positive!r} is a class, and the model predicts numbers; leave it out")
        positive_class(classes, truth, np.ones(len(truth)), args.positive)


def check_labels(args: argparse.Namespace, y: NDArray[Any]) -> bool:
    """Whether the labels are numbers to be predicted; refuses labels from which nothing can be learned, before any training."""
    if (y == y[0]).all():
        raise InvalidInputError(
            f"--label {args.label}: all examples of {args.data} have {y.tolist()[0]!r}; give examples with different labels"
        )
    if args.regression and not np.issubdtype(y.dtype, np.number):
        raise InvalidInputError(
            f"--label {args.label}: {args.data} holds {y.tolist()[0]!r}, and --regression needs numbers; drop --regression"
        )
    return bool(args.regression or type_of_target(y).startswith("continuous"))


def hints_on_columns(X: pd.DataFrame, args: argparse.Namespace) -> list[str]:
    """The hints on columns of identifiers, on those that say which rows belong together, and on codes for missing values."""
    hints = [
        f"the column {name!r} looks like an identifier, which says nothing about new examples; leave it out: --ignore {name}"
        for name in identifiers(X)
    ]
    hints += [
        f"the column {name!r} repeats in rows that are nearly equal, as a patient's number does; if they belong together, "
        f"keep them together: --groups {name}"
        for name in ([] if args.groups else group_columns(X))
    ]
    for name, code, rows in codes(X):
        hints.append(
            f"the column {name!r} is {code:g} in {rows:,} of {len(X):,} examples, far from all others; if it stands for a "
            "missing value, empty these cells"
        )
    return hints


def _parts(
    args: argparse.Namespace, y: NDArray[Any], groups: NDArray[np.int64] | None, *, regression: bool
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The rows to train on, and those kept apart: whole groups, else with the same shares of labels, if each is there twice."""
    kept = SETTINGS.split if args.split is None else args.split
    counts = pd.Series(y).value_counts()
    if not 0 < round(kept * len(y)) < len(y):
        raise InvalidInputError(f"--split {kept:g} of {len(y)} examples leaves a part empty; give more examples, or --held-out")
    if groups is not None:
        return part_of(len(y), kept, groups, args.seed)
    by = None if regression or counts.min() < 2 or round(kept * len(y)) < len(counts) else y
    rows, apart = train_test_split(np.arange(len(y)), test_size=kept, random_state=args.seed, stratify=by)
    return np.sort(rows), np.sort(apart)


def _unfitted(args: argparse.Namespace, X: pd.DataFrame, *, regression: bool) -> Any:
    """The model, behind a preparation where a column holds more than numbers."""
    depth = args.depth or DEPTHS[args.model]
    if args.model == "forest":
        options = {"max_depth": depth, "random_state": args.seed, "n_jobs": -1}
        model: Any = (RandomForestRegressor if regression else RandomForestClassifier)(args.trees, **options)
    else:
        options = {"max_iter": args.trees, "max_depth": depth, "random_state": args.seed}
        model = (HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier)(**options)
    return model if is_numeric(X) else prepared(model, args.model)
