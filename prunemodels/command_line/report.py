"""The command ``report``: write one page on a pruning, which it may first compute, or on a cascade."""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.limits_solution import LimitsSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError
from prunemodels.command_line.boosted import REPORT_OPTIONS, check_boosted_options, read_boosted_inputs, search
from prunemodels.command_line.inputs import (
    check_held_out_file,
    columns_in_order,
    hints_on_rows,
    limit_as_budget,
    limits_of,
    option_of,
    path_of,
    read_examples,
    read_instance,
    read_labelled,
    read_model_file,
)
from prunemodels.command_line.process import DONE, REFUTED, UNDECIDED
from prunemodels.command_line.refusals import errors_naming
from prunemodels.command_line.summary import Line, Summary, limit_figures, limit_lines
from prunemodels.command_line.terminal import shows_progress
from prunemodels.data_files import take_columns, take_features
from prunemodels.evaluation.held_out_change import HeldOutChange
from prunemodels.evaluation.wording import amount, budget_verdict, error, is_overrun, less
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.cascade_files import holds_cascade, load_cascade
from prunemodels.exits.raw_tables import reads_raw_columns
from prunemodels.files.forests import load_forest
from prunemodels.models.forests.problems import pruning_from_forest
from prunemodels.models.tree_model import adds_up
from prunemodels.report_page.boosted_page import gather_boosted, render_boosted
from prunemodels.report_page.cascades.facts import gather_cascade
from prunemodels.report_page.cascades.page import render_cascade
from prunemodels.report_page.facts import Labels, gather
from prunemodels.report_page.page import render
from solvers.budgets import solve_within

FILES = ("forest", "pruned", "data", "costs", "train", "error_data", "held_out")
"""Arguments that name input files."""

FOREST_OPTIONS = {
    "data": None,
    "costs": None,
    "evaluation_cost": 0.0,
    "errors": "in-bag",
    "train": None,
    "error_data": None,
    "given_share": 0.5,
    "mistakes": None,
    "pruned": None,
    "limit": None,
    "method": None,
    "time_limit": None,
}
"""Options that have no meaning for a cascade, and their defaults."""

PROOFS = {
    True: ("the optimisation on the samples is verified: all checks hold", ""),
    False: ("a check is REFUTED, see the page", "bad"),
    None: ("a check is undecided, see the page", "warning"),
}
"""What the checks of the page say, and how it is shown."""

NO_PROOF = ("none: no search proves prunings of boosted models", "")


def report_command(args: argparse.Namespace) -> Summary:
    """``prunemodels report``."""
    start = time.perf_counter()
    place = args.outputs.reserve(args.out, "--out", endings=(".html",))
    with errors_naming("FOREST|CASCADE"):
        cascade = holds_cascade(args.forest, trust_pickle=args.trust_pickle)
    if cascade:
        return _cascade_report(args, place, start)
    _check_options(args)
    forest = read_model_file(args)
    if adds_up(forest):
        return _boosted_report(args, forest, place, start)
    instance = read_instance(args, forest)
    path = path_of(args, instance)
    held_out = read_examples(args, "--held-out", instance.model, weighted=True)
    chosen = _chosen(args, path)
    options = _page_options(args, f"{_file(args.forest)}, pruned", "forest")
    with errors_naming(f"--held-out {args.held_out}"):
        facts = gather(path, forest, held_out.X, held_out.y, chosen, sample_weight=held_out.weights, **options)
    args.outputs.aside(place).write_text(render(facts), encoding="utf-8")
    record = on_change(facts.held_out, facts.budget, args.unit) | {"verified": facts.evidence.holds, "task": facts.measure}
    return report_summary(record, place, start, hints=hints_on_rows(held_out, *instance.seen))


def _boosted_report(args: argparse.Namespace, model: Any, place: Path, start: float) -> Summary:
    """The page on a boosted model that is pruned."""
    check_boosted_options(args, REPORT_OPTIONS)
    trees, data, costs = read_boosted_inputs(args, model)
    held_out = read_examples(args, "--held-out", trees, weighted=True)
    path, chosen = search(args, model, data, costs)
    options = _page_options(args, f"{_file(args.forest)}, pruned", "model")
    with errors_naming(f"--held-out {args.held_out}"):
        facts = gather_boosted(path, held_out.X, held_out.y, chosen, sample_weight=held_out.weights, **options)
    args.outputs.aside(place).write_text(render_boosted(facts), encoding="utf-8")
    budget = None if args.budget is None else Fraction(args.budget)
    record = on_change(facts.held_out, budget, args.unit) | {"verified": None, "task": facts.held_out.measure}
    return report_summary(record | {"checked": False}, place, start, hints=hints_on_rows(held_out, data))


def _cascade_report(args: argparse.Namespace, place: Path, start: float) -> Summary:
    """The page on a saved cascade."""
    _check_cascade_options(args)
    with errors_naming("CASCADE"):
        cascade = load_cascade(args.forest, trust_pickle=args.trust_pickle)
    with errors_naming(f"--lam {args.lam}" if args.budget is None else f"--budget {args.budget:g}"):
        if args.budget is not None or args.lam is not None:
            cascade = cascade.at_lam(args.lam) if args.budget is None else cascade.at_cost(args.budget)
    X, y, weights = (None, None, None) if args.held_out is None else _labelled(args, cascade)
    options = _page_options(args, _file(args.forest), "cascade")
    with errors_naming("CASCADE" if args.held_out is None else f"--held-out {args.held_out}"):
        facts = gather_cascade(cascade, X, y, budget=args.budget, sample_weight=weights, **options)
    args.outputs.aside(place).write_text(render_cascade(facts), encoding="utf-8")
    (c0, e0), (c1, e1) = facts.before, facts.tradeoff.chosen
    record: dict[str, Any] = {"cost_before": c0, "cost_after": c1, "error_before": e0, "error_after": e1}
    record |= {"measured": "cross-fitted", "examples": facts.path.n, "overrun": None, "budget_verdict": None}
    if facts.on_rows is not None:
        record = on_change(facts.on_rows.change, facts.budget, args.unit) | {k: record[k] for k in list(record)[:4]}
    return report_summary(record | {"verified": facts.evidence.holds, "task": facts.task}, place, start)


def on_change(seen: HeldOutChange, budget: Fraction | None, unit: str | None) -> dict[str, Any]:
    """Costs and errors on the held-out examples, and what they say about a budget; None without one."""
    told = None if budget is None else budget_verdict(budget, seen.cost_after, unit or "").replace("\u00a0", " ")
    return {
        "examples": seen.n,
        "cost_before": seen.cost_before.mean,
        "cost_after": seen.cost_after.mean,
        "error_before": seen.error_before.mean,
        "error_after": seen.error_after.mean,
        "measured": "held out",
        "overrun": None if budget is None else is_overrun(budget, seen.cost_after),
        "budget_verdict": told,
        "limits": limit_figures(seen.uses),
    }


def report_summary(record: dict[str, Any], place: Path, start: float, *, hints: list[str] | None = None) -> Summary:
    """The figures of the page's headline; the exit status says whether its checks hold. A boosted model's page has none."""
    r: dict[str, Any] = {"checked": True, "written": str(place), "seconds": time.perf_counter() - start} | record
    before, after = (error(r[e], r["task"]) for e in ("error_before", "error_after"))
    saved = less(r["cost_before"], r["cost_after"])
    costs = f"cost {amount(r['cost_before'])} -> {amount(r['cost_after'])}, {saved}"
    lines = [Line(r["measured"], f"{costs}; error {before} -> {after}; {r['examples']:,} examples")]
    if r["budget_verdict"]:
        lines.append(Line("budget", r["budget_verdict"], "warning" if r["overrun"] else ""))
    lines += limit_lines(r.get("limits", ()))
    lines.append(Line("proof", *(PROOFS[r["verified"]] if r["checked"] else NO_PROOF)))
    lines.append(Line("time", f"{r['seconds']:.1f} s"))
    status = DONE if r["verified"] or not r["checked"] else UNDECIDED if r["verified"] is None else REFUTED
    return Summary(r, lines, [place], hints=hints or [], exit_status=status)


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
            return take(table.rows, [str(c) for c in known], args.held_out), table.y, table.weights
        # a user's own stages may not say how many features they read
        n_features = getattr(cascade, "n_features_in_", len(table.columns))
        names = columns_in_order(table.columns, n_features, "cascade", args.held_out, args.label)
        return take_features(table.rows, names, args.held_out).to_numpy(), table.y, table.weights


def _check_cascade_options(args: argparse.Namespace) -> None:
    """Refuse options that do not go together, before the cascade is read."""
    for name, default in FOREST_OPTIONS.items():
        if getattr(args, name) != default:
            raise InvalidInputError(
                f"{option_of(name)} is for forests, but {args.forest} holds a cascade, which has its own prices and "
                "models; drop it"
            )
    for name in ("label", "weights"):
        if args.held_out is None and getattr(args, name) is not None:
            raise InvalidInputError(f"--{name} names a column of --held-out, which is missing; give both, or neither")
    if args.held_out is not None and args.label is None:
        raise InvalidInputError("--label is missing: the page shows the error on --held-out; name the label column")


def _check_options(args: argparse.Namespace) -> None:
    """Refuse options that do not go together, before anything is read."""
    limit_as_budget(args)
    for name in ("data", "costs", "held_out"):
        if getattr(args, name) is None:
            raise InvalidInputError(
                f"{option_of(name)} is missing: a page on a pruned forest needs it, only one on a cascade does not"
            )
    if limits_of(args) is None and args.lam is None and args.pruned is None:
        raise InvalidInputError(
            "one of --budget, --limit, --lam and --pruned is required, to say which pruning the page is about"
        )
    if args.label is None:
        raise InvalidInputError("--label is missing: the page shows the error on --held-out; name the label column")
    for name in ("method", "time_limit"):
        if limits_of(args) is None and getattr(args, name) is not None:
            raise InvalidInputError(f"{option_of(name)} goes with --budget or --limit: drop it, or give one of these")
    check_held_out_file(args, "on which the pruning is chosen")


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


def _page_options(args: argparse.Namespace, title: str, model: str) -> dict[str, Any]:
    """What every page takes: its heading, the command line, and name and fingerprint of every file that was read."""
    files = {f"file of the {model}" if f == "forest" else f"file of {option_of(f)}": getattr(args, f) for f in FILES}
    present = {what: str(file) for what, file in files.items() if file is not None and os.path.isfile(file)}
    sources = {what: f"{_file(file)}, SHA-256 {_digest(file)}" for what, file in present.items()}
    labels = Labels(args.title or title, args.unit or "", _command(args), sources, args.positive)
    return {"confidence": args.confidence, "labels": labels}


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
