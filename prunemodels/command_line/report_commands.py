"""The command ``report``: prune, or take what was pruned or a cascade, and write one page about it."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.pruning import Pruning
from formulations.errors import InvalidInputError
from prunemodels.command_line.commands import Work, by_place, compute, read_examples
from prunemodels.command_line.refusals import named
from prunemodels.datasets import read_table, take_column, take_features
from prunemodels.exits.cascade import Cascade
from prunemodels.files.cascades import holds_cascade, load_cascade
from prunemodels.files.forests import load_forest
from prunemodels.files.outputs import OutputFiles, check_output
from prunemodels.forests.surgery import pruning_from_forest
from prunemodels.report_page.cascades.facts import CascadeFacts, gather_cascade
from prunemodels.report_page.cascades.page import render_cascade
from prunemodels.report_page.facts import Facts, Labels, gather
from prunemodels.report_page.page import render
from prunemodels.report_page.wording import amount, error, less
from solvers.budgets import solve_budget

FILES = ("forest", "pruned", "data", "costs", "train", "error_data", "held_out")
"""Arguments that name files to be read."""

OF_FORESTS = {
    "data": None,
    "costs": None,
    "evaluation_cost": 0.0,
    "errors": "in-bag",
    "train": None,
    "error_data": None,
    "given_share": 0.5,
    "pruned": None,
    "method": None,
    "time_limit": None,
}
"""Options without meaning for a cascade, and their defaults."""


@dataclass(frozen=True)
class ReportSummary:
    """Result of ``prunemodels report``.

    Parameters
    ----------
    verified
        whether all checks of the page hold; None where one is undecided.
    cost_before, cost_after, error_before, error_after
        on the held-out examples; before is the unpruned forest, or a cascade's last stage for everybody.
    measured
        ``"held out"``; ``"cross-fitted"`` for a cascade without held-out examples.
    written
        the page.
    """

    verified: bool | None
    examples: int
    cost_before: float
    cost_after: float
    error_before: float
    error_after: float
    task: str
    seconds: float
    written: str
    measured: str = "held out"

    @classmethod
    def of(cls, facts: Facts, place: Path, seconds: float) -> ReportSummary:
        """The headline's numbers."""
        h = facts.held_out
        costs, errors = (h.cost_before.mean, h.cost_after.mean), (h.error_before.mean, h.error_after.mean)
        return cls(facts.evidence.holds, h.n, *costs, *errors, facts.task, seconds, str(place))

    @classmethod
    def of_cascade(cls, facts: CascadeFacts, place: Path, seconds: float) -> ReportSummary:
        """The headline's numbers."""
        (c0, e0), (c1, e1) = facts.before, facts.tradeoff.chosen
        n, measured = (facts.path.n, "cross-fitted") if facts.on_rows is None else (facts.on_rows.change.n, "held out")
        return cls(facts.evidence.holds, n, c0, c1, e0, e1, facts.task, seconds, str(place), measured)

    @property
    def exit_status(self) -> int:
        """1 where a check of the page is refuted, else 0."""
        return 1 if self.verified is False else 0

    def json(self) -> str:
        """As one JSON object."""
        return json.dumps(asdict(self), indent=2, allow_nan=False)

    def text(self) -> str:
        """In four lines."""
        answer = {True: "all checks hold", False: "a check is REFUTED, see the page", None: "a check is undecided, see the page"}
        before, after = (error(e, self.task).replace("\u00a0", " ") for e in (self.error_before, self.error_after))
        saved = less(self.cost_before, self.cost_after).replace("\u00a0", " ")
        return "\n".join(
            [
                f"{self.measured:15}cost {amount(self.cost_before)} -> {amount(self.cost_after)}, {saved}; "
                f"error {before} -> {after}; {self.examples:,} examples",
                f"proof          {answer[self.verified]}",
                f"time           {self.seconds:.1f} s",
                f"written        {self.written}",
            ]
        )


def report_command(args: argparse.Namespace) -> ReportSummary:
    """``prunemodels report``."""
    start = time.perf_counter()
    with named("FOREST|CASCADE"):
        cascade = holds_cascade(args.forest, trust_pickle=args.trust_pickle)
    if cascade:
        return _cascade_report(args, start)
    _check_options(args)
    place = check_output(args.out, "--out", endings=(".html",), force=args.force)
    work = compute(args)
    held_out = read_examples(args.held_out, work.path.problem.ensemble, "--held-out", args.label, args.weights)
    chosen = _chosen(args, work)
    labels = Labels(args.title or f"{_file(args.forest)}, pruned", args.unit or "", _command(args), _sources(args, "forest"))
    with named(f"--held-out {args.held_out}"):
        facts = gather(
            work.path,
            work.forest,
            held_out.X,
            held_out.y,
            chosen,
            sample_weight=held_out.weights,
            confidence=args.confidence,
            labels=labels,
        )
    with OutputFiles() as outputs:
        outputs.aside(place).write_text(render(facts), encoding="utf-8")
    return ReportSummary.of(facts, place, time.perf_counter() - start)


def _cascade_report(args: argparse.Namespace, start: float) -> ReportSummary:
    """The page on a saved cascade."""
    _check_cascade_options(args)
    place = check_output(args.out, "--out", endings=(".html",), force=args.force)
    with named("CASCADE"):
        cascade = load_cascade(args.forest, trust_pickle=args.trust_pickle)
    with named(f"--lam {args.lam}" if args.budget is None else f"--budget {args.budget:g}"):
        if args.budget is not None or args.lam is not None:
            cascade = cascade.at_lam(args.lam) if args.budget is None else cascade.at_cost(args.budget)
    labels = Labels(args.title or _file(args.forest), args.unit or "", _command(args), _sources(args, "cascade"))
    X, y, weights = (None, None, None) if args.held_out is None else _labelled(args, cascade)
    with named("CASCADE" if args.held_out is None else f"--held-out {args.held_out}"):
        options: dict[str, Any] = {"sample_weight": weights, "confidence": args.confidence, "labels": labels}
        facts = gather_cascade(cascade, X, y, budget=None, **options)
    with OutputFiles() as outputs:
        outputs.aside(place).write_text(render_cascade(facts), encoding="utf-8")
    return ReportSummary.of_cascade(facts, place, time.perf_counter() - start)


def _labelled(args: argparse.Namespace, cascade: Cascade) -> tuple[Any, Any, Any]:
    """The rows of ``--held-out`` as the cascade takes them, their labels and weights."""
    with named("--held-out"):
        table = read_table(args.held_out)
    y = take_column(table, args.label, "--label", args.held_out)
    weights = None if args.weights is None else take_column(table, args.weights, "--weights", args.held_out)
    others = [str(c) for c in table.columns if c not in (args.label, args.weights)]
    known = getattr(cascade, "feature_names_in_", None)
    for option, column in (("label", args.label), ("weights", args.weights)):
        if known is not None and column in known:
            raise InvalidInputError(f"--{option}: the cascade reads the column {column!r}; name another")
    with named("--held-out"):
        n_features = getattr(cascade, "n_features_in_", len(others))  # stages of the user's own need not tell
        names = by_place(others, n_features, "cascade", args.held_out, args.label) if known is None else [str(c) for c in known]
        features = take_features(table, names, args.held_out)
    return features.to_numpy() if known is None else features, y, weights


def _check_cascade_options(args: argparse.Namespace) -> None:
    """Refuse what does not go together, before the cascade is read."""
    for option, default in OF_FORESTS.items():
        if getattr(args, option) != default:
            raise InvalidInputError(
                f"--{option.replace('_', '-')} goes with a forest, and {args.forest} holds a cascade, which knows its prices and "
                "its models; drop it"
            )
    for option in ("label", "weights"):
        if args.held_out is None and getattr(args, option) is not None:
            raise InvalidInputError(f"--{option} names a column of --held-out, which is missing; give both, or neither")
    if args.held_out is not None and args.label is None:
        raise InvalidInputError("--label is missing: the page tells the error on --held-out; name the label column")


def _check_options(args: argparse.Namespace) -> None:
    """Refuse what does not go together, before anything is read."""
    for name in ("data", "costs", "held_out"):
        if getattr(args, name) is None:
            raise InvalidInputError(
                f"--{name.replace('_', '-')} is missing: the page on a pruned forest needs it; only a cascade knows its own"
            )
    if args.budget is None and args.lam is None and args.pruned is None:
        raise InvalidInputError("one of the arguments --budget --lam --pruned is required: say what to prune the forest to")
    if args.label is None:
        raise InvalidInputError("--label is missing: the page tells the error on --held-out; name the label column")
    for option in ("method", "time_limit"):
        if args.budget is None and getattr(args, option) is not None:
            raise InvalidInputError(f"--{option.replace('_', '-')} goes with --budget: drop it, or give a budget")
    for name in ("data", "train", "error_data"):
        file = getattr(args, name)
        if file is not None and os.path.realpath(file) == os.path.realpath(args.held_out):
            raise InvalidInputError(
                f"--held-out names the file of --{name.replace('_', '-')}, which the pruning is chosen by; "
                "give examples kept apart"
            )


def _chosen(args: argparse.Namespace, work: Work) -> Pruning | BudgetSolution:
    """The pruning that the arguments ask for."""
    if args.pruned is not None:
        with named("--pruned"):
            return pruning_from_forest(work.path.problem, load_forest(args.pruned, trust_pickle=args.trust_pickle))
    if args.budget is None:
        return work.path.at_lam(args.lam)
    with named(f"--budget {args.budget:g}"):
        return solve_budget(
            work.path.problem,
            args.budget,
            method=args.method or "best",
            time_limit=args.time_limit,
            path=work.path,
            progress=not args.quiet,
        )


def _command(args: argparse.Namespace) -> str:
    """The command line as it was typed, folders left out: they say more about the machine than about the forest."""
    words = []
    files = {str(value): _file(str(value)) for value in (*(getattr(args, f) for f in FILES), args.out) if value is not None}
    for word in args.words if args.words is not None else sys.argv[1:]:
        option, equals, value = word.partition("=")
        if word.startswith("--") and equals:
            words.append(f"{option}={files.get(value, value)}")
        elif word not in ("--force", "--quiet"):
            words.append(files.get(word, word))
    return shlex.join(["prunemodels", *words])


def _sources(args: argparse.Namespace, model: str) -> dict[str, str]:
    """Name and fingerprint of every file that was read."""
    files = {f"file of --{f.replace('_', '-')}" if f != "forest" else f"file of the {model}": getattr(args, f) for f in FILES}
    there = {what: str(file) for what, file in files.items() if file is not None and Path(file).is_file()}
    return {what: f"{_file(file)}, SHA-256 {_digest(file)}" for what, file in there.items()}


def _file(path: str) -> str:
    return Path(path).name or path


def _digest(file: Any) -> str:
    """The first 16 digits: enough to tell files apart."""
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:16]
