"""The command ``report``: prune, or take what was pruned, and write one page about it."""

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

from formulations.budget_solution import BudgetSolution
from formulations.errors import InvalidInputError
from formulations.pruning import Pruning
from prunemodels.command_line.commands import Work, compute, read_examples
from prunemodels.command_line.refusals import named
from prunemodels.files import load_forest
from prunemodels.outputs import OutputFiles, check_output
from prunemodels.report_page.facts import Facts, Labels, gather
from prunemodels.report_page.page import render
from prunemodels.report_page.wording import amount, error, less
from prunemodels.surgery import pruning_from_forest
from solvers.budgets import solve_budget

FILES = ("forest", "pruned", "data", "costs", "train", "error_data", "held_out")
"""Arguments that name files to be read."""


@dataclass(frozen=True)
class ReportSummary:
    """Result of ``prunemodels report``.

    Parameters
    ----------
    verified
        whether all checks of the page hold; None where one is undecided.
    cost_before, cost_after, error_before, error_after
        on the held-out examples.
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

    @classmethod
    def of(cls, facts: Facts, place: Path, seconds: float) -> ReportSummary:
        """The headline's numbers."""
        h = facts.held_out
        costs, errors = (h.cost_before.mean, h.cost_after.mean), (h.error_before.mean, h.error_after.mean)
        return cls(facts.evidence.holds, h.n, *costs, *errors, facts.task, seconds, str(place))

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
                f"held out       cost {amount(self.cost_before)} -> {amount(self.cost_after)}, {saved}; "
                f"error {before} -> {after}; {self.examples:,} examples",
                f"proof          {answer[self.verified]}",
                f"time           {self.seconds:.1f} s",
                f"written        {self.written}",
            ]
        )


def report_command(args: argparse.Namespace) -> ReportSummary:
    """``prunemodels report``."""
    start = time.perf_counter()
    _check_options(args)
    place = check_output(args.out, "--out", endings=(".html",), force=args.force)
    work = compute(args)
    held_out = read_examples(args.held_out, work.path.problem.ensemble, "--held-out", args.label, args.weights)
    chosen = _chosen(args, work)
    labels = Labels(args.title or f"{_file(args.forest)}, pruned", args.unit or "", _command(args), _sources(args))
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


def _check_options(args: argparse.Namespace) -> None:
    """Refuse what does not go together, before anything is read."""
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


def _sources(args: argparse.Namespace) -> dict[str, str]:
    """Name and fingerprint of every file that was read."""
    files = {f"file of --{f.replace('_', '-')}" if f != "forest" else "file of the forest": getattr(args, f) for f in FILES}
    there = {what: str(file) for what, file in files.items() if file is not None and Path(file).is_file()}
    return {what: f"{_file(file)}, SHA-256 {_digest(file)}" for what, file in there.items()}


def _file(path: str) -> str:
    return Path(path).name or path


def _digest(file: Any) -> str:
    """The first 16 digits: enough to tell files apart."""
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:16]
