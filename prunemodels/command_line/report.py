"""The command ``report``: write one page on a pruning, which it may first compute, or on a cascade."""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import sys
from pathlib import Path
from typing import Any

from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError
from formulations.extras import package
from prunemodels.cascades.cascade_files import holds_cascade, load_cascade
from prunemodels.command_line.commands import INPUTS
from prunemodels.command_line.examples import Examples, check_held_out_file, hints_on_rows, read_examples
from prunemodels.command_line.inputs import limit_as_budget, limits_of, path_of, read_instance, read_model_file
from prunemodels.command_line.judge import check_positive, choice_line, warnings_of
from prunemodels.command_line.parsing import errors_naming, need, option_of, refuse
from prunemodels.command_line.process import STATUS, doing
from prunemodels.command_line.prune import CHOOSES, seen_apart
from prunemodels.command_line.prunings import check_boosted_options, read_boosted_inputs, search_boosted, within_limits
from prunemodels.command_line.summary import Line, Summary, card_of
from prunemodels.evaluation.vote import without_cut
from prunemodels.files.forests import load_forest
from prunemodels.models.forests.problems import pruning_from_forest
from prunemodels.models.tree_model import adds_up
from prunemodels.report_page.cascade import CascadeFacts, gather_cascade
from prunemodels.report_page.facts import BoostedFacts, Facts, gather, gather_boosted
from prunemodels.report_page.page import render
from prunemodels.statements.wording import amount, error

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
    package("matplotlib")  # refused now rather than after the work
    with errors_naming("FOREST|CASCADE"), doing(args, f"reading {args.forest}"):
        cascade = holds_cascade(args.forest, trust_pickle=args.trust_pickle)
    facts, hints = (_of_cascade(args), []) if cascade else _of_pruning(args)
    with doing(args, "drawing the page"):
        args.outputs.aside(place).write_text(render(facts), encoding="utf-8")
    record, lines = _cross_fitted(facts) if facts.held_out is None else seen_apart(args, facts.held_out, cascade=cascade)
    holds, proof = (True, NO_PROOF) if facts.evidence is None else (facts.evidence.holds, PROOFS[facts.evidence.holds])
    record["verified"] = None if facts.evidence is None else holds
    return Summary(
        record, [*lines, Line("proof", *proof)], [place], hints=hints, exit_status=STATUS[holds], warnings=warnings_of(record)
    )


def _of_pruning(args: argparse.Namespace) -> tuple[Facts | BoostedFacts, list[str]]:
    """What the page says of a forest or a boosted model, and hints on the rows that were read for it."""
    _check_options(args)
    model = read_model_file(args)
    # boosted models have a search in the place of a path, and no proof
    if adds_up(model):
        check_boosted_options(args, "pruned limit")
        trees, data, costs = read_boosted_inputs(args, model)
        held_out = read_examples(args, "--held-out", trees)
        hints = hints_on_rows(held_out, data)
        check_positive(args, trees.classes, held_out.y)
        ((path, chosen),) = search_boosted([args], model, data, costs, whole=True)
        assert path is not None
        with errors_naming(f"--held-out {args.held_out}"), doing(args, f"measuring on {args.held_out}"):
            options = _page_options(args, "model", held_out)
            return gather_boosted(path, held_out.X, held_out.y, chosen=chosen, **options), hints
    instance = read_instance(args, model)
    held_out = read_examples(args, "--held-out", instance.model)
    hints = hints_on_rows(held_out, *instance.seen)
    check_positive(args, instance.model.classes, held_out.y)
    cut: float | None = None
    # a file that is pruned already may have its vote cut anew, which is no part of the pruning
    if args.pruned is not None:
        with errors_naming("--pruned"):
            inner, cut = without_cut(load_forest(args.pruned, trust_pickle=args.trust_pickle))
            pruned = pruning_from_forest(instance.problem, inner)
    optima = path_of(args, instance)
    taken = _chosen(args, optima) if args.pruned is None else pruned
    with errors_naming(f"--held-out {args.held_out}"), doing(args, f"measuring on {args.held_out}, and checking the proof"):
        options = _page_options(args, "forest", held_out)
        return gather(optima, model, held_out.X, held_out.y, chosen=taken, cut=cut, **options), hints


def _of_cascade(args: argparse.Namespace) -> CascadeFacts:
    """What the page says of a saved cascade."""
    own = f"is for forests, but {args.forest} holds a cascade, which has its own prices and models; drop it"
    refuse(args, "data costs evaluation_cost errors train error_data mistakes pruned limit method time_limit", own)
    if args.held_out is None:
        refuse(args, "label weights groups", "names a column of --held-out, which is missing; give both, or neither")
    else:
        need(args, "label", LABEL)
    with errors_naming("CASCADE"), doing(args, f"reading {args.forest}"):
        cascade = load_cascade(args.forest, trust_pickle=args.trust_pickle)
    with errors_naming(f"--lam {args.lam}" if args.budget is None else f"--budget {args.budget:g}"):
        if args.budget is not None or args.lam is not None:
            cascade = cascade.at_lam(args.lam) if args.budget is None else cascade.at_cost(args.budget)
    rows = None if args.held_out is None else read_examples(args, "--held-out", cascade)
    given = () if rows is None else (rows.X, rows.y)
    with errors_naming("CASCADE" if args.held_out is None else f"--held-out {args.held_out}"), doing(args, "checking the proof"):
        return gather_cascade(cascade, *given, budget=args.budget, **_page_options(args, "cascade", rows))


def _cross_fitted(facts: CascadeFacts) -> tuple[dict[str, Any], list[str | Line]]:
    """The figures of a cascade from fitting."""
    (c0, e0), c1, e1, n = facts.before, facts.tradeoff.chosen.cost, facts.tradeoff.chosen.error, facts.path.n
    told = f"cost {amount(c0)} -> {amount(c1)}; error {error(e0, facts.task)} -> {error(e1, facts.task)}; {n:,} examples"
    record = {"cost_before": c0, "cost_after": c1, "error_before": e0, "error_after": e1, "n": n}
    lines: list[str | Line] = [Line("cross-fitted", told)]
    if facts.fitted is not None:
        lines += ["", card_of(facts.fitted), "", *choice_line(facts.fitted)]
        lines += [Line("", "of the rows that it was learned from, where it does too well")]
    return {"cross_fitted": record, "in_fitting": facts.fitted}, lines


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


def _chosen(args: argparse.Namespace, path: PruningPath) -> Pruning | LimitedSolution:
    """The pruning that the arguments ask for."""
    return path.at_lam(args.lam) if limits_of(args) is None else within_limits(args, path)


def _page_options(args: argparse.Namespace, model: str, rows: Examples | None) -> dict[str, Any]:
    """What every page takes: its heading, the command line, and name and fingerprint of every file that was read."""
    files = {f"file of the {model}" if f == "forest" else f"file of {option_of(f)}": getattr(args, f, None) for f in INPUTS}
    present = {what: str(file) for what, file in files.items() if file is not None and os.path.isfile(file)}
    sources = {what: f"{_file(file)}, SHA-256 {_digest(file)}" for what, file in present.items()}
    title = args.title or _file(args.forest) + ("" if model == "cascade" else ", pruned")
    given = {"confidence": args.confidence, "unit": args.unit or "", "positive": args.positive}
    given |= {} if rows is None else {"sample_weight": rows.weights, "groups": rows.groups}
    return given | {"title": title, "command": _command(args), "sources": sources}


def _command(args: argparse.Namespace) -> str:
    """The command line as it was typed, without the folders of files, which are private to the machine."""
    words = []
    files = {
        str(value): _file(str(value)) for value in (*(getattr(args, f, None) for f in INPUTS), args.out) if value is not None
    }
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
