"""The commands ``evaluate``, ``predict``, and ``warm-up``, which compiles ahead what a service of predictions calls.

``evaluate`` says what a model or a cascade costs and how it errs on examples, alone or against another one; ``predict`` gives the
answers of a model or a cascade for rows without labels, and what each row buys and pays.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from formulations.errors import BrokenFileError, InvalidInputError
from formulations.shown import Card, align, error_name
from prunemodels.cascades.cascade import Cascade
from prunemodels.command_line.examples import Examples, columns_read, hints_on_rows, read_examples, read_labelled, same_file
from prunemodels.command_line.inputs import costs_for, read_any_model
from prunemodels.command_line.judge import (
    answers_on,
    changed,
    choice_line,
    class_by_class,
    class_lines,
    groups_of,
    weights_of,
)
from prunemodels.command_line.parsing import errors_naming, refuse
from prunemodels.command_line.process import SETTINGS, doing
from prunemodels.command_line.summary import Line, Summary, card_of, model_name
from prunemodels.data_files import take_columns
from prunemodels.evaluation.answers import Answers, Known, answers_of, known_values
from prunemodels.evaluation.evaluate import Evaluation, evaluate
from prunemodels.evaluation.pairs import Answered, classes_of, in_one_loss
from prunemodels.models.tree_model import TreeModel
from prunemodels.statements.change import error_interval
from prunemodels.statements.mean_bounds import MeanInterval, over_groups
from prunemodels.statements.wording import amount, count, error, interval, limit_uses, share, use_in_words


@dataclass(frozen=True, eq=False)
class Judged:
    """A model or cascade on the examples."""

    file: str
    model: TreeModel | Cascade
    rows: Examples
    answered: Answered
    figures: Evaluation
    cost: MeanInterval
    error: MeanInterval
    n_groups: int | None  # that intervals count; None: they count examples

    @property
    def record(self) -> dict[str, Any]:
        """What JSON says of it."""
        kind = model_name(getattr(self.model, "model", self.model))
        return {"forest": self.file, "model": kind, "figures": self.figures, "cost": self.cost, "error": self.error}

    @property
    def title(self) -> str:
        """What it is."""
        kind = f"{self.file}: {self.record['model']}"
        if isinstance(self.model, Cascade):
            return f"{kind} of {self.model.stages_.n_stages} stages"
        return f"{kind} of {self.model.ensemble.n_trees} trees"

    def card(self) -> str:
        """Cost, features and error, with intervals."""
        seen, features = self.figures, self.figures.features
        rows = [
            ("cost per prediction", amount(self.cost.mean), interval(self.cost)),
            ("features per prediction", "unknown" if features != features else f"{features:.3g}", ""),
            (
                error_name(seen.measure),
                error(self.error.mean, seen.measure),
                interval(self.error, lambda x: error(x, seen.measure)),
            ),
        ]
        rows += [("log loss", f"{seen.loss:.3g}", "")] if seen.loss == seen.loss and seen.task == "classification" else []
        rows += [("splits", f"{seen.splits:,}", "")] if seen.splits else []
        header = ("", "mean", f"{100 * SETTINGS.confidence:g} % interval")
        n = self.n_groups
        counted = () if n is None else (f"Intervals count {count(n, 'group')} of examples as one draw each.",)
        notes = (*(use_in_words(use) for use in seen.uses), *seen.warnings, *counted)
        return Card(f"{self.title}, on {self.rows.told}", tuple(rows), header, notes).text()


def evaluate_command(args: argparse.Namespace) -> Summary:
    """``prunemodels evaluate``."""
    if args.against is not None and same_file(args.forest, args.against):
        raise InvalidInputError("--against names the file of FOREST|CASCADE; give another model")
    models = [read_any_model(args, args.forest)]
    models += [] if args.against is None else [read_any_model(args, args.against, "--against")]
    if not any(isinstance(model, Cascade) for model in models):
        refuse(args, "budget", "chooses a policy of a cascade, and no cascade is named; drop it")
    if isinstance(models[0], Cascade):
        refuse(args, "limit", f"is about items that splits ask for, and {args.forest} holds a cascade; drop it")
    # each model on the rows
    files = [args.forest] if args.against is None else [args.forest, args.against]
    judged = [_judged(args, file, model) for file, model in zip(files, models, strict=True)]
    first, rows = judged[0], judged[0].rows
    weights, classes = weights_of(rows), classes_of(first.model)
    seen = class_by_class(args, classes, rows.y, [first.answered.said], weights, groups=rows.group_numbers)
    record = first.record | {"data": args.data, "classes": seen}
    if not isinstance(first.model, Cascade):
        record |= {"trees": first.model.ensemble.n_trees}
    lines: list[str | Line] = [first.card(), "", *class_lines(seen)]
    warnings = () if seen is None else seen.first
    # the second model, and how the two differ on the same rows
    if args.against is not None:
        change = _compared(args, *judged)
        record |= {"against": judged[1].record, "change": change, "sign_test": change.sign_test}
        lines = [first.card(), "", judged[1].card(), "", card_of(change), "", *choice_line(seen)]
        if change.sign_test is not None:
            only = f"only {change.names[1]} is right in {change.mended:,} examples, only {change.names[0]} in {change.broken:,}"
            lines.append(Line("sign test", f"{only}; exact p-value {change.sign_test:.2g}"))
        warnings = change.first
    return Summary(record, lines, ignored=rows.ignored, hints=hints_on_rows(None, rows), warnings=warnings)


def _judged(args: argparse.Namespace, file: str, model: TreeModel | Cascade) -> Judged:
    """Cost, error and answers of a model on the examples, with intervals."""
    rows = read_examples(args, "--data", model)
    costs = costs_for(args, model, rows, file)
    prices: Any = {"costs": costs, "evaluation_cost": args.evaluation_cost, "sample_weight": rows.weights}
    with errors_naming("--data"), doing(args, f"measuring {file}"):
        found = evaluate(model.model if isinstance(model, TreeModel) else model, rows.X, rows.y, **prices)
    if args.limit and isinstance(model, TreeModel):
        with errors_naming("--limit"):
            found = replace(found, uses=limit_uses(model.usage(rows.X, **prices), model.ensemble.is_split, args.limit))
    seen, weights = answers_on(args, model, rows, costs), weights_of(rows)
    weights, groups, paid, losses = weights[weights > 0], groups_of(rows), seen.cost, seen.losses
    if groups is not None:
        (each, losses), weights = over_groups((paid.rows, losses), weights, groups)
        paid = replace(paid, rows=each)
    cost, wrong = paid.mean(weights, SETTINGS.confidence), error_interval(losses, seen.loss, SETTINGS.confidence, "t", weights)
    return Judged(file, model, rows, seen, found, cost, wrong, None if groups is None else len(weights))


def _compared(args: argparse.Namespace, first: Judged, second: Judged) -> Any:
    """The first model against the second, on the same examples."""
    labels = [None if (found := classes_of(judged.model)) is None else [*map(str, found.tolist())] for judged in (first, second)]
    if labels[0] != labels[1]:
        told = ["numbers" if found is None else ", ".join(found) for found in labels]
        raise InvalidInputError(
            f"--against: {second.file} answers {told[1]}, {first.file} {told[0]}; give models of the same labels"
        )
    short = Path(second.file).name, Path(first.file).name
    names = short if short[0] != short[1] else (second.file, first.file)
    pair = in_one_loss([judged.answered for judged in (second, first)], first.rows.y, weights_of(first.rows) > 0)
    return changed(args, pair[0], pair[1], first.rows, names)


def predict_command(args: argparse.Namespace) -> Summary:
    """``prunemodels predict``."""
    out = args.outputs.reserve(args.out, "--out", endings=(".csv",))
    args.label = args.weights = None
    model = read_any_model(args, args.forest)
    if not isinstance(model, Cascade):
        refuse(args, "budget", f"chooses a policy of a cascade, and {args.forest} holds another model; drop it")
    table = read_labelled(args, "--data", None)
    unknown = _unknown(args, model, table)
    rows = read_examples(args, "--data", model, table=table)
    costs = None if args.costs is None else costs_for(args, model, rows, args.forest)
    with errors_naming("--data"), doing(args, "answering"):
        found = answers_of(model, rows.X, costs, args.evaluation_cost)
        frame = _with_kept(found.to_frame(), table, args.keep or ())
    frame.to_csv(args.outputs.aside(out), index=False)
    record = {"forest": args.forest, "model": model_name(getattr(model, "model", model)), "data": args.data, "rows": len(frame)}
    record |= _figures(found) | {"unknown": unknown}
    lines: list[str | Line] = [f"{args.forest}: {record['model']}, answers for {rows.told}", "", *_lines(found), ""]
    for name, words in unknown.items():
        listed = ", ".join(f"{word!r} in {count(n, 'row')}" for word, n in list(words.items())[: SETTINGS.most_names])
        more = ", ..." * (len(words) > SETTINGS.most_names)
        lines.append(Line("missing", f"{name}: {listed}{more}, unknown to training and taken for missing", "warning"))
    return Summary(record, lines, [out], tuple(c for c in rows.ignored if c not in (args.keep or ())))


def _unknown(args: argparse.Namespace, model: TreeModel | Cascade, table: Examples) -> dict[str, dict[str, int]]:
    """The words of each column that training did not know, with their rows; they are refused, or emptied in the table."""
    named = columns_read(model, table.names)[3]
    with errors_naming("--data"):
        take_columns(table.X, named, table.file)
    found, refused = dict[str, dict[str, int]](), list[str]()
    for name, known in known_values(model, named or table.names).items():
        column = table.X[name]
        unknown = known.unknown(column)
        if not unknown.any():
            continue
        counts = column[unknown].astype(str).value_counts()
        found[name] = {str(word): int(n) for word, n in counts.items()}
        refused.append(_refusal(name, known, found[name], int(np.flatnonzero(unknown)[0])))
        table.X[name] = column.astype(object).mask(unknown, np.nan)
    if refused and not args.unknown_as_missing:
        more = f"; and {count(len(refused) - SETTINGS.most_names, 'more column')}" * (len(refused) > SETTINGS.most_names)
        raise InvalidInputError(
            f"--data: {table.file} has what training did not know: {'; '.join(refused[: SETTINGS.most_names])}{more}. "
            "Correct the file, or count such cells as missing with --unknown-as-missing"
        )
    return found


def _refusal(name: str, known: Known, words: dict[str, int], first: int) -> str:
    """What a column has that training did not know, and what it may mean."""
    listed = ", ".join(f"{word!r} in {count(n, 'row')}" for word, n in list(words.items())[: SETTINGS.most_names])
    more = f" and {count(len(words) - SETTINGS.most_names, 'more word')}" * (len(words) > SETTINGS.most_names)
    if known.words is None:
        knew = f"training had {known.kind}s"
    else:
        there = sorted(known.words)
        knew = f"training had {', '.join(map(repr, there[: SETTINGS.most_names]))}{', ...' * (len(there) > SETTINGS.most_names)}"
    meant = [f"{word!r} may be {other!r}" for word in words if (other := known.meant(word)) is not None]
    return f"{name!r} is {listed}{more}, first in row {first + 1:,} ({'; '.join([knew, *meant[: SETTINGS.most_names]])})"


def _with_kept(frame: pd.DataFrame, table: Examples, kept: Sequence[str]) -> pd.DataFrame:
    """The answers behind the number of their row and the columns to keep."""
    before = take_columns(table.X, list(kept), table.file).reset_index(drop=True)
    twice = [name for name in kept if name in frame.columns or name == "row"]
    if twice:
        raise InvalidInputError(f"--keep: the answers have a column {twice[0]!r} of their own; rename that of {table.file}")
    frame = pd.concat([before, frame], axis=1)
    frame.insert(0, "row", np.arange(1, len(frame) + 1))
    return frame


def _figures(found: Answers) -> dict[str, Any]:
    """What the summary says of all answers together."""
    labels = found.classes
    said = {str(label): int((found.said == label).sum()) for label in labels.tolist()} if labels is not None else None
    bought = (found.first >= 0).mean(axis=1)
    stopped = None if found.stage is None else np.unique(found.stage, return_counts=True)
    return {
        "answers": said if said is not None else {"mean": float(np.mean(found.said))},
        "mean_cost": None if found.cost is None else float(found.cost.mean()) + found.once,
        "once": found.once,
        "items": {
            name: {"price": price, "bought_by": part}
            for name, price, part in zip(found.items, found.price.tolist(), bought.tolist(), strict=True)
        },
        "stages": None if stopped is None else {str(s): int(k) for s, k in zip(*stopped, strict=True)},
    }


def _lines(found: Answers) -> list[str | Line]:
    """The answers, the cost, and who buys what, for a terminal."""
    n, figures = len(found.said), _figures(found)
    if found.classes is None:
        lines: list[str | Line] = [Line("answers", f"mean {amount(figures['answers']['mean'])}")]
    else:
        told = [f"{label} {k:,} ({share(k / n)})" for label, k in figures["answers"].items()]
        lines = [Line("answers", ", ".join(told[: SETTINGS.evidence_lines]))]
    if figures["mean_cost"] is not None:
        assert found.cost is not None
        once = f"; {amount(found.once)} of it is paid once for all" if found.once else ""
        lines.append(
            Line("cost", f"{amount(figures['mean_cost'])} a row on average, {amount(float(found.cost.max()))} at most{once}")
        )
    if figures["stages"] is not None:
        lines.append(Line("stops", ", ".join(f"stage {s}: {share(k / n)}" for s, k in figures["stages"].items())))
    items = sorted(figures["items"].items(), key=lambda item: -item[1]["bought_by"])
    rows = [[name, "" if np.isnan(of["price"]) else amount(of["price"]), share(of["bought_by"])] for name, of in items]
    if rows:
        more = len(rows) - SETTINGS.evidence_lines
        lines += ["", align(["bought", "price", "by"], rows[: SETTINGS.evidence_lines], left=1)]
        lines += [f"and {count(more, 'more item')}"] if more > 0 else []
    return lines


def warm_up_command(args: argparse.Namespace) -> Summary:
    """``prunemodels warm-up``: compile ahead what a service, or pruning, would compile at its first call."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    import formulations.compiled

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.int64)
    classifier = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, y)
    _serve(classifier, X, y, {"early_stopping": True})
    _serve(RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, X[:, 0]), X, X[:, 0], {"tolerance": 0.5})
    if args.all:
        _prune(classifier, X, y)
    used = [kernel for kernel in formulations.compiled.KERNELS if kernel.signatures]
    new = [kernel for kernel in used if kernel.stats.cache_misses]
    if any(kernel.stats.cache_path is None for kernel in new):
        raise BrokenFileError(
            "compiled code can be stored nowhere: neither the package, nor the home, nor the temporary folder is writable; "
            "set NUMBA_CACHE_DIR to a folder that is, and run the command again"
        )
    compiled = sorted(f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}" for kernel in new)
    folder = os.path.commonpath([kernel.stats.cache_path for kernel in used if kernel.stats.cache_path is not None])
    done = f"Compiled {len(new)} kernels; {len(used) - len(new)} were there already. They are stored below {folder}"
    record = {"compiled": compiled, "found": len(used) - len(new), "folder": folder}
    return Summary(record, [*(f"  {name}" for name in compiled), done])


def _serve(forest: Any, X: Any, y: Any, stopping: dict[str, Any]) -> None:
    """What a service calls: predictions on demand, with and without early stopping, and their cost."""
    from prunemodels.evaluation.evaluate import evaluate
    from prunemodels.on_demand.predictor import OnDemandPredictor
    from prunemodels.on_demand.request import from_table

    for options in ({}, stopping):
        OnDemandPredictor(forest, 1, from_table(X), **options).run(range(len(X)))
    evaluate(forest, X, y, costs=1)


def _prune(forest: Any, X: Any, y: Any) -> None:
    """What pruning calls: the whole path, a budget, and price sharing."""
    from prunemodels.estimators.fitted_forest import prune_forest
    from prunemodels.evaluation.path import evaluate_path
    from solvers.path.pruning_path import pruning_path
    from solvers.price_sharing import price_sharing

    pruned = prune_forest(forest, X, y, costs=[1, 2.5, 3, 4, 5], budget=4)
    evaluate_path(pruning_path(pruned.problem), X, y)
    price_sharing(pruned.problem, 0.01)
