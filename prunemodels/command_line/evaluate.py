"""The command ``evaluate``: what a model or a cascade costs and how it errs on examples, alone or against another one."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from formulations.errors import InvalidInputError
from formulations.instance.tree_loss import usual_loss
from formulations.shown import Card, error_name
from prunemodels.cascades.cascade import Cascade
from prunemodels.command_line.inputs import (
    Examples,
    costs_for,
    hints_on_rows,
    read_any_model,
    read_examples,
    same_file,
)
from prunemodels.command_line.judge import (
    Answered,
    answered,
    changed,
    choice_line,
    class_by_class,
    class_lines,
    classes_of,
    weights_of,
)
from prunemodels.command_line.parsing import errors_naming, refuse
from prunemodels.command_line.progress import doing
from prunemodels.command_line.settings import SETTINGS
from prunemodels.command_line.summary import Line, Summary, card_of, model_name
from prunemodels.evaluation.evaluate import Evaluation, evaluate
from prunemodels.models.forests.labels import losses_of
from prunemodels.models.tree_model import TreeModel
from prunemodels.statements.change import error_interval
from prunemodels.statements.mean_bounds import MeanInterval
from prunemodels.statements.wording import amount, error, interval, limit_uses, use_in_words


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
        notes = (*(use_in_words(use) for use in seen.uses), *seen.warnings)
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
    files = [args.forest] if args.against is None else [args.forest, args.against]
    judged = [_judged(args, file, model) for file, model in zip(files, models, strict=True)]
    first, rows = judged[0], judged[0].rows
    weights, classes = weights_of(rows), classes_of(first.model)
    seen = class_by_class(args, classes, rows.y, [first.answered.said], weights)
    record = first.record | {"data": args.data, "classes": seen}
    if not isinstance(first.model, Cascade):
        record |= {"trees": first.model.ensemble.n_trees}
    lines: list[str | Line] = [first.card(), "", *class_lines(seen)]
    warnings = () if seen is None else seen.first
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
    seen, weights = answered(args, model, rows, costs), weights_of(rows)
    weights = weights[weights > 0]
    cost = seen.cost.mean(weights, SETTINGS.confidence)
    return Judged(file, model, rows, seen, found, cost, error_interval(seen.losses, seen.loss, SETTINGS.confidence, "t", weights))


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
    pair = [judged.answered for judged in (second, first)]
    if pair[0].loss.measure != pair[1].loss.measure:  # models that were made for different losses are compared by the usual one
        pair = [_by_usual_loss(one, classes_of(first.model), first.rows) for one in pair]
    return changed(args, pair[0], pair[1], classes_of(first.model), first.rows, names)


def _by_usual_loss(of: Answered, classes: Any, rows: Examples) -> Answered:
    """The same answers, judged by the error rate or the squared error."""
    loss = usual_loss("regression" if classes is None else "classification")
    return replace(of, losses=losses_of(classes, of.said, rows.y)[weights_of(rows) > 0], loss=loss)
