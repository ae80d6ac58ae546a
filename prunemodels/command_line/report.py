"""The command ``report``: write one page on a pruning, which it may first compute, or on a cascade."""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.limits_solution import LimitsSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError
from prunemodels.command_line.inputs import (
    check_held_out_file,
    columns_in_order,
    hints_on_rows,
    limit_as_budget,
    limits_of,
    path_of,
    read_examples,
    read_instance,
    read_labelled,
    read_model_file,
)
from prunemodels.command_line.process import DONE, REFUTED, UNDECIDED
from prunemodels.command_line.prune import CHOOSES, check_boosted_options, read_boosted_inputs, search_boosted, seen_apart
from prunemodels.command_line.refusals import errors_naming, need, option_of, refuse
from prunemodels.command_line.summary import Line, Summary
from prunemodels.command_line.terminal import shows_progress
from prunemodels.data_files import take_columns, take_features
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.cascade_files import holds_cascade, load_cascade
from prunemodels.exits.raw_tables import reads_raw_columns
from prunemodels.files.forests import load_forest
from prunemodels.models.forests.problems import pruning_from_forest
from prunemodels.models.tree_model import adds_up
from prunemodels.report_page.boosted import gather_boosted
from prunemodels.report_page.cascade import gather_cascade
from prunemodels.report_page.facts import gather
from prunemodels.report_page.options import PageOptions
from prunemodels.report_page.rendering import render
from prunemodels.statements.wording import amount, error
from solvers.budgets import solve_within

FILES = ("forest", "pruned", "data", "costs", "train", "error_data", "held_out")
"""Arguments that name input files."""

PROOFS = {
    True: ("the optimisation on the samples is verified: all checks hold", ""),
    False: ("a check is REFUTED, see the page", "bad"),
    None: ("a check is undecided, see the page", "warning"),
}
"""What the checks of the page say, and how it is shown."""

NO_PROOF = ("none: no search proves prunings of boosted models", "")

LABEL = "is missing: the page shows the error on --held-out; name the label column"


def report_command(args: argparse.Namespace) -> Summary:
    """``prunemodels report``."""
    place = args.outputs.reserve(args.out, "--out", endings=(".html",))
    with errors_naming("FOREST|CASCADE"):
        cascade = holds_cascade(args.forest, trust_pickle=args.trust_pickle)
    if cascade:
        return _cascade_report(args, place)
    _check_options(args)
    forest = read_model_file(args)
    if adds_up(forest):
        return _boosted_report(args, forest, place)
    instance = read_instance(args, forest)
    path = path_of(args, instance)
    held_out = read_examples(args, "--held-out", instance.model, weighted=True)
    chosen = _chosen(args, path)
    options = _page_options(args, f"{_file(args.forest)}, pruned", "forest", held_out.weights)
    with errors_naming(f"--held-out {args.held_out}"):
        facts = gather(path, forest, held_out.X, held_out.y, chosen=chosen, **options)
    args.outputs.aside(place).write_text(render(facts), encoding="utf-8")
    record, lines = seen_apart(args, facts.held_out)
    return report_summary(record, lines, facts.evidence.holds, place, hints_on_rows(held_out, *instance.seen))


def _boosted_report(args: argparse.Namespace, model: Any, place: Path) -> Summary:
    """The page on a boosted model that is pruned."""
    check_boosted_options(args, "pruned limit")
    trees, data, costs = read_boosted_inputs(args, model)
    held_out = read_examples(args, "--held-out", trees, weighted=True)
    path, chosen = search_boosted(args, model, data, costs, whole=True)
    assert path is not None
    options = _page_options(args, f"{_file(args.forest)}, pruned", "model", held_out.weights)
    with errors_naming(f"--held-out {args.held_out}"):
        facts = gather_boosted(path, held_out.X, held_out.y, chosen=chosen, **options)
    args.outputs.aside(place).write_text(render(facts), encoding="utf-8")
    record, lines = seen_apart(args, facts.held_out)
    return report_summary(record, lines, None, place, hints_on_rows(held_out, data), checked=False)


def _cascade_report(args: argparse.Namespace, place: Path) -> Summary:
    """The page on a saved cascade."""
    own = f"is for forests, but {args.forest} holds a cascade, which has its own prices and models; drop it"
    refuse(args, "data costs evaluation_cost errors train error_data given_share mistakes pruned limit method time_limit", own)
    if args.held_out is None:
        refuse(args, "label weights", "names a column of --held-out, which is missing; give both, or neither")
    else:
        need(args, "label", LABEL)
    with errors_naming("CASCADE"):
        cascade = load_cascade(args.forest, trust_pickle=args.trust_pickle)
    with errors_naming(f"--lam {args.lam}" if args.budget is None else f"--budget {args.budget:g}"):
        if args.budget is not None or args.lam is not None:
            cascade = cascade.at_lam(args.lam) if args.budget is None else cascade.at_cost(args.budget)
    X, y, weights = (None, None, None) if args.held_out is None else _labelled(args, cascade)
    options = _page_options(args, _file(args.forest), "cascade", weights)
    with errors_naming("CASCADE" if args.held_out is None else f"--held-out {args.held_out}"):
        facts = gather_cascade(cascade, X, y, budget=args.budget, **options)
    args.outputs.aside(place).write_text(render(facts), encoding="utf-8")
    (c0, e0), c1, e1 = facts.before, facts.tradeoff.chosen.cost, facts.tradeoff.chosen.error
    record: dict[str, Any] = {"cost_before": c0, "cost_after": c1, "error_before": e0, "error_after": e1, "n": facts.path.n}
    told = (
        f"cost {amount(c0)} -> {amount(c1)}; error {error(e0, facts.task)} -> {error(e1, facts.task)}; {facts.path.n:,} examples"
    )
    record, lines = {"cross_fitted": record}, list[str | Line]([Line("cross-fitted", told)])
    if facts.on_rows is not None:
        record, lines = seen_apart(args, facts.on_rows.change)
    return report_summary(record, lines, facts.evidence.holds, place)


def report_summary(
    record: dict[str, Any],
    lines: Sequence[str | Line],
    verified: bool | None,
    place: Path,
    hints: Sequence[str] = (),
    *,
    checked: bool = True,
) -> Summary:
    """The figures of the page's headline; the exit status says whether its checks hold. A boosted model's page has none."""
    status = DONE if verified or not checked else UNDECIDED if verified is None else REFUTED
    proof = Line("proof", *(PROOFS[verified] if checked else NO_PROOF))
    return Summary(record | {"verified": verified}, [*lines, proof], [place], hints=hints, exit_status=status)


def _labelled(args: argparse.Namespace, cascade: Cascade) -> tuple[Any, Any, Any]:
    """The rows of ``--held-out`` as the cascade takes them, their labels and weights."""
    table = read_labelled(args, "--held-out", args.label, args.weights)
    known = getattr(cascade, "feature_names_in_", None)
    for option, column in (("label", args.label), ("weights", args.weights)):
        if known is not None and column in known:
            raise InvalidInputError(f"--{option}: the cascade reads the column {column!r}; name another")
    with errors_naming("--held-out"):
        if known is not None:
            take = take_columns if reads_raw_columns(cascade) else take_features
            return take(table.X, [str(c) for c in known], args.held_out), table.y, table.weights
        # a user's own stages may not say how many features they read
        n_features = getattr(cascade, "n_features_in_", len(table.names))
        names = columns_in_order(table, n_features, "cascade", args.label)
        return take_features(table.X, names, args.held_out).to_numpy(), table.y, table.weights


def _check_options(args: argparse.Namespace) -> None:
    """Refuse options that do not go together, before anything is read."""
    limit_as_budget(args)
    need(args, "data costs held_out", "is missing: a page on a pruned forest needs it, only one on a cascade does not")
    if limits_of(args) is None:
        if args.lam is None and args.pruned is None:
            raise InvalidInputError(
                "one of --budget, --limit, --lam and --pruned is required, to say which pruning the page is about"
            )
        refuse(args, "method time_limit", "goes with --budget or --limit: drop it, or give one of these")
    need(args, "label", LABEL)
    check_held_out_file(args, CHOOSES)


def _chosen(args: argparse.Namespace, path: PruningPath) -> Pruning | BudgetSolution | LimitsSolution:
    """The pruning that the arguments ask for."""
    if args.pruned is not None:
        with errors_naming("--pruned"):
            return pruning_from_forest(path.problem, load_forest(args.pruned, trust_pickle=args.trust_pickle))
    limits = limits_of(args)
    if limits is None:
        return path.at_lam(args.lam)
    with errors_naming("--limit" if args.budget is None else f"--budget {args.budget:g}"):
        options = {"time_limit": args.time_limit, "path": path, "progress": shows_progress(args)}
        return solve_within(path.problem, limits, method=args.method or "best", **options)


def _page_options(args: argparse.Namespace, title: str, model: str, weights: Any) -> PageOptions:
    """What every page takes: its heading, the command line, and name and fingerprint of every file that was read."""
    files = {f"file of the {model}" if f == "forest" else f"file of {option_of(f)}": getattr(args, f) for f in FILES}
    present = {what: str(file) for what, file in files.items() if file is not None and os.path.isfile(file)}
    sources = {what: f"{_file(file)}, SHA-256 {_digest(file)}" for what, file in present.items()}
    return {
        "sample_weight": weights,
        "confidence": args.confidence,
        "title": args.title or title,
        "unit": args.unit or "",
        "command": _command(args),
        "sources": sources,
        "positive": args.positive,
    }


def _command(args: argparse.Namespace) -> str:
    """The command line as it was typed, without the folders of files, which are private to the machine."""
    words = []
    files = {str(value): _file(str(value)) for value in (*(getattr(args, f) for f in FILES), args.out) if value is not None}
    for word in args.typed if args.typed is not None else sys.argv[1:]:
        option, equals, value = word.partition("=")
        if word.startswith("--") and equals:
            words.append(f"{option}={files.get(value, value)}")
        elif word not in ("--force", "--quiet"):
            words.append(files.get(word, word))
    return shlex.join(["prunemodels", *words])


def _file(path: str) -> str:
    return Path(path).name or path


def _digest(file: Any) -> str:
    """The first 16 digits of a file's SHA-256, which are enough to tell files apart."""
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:16]
