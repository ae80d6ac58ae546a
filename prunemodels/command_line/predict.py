"""The command ``predict``: the answers of a model or a cascade for rows without labels, and what each row buys and pays."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from formulations.errors import InvalidInputError
from formulations.shown import align
from prunemodels.cascades.cascade import Cascade
from prunemodels.command_line.inputs import Examples, columns_read, costs_for, read_any_model, read_examples, read_labelled
from prunemodels.command_line.parsing import errors_naming, refuse
from prunemodels.command_line.progress import doing
from prunemodels.command_line.settings import SETTINGS
from prunemodels.command_line.summary import Line, Summary, model_name
from prunemodels.data_files import take_columns
from prunemodels.evaluation.answers import Answers, answers_of
from prunemodels.evaluation.known_values import Known, known_values
from prunemodels.models.tree_model import TreeModel
from prunemodels.statements.wording import amount, count, share


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
