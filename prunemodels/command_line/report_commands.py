"""The command ``report``: write one page on a pruning, which it may first compute, or on a cascade."""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.pruning import Pruning
from formulations.errors import InvalidInputError
from prunemodels.command_line.boosted_commands import REPORT_OPTIONS, check_boosted_options, read_boosted_inputs, search
from prunemodels.command_line.command_summary import CommandSummary
from prunemodels.command_line.commands import SolvedInstance, columns_in_order, read_and_solve, read_examples, read_model_file
from prunemodels.command_line.refusals import errors_naming
from prunemodels.command_line.statuses import DONE, REFUTED, UNDECIDED
from prunemodels.command_line.terminal import shows_progress, styled
from prunemodels.data_files import read_table, take_column, take_columns, take_features
from prunemodels.evaluation.held_out_change import HeldOutChange
from prunemodels.evaluation.overrun import budget_verdict, is_overrun
from prunemodels.evaluation.wording import amount, error, less
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.cascade_files import holds_cascade, load_cascade
from prunemodels.exits.raw_tables import reads_raw_columns
from prunemodels.files.forests import load_forest
from prunemodels.forests.surgery import pruning_from_forest
from prunemodels.report_page.boosted_page import BoostedFacts, gather_boosted, render_boosted
from prunemodels.report_page.cascades.facts import CascadeFacts, gather_cascade
from prunemodels.report_page.cascades.page import render_cascade
from prunemodels.report_page.facts import Facts, Labels, gather
from prunemodels.report_page.page import render
from prunemodels.tree_models.tree_model import adds_up
from solvers.budgets import solve_budget

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
    "pruned": None,
    "method": None,
    "time_limit": None,
}
"""Options that have no meaning for a cascade, and their defaults."""


NO_PROOF = "none: no search proves prunings of boosted models"


@dataclass(frozen=True)
class ReportSummary(CommandSummary):
    """Result of ``prunemodels report``.

    Parameters
    ----------
    verified
        whether all checks of the page hold; None where one is undecided, and on a page without checks.
    cost_before, cost_after, error_before, error_after
        on the held-out examples. Before: the unpruned forest, or a cascade's last stage for all examples.
    measured
        ``"held out"``; ``"cross-fitted"`` for a cascade without held-out examples.
    written
        the page.
    overrun, budget_verdict
        whether the held-out examples cost more than the budget, and what they say about it; None without a budget.
    checked
        whether the page has checks; one on a boosted model has none.
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
    overrun: bool | None = None
    budget_verdict: str | None = None
    checked: bool = True

    @classmethod
    def of(cls, facts: Facts, place: Path, seconds: float) -> ReportSummary:
        """The figures of the page's headline."""
        h = facts.held_out
        costs, errors = (h.cost_before.mean, h.cost_after.mean), (h.error_before.mean, h.error_after.mean)
        kept = on_budget(None if facts.solution is None else facts.solution.budget, h, facts.labels.unit)
        return cls(facts.evidence.holds, h.n, *costs, *errors, facts.task, seconds, str(place), "held out", *kept)

    @classmethod
    def of_cascade(cls, facts: CascadeFacts, place: Path, seconds: float) -> ReportSummary:
        """The figures of the page's headline."""
        (c0, e0), (c1, e1) = facts.before, facts.tradeoff.chosen
        n, measured = (facts.path.n, "cross-fitted") if facts.on_rows is None else (facts.on_rows.change.n, "held out")
        seen = None if facts.on_rows is None else facts.on_rows.change
        kept = (None, None) if seen is None else on_budget(facts.budget, seen, facts.labels.unit)
        return cls(facts.evidence.holds, n, c0, c1, e0, e1, facts.task, seconds, str(place), measured, *kept)

    @classmethod
    def of_boosted(cls, facts: BoostedFacts, budget: float | None, place: Path, seconds: float) -> ReportSummary:
        """The figures of the page's headline."""
        h = facts.held_out
        costs, errors = (h.cost_before.mean, h.cost_after.mean), (h.error_before.mean, h.error_after.mean)
        kept = on_budget(None if budget is None else Fraction(budget), h, facts.labels.unit)
        return cls(None, h.n, *costs, *errors, h.measure, seconds, str(place), "held out", *kept, checked=False)

    @property
    def exit_status(self) -> int:
        """Whether all checks of the page hold, one is refuted, or else one is undecided; see `statuses`."""
        return DONE if self.verified or not self.checked else UNDECIDED if self.verified is None else REFUTED

    def text(self) -> str:
        """The summary in a few lines."""
        answer = {
            True: "the optimisation on the samples is verified: all checks hold",
            False: styled("a check is REFUTED, see the page", "bad"),
            None: styled("a check is undecided, see the page", "warning"),
        }
        before, after = (error(e, self.task).replace("\u00a0", " ") for e in (self.error_before, self.error_after))
        budget = self.budget_verdict
        saved = less(self.cost_before, self.cost_after).replace("\u00a0", " ")
        return "\n".join(
            [
                f"{self.measured:15}cost {amount(self.cost_before)} -> {amount(self.cost_after)}, {saved}; "
                f"error {before} -> {after}; {self.examples:,} examples",
                *([f"budget         {styled(budget, 'warning') if self.overrun else budget}"] if budget else []),
                f"proof          {answer[self.verified] if self.checked else NO_PROOF}",
                f"time           {self.seconds:.1f} s",
                f"written        {self.written}",
            ]
        )


def on_budget(budget: Fraction | None, seen: HeldOutChange, unit: str) -> tuple[bool | None, str | None]:
    """Whether the budget is overrun on the held-out examples, and what they say about it; None without a budget."""
    if budget is None:
        return None, None
    return is_overrun(budget, seen.cost_after), budget_verdict(budget, seen.cost_after, unit).replace("\u00a0", " ")


def report_command(args: argparse.Namespace) -> ReportSummary:
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
    solved = read_and_solve(args, forest)
    held_out = read_examples(args.held_out, solved.model, "--held-out", args.label, args.weights)
    chosen = _chosen(args, solved)
    labels = Labels(args.title or f"{_file(args.forest)}, pruned", args.unit or "", _command(args), _sources(args, "forest"))
    with errors_naming(f"--held-out {args.held_out}"):
        facts = gather(
            solved.path,
            solved.forest,
            held_out.X,
            held_out.y,
            chosen,
            sample_weight=held_out.weights,
            confidence=args.confidence,
            labels=labels,
        )
    args.outputs.aside(place).write_text(render(facts), encoding="utf-8")
    return ReportSummary.of(facts, place, time.perf_counter() - start)


def _boosted_report(args: argparse.Namespace, model: Any, place: Path, start: float) -> ReportSummary:
    """The page on a boosted model that is pruned."""
    check_boosted_options(args, REPORT_OPTIONS)
    trees, data, costs = read_boosted_inputs(args, model)
    held_out = read_examples(args.held_out, trees, "--held-out", args.label, args.weights)
    path, chosen = search(args, model, data, costs)
    labels = Labels(args.title or f"{_file(args.forest)}, pruned", args.unit or "", _command(args), _sources(args, "model"))
    options: dict[str, Any] = {"sample_weight": held_out.weights, "confidence": args.confidence, "labels": labels}
    with errors_naming(f"--held-out {args.held_out}"):
        facts = gather_boosted(path, held_out.X, held_out.y, chosen, **options)
    args.outputs.aside(place).write_text(render_boosted(facts), encoding="utf-8")
    return ReportSummary.of_boosted(facts, args.budget, place, time.perf_counter() - start)


def _cascade_report(args: argparse.Namespace, place: Path, start: float) -> ReportSummary:
    """The page on a saved cascade."""
    _check_cascade_options(args)
    with errors_naming("CASCADE"):
        cascade = load_cascade(args.forest, trust_pickle=args.trust_pickle)
    with errors_naming(f"--lam {args.lam}" if args.budget is None else f"--budget {args.budget:g}"):
        if args.budget is not None or args.lam is not None:
            cascade = cascade.at_lam(args.lam) if args.budget is None else cascade.at_cost(args.budget)
    labels = Labels(args.title or _file(args.forest), args.unit or "", _command(args), _sources(args, "cascade"))
    X, y, weights = (None, None, None) if args.held_out is None else _labelled(args, cascade)
    with errors_naming("CASCADE" if args.held_out is None else f"--held-out {args.held_out}"):
        options: dict[str, Any] = {"sample_weight": weights, "confidence": args.confidence, "labels": labels}
        facts = gather_cascade(cascade, X, y, budget=args.budget, **options)
    args.outputs.aside(place).write_text(render_cascade(facts), encoding="utf-8")
    return ReportSummary.of_cascade(facts, place, time.perf_counter() - start)


def _labelled(args: argparse.Namespace, cascade: Cascade) -> tuple[Any, Any, Any]:
    """The rows of ``--held-out`` as the cascade takes them, their labels and weights."""
    with errors_naming("--held-out"):
        table = read_table(args.held_out)
    y = take_column(table, args.label, "--label", args.held_out)
    weights = None if args.weights is None else take_column(table, args.weights, "--weights", args.held_out)
    columns = [str(c) for c in table.columns if c not in (args.label, args.weights)]
    known = getattr(cascade, "feature_names_in_", None)
    for option, column in (("label", args.label), ("weights", args.weights)):
        if known is not None and column in known:
            raise InvalidInputError(f"--{option}: the cascade reads the column {column!r}; name another")
    with errors_naming("--held-out"):
        if known is not None:
            take = take_columns if reads_raw_columns(cascade) else take_features
            return take(table, [str(c) for c in known], args.held_out), y, weights
        # a user's own stages may not say how many features they read
        n_features = getattr(cascade, "n_features_in_", len(columns))
        names = columns_in_order(columns, n_features, "cascade", args.held_out, args.label)
        return take_features(table, names, args.held_out).to_numpy(), y, weights


def _check_cascade_options(args: argparse.Namespace) -> None:
    """Refuse options that do not go together, before the cascade is read."""
    for option, default in FOREST_OPTIONS.items():
        if getattr(args, option) != default:
            raise InvalidInputError(
                f"--{option.replace('_', '-')} is for forests, but {args.forest} holds a cascade, which has its own prices and "
                "models; drop it"
            )
    for option in ("label", "weights"):
        if args.held_out is None and getattr(args, option) is not None:
            raise InvalidInputError(f"--{option} names a column of --held-out, which is missing; give both, or neither")
    if args.held_out is not None and args.label is None:
        raise InvalidInputError("--label is missing: the page shows the error on --held-out; name the label column")


def _check_options(args: argparse.Namespace) -> None:
    """Refuse options that do not go together, before anything is read."""
    for name in ("data", "costs", "held_out"):
        if getattr(args, name) is None:
            raise InvalidInputError(
                f"--{name.replace('_', '-')} is missing: a page on a pruned forest needs it, only one on a cascade does not"
            )
    if args.budget is None and args.lam is None and args.pruned is None:
        raise InvalidInputError("one of --budget, --lam and --pruned is required, to say which pruning the page is about")
    if args.label is None:
        raise InvalidInputError("--label is missing: the page shows the error on --held-out; name the label column")
    for option in ("method", "time_limit"):
        if args.budget is None and getattr(args, option) is not None:
            raise InvalidInputError(f"--{option.replace('_', '-')} goes with --budget: drop it, or give a budget")
    for name in ("data", "train", "error_data"):
        file = getattr(args, name)
        if file is not None and os.path.realpath(file) == os.path.realpath(args.held_out):
            raise InvalidInputError(
                f"--held-out names the same file as --{name.replace('_', '-')}, on which the pruning is chosen; "
                "give examples that were kept apart"
            )


def _chosen(args: argparse.Namespace, solved: SolvedInstance) -> Pruning | BudgetSolution:
    """The pruning that the arguments ask for."""
    if args.pruned is not None:
        with errors_naming("--pruned"):
            return pruning_from_forest(solved.path.problem, load_forest(args.pruned, trust_pickle=args.trust_pickle))
    if args.budget is None:
        return solved.path.at_lam(args.lam)
    with errors_naming(f"--budget {args.budget:g}"):
        return solve_budget(
            solved.path.problem,
            args.budget,
            method=args.method or "best",
            time_limit=args.time_limit,
            path=solved.path,
            progress=shows_progress(args),
        )


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


def _sources(args: argparse.Namespace, model: str) -> dict[str, str]:
    """Name and fingerprint of every file that was read."""
    files = {f"file of --{f.replace('_', '-')}" if f != "forest" else f"file of the {model}": getattr(args, f) for f in FILES}
    present = {what: str(file) for what, file in files.items() if file is not None and os.path.isfile(file)}
    return {what: f"{_file(file)}, SHA-256 {_digest(file)}" for what, file in present.items()}


def _file(path: str) -> str:
    return Path(path).name or path


def _digest(file: Any) -> str:
    """The first 16 digits of a file's SHA-256, which are enough to tell files apart."""
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:16]
