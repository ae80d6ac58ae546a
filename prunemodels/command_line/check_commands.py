"""The command ``check``: a claim, its verdict, and the evidence."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd

from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError
from formulations.instance.papers import two_trees
from formulations.instance.problem import PruningProblem
from formulations.programs.matrix import MATRICES
from formulations.programs.shortest_path import tree_networks
from proofs_checks.counterexample.argument import check_counterexample
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix
from proofs_checks.matrices.row_operations import check_printed_matrices
from proofs_checks.optimality.corollary import check_corollary
from proofs_checks.optimality.path_optimality import check_path
from proofs_checks.optimality.solution_optimality import check_solution
from proofs_checks.total_unimodularity import METHODS, Pieces, check_total_unimodularity
from proofs_checks.total_unimodularity.explanation import explain_unimodularity
from proofs_checks.total_unimodularity.formulation_network import check_formulation
from proofs_checks.verdict import Verdict
from prunemodels.command_line.check_report import CheckSummary
from prunemodels.command_line.commands import read_problem, reserve_pictures
from prunemodels.command_line.exit_commands import check_exits
from prunemodels.command_line.refusals import errors_naming
from prunemodels.command_line.terminal import shows_progress
from prunemodels.data_files import read_table
from prunemodels.files.forests import FOREST_ENDINGS, load_forest
from prunemodels.files.matrices import MATRIX_ENDINGS, load_matrix, load_network, save_network
from prunemodels.forests.surgery import pruning_from_forest
from solvers import SOLVERS, min_cut, pruning_path

PAPERS = "papers"
"""The word that stands for the papers' two trees in the place of a forest."""


def check_tu(args: argparse.Namespace) -> CheckSummary:
    """``prunemodels check tu``: a matrix in a file, or the matrix of a formulation."""
    start = time.perf_counter()
    _check_method(args)
    places = [] if args.out is None else [args.outputs.reserve(args.out, "--out", endings=(".npz",))]
    pictures = reserve_pictures(args)
    given = None
    if args.certificate is not None:
        with errors_naming("--certificate"):
            given = load_network(args.certificate)
    if args.forest.endswith(MATRIX_ENDINGS):
        _refuse(args, ("data", "costs", "formulation", "merge"), "belongs to a forest; drop it for a matrix")
        with errors_naming("MATRIX"):
            matrix: Any = load_matrix(args.forest)
        problem, subject = None, f"{args.forest}: {matrix!r}"
    else:
        problem = _problem(args)
        formulation = args.formulation or "IP3"
        matrix = _formulation_matrix(problem, formulation, merge=args.merge)
        subject = f"{args.forest}: the matrix of {formulation}, {matrix!r}"
    if given is not None:
        verdict = check_network_matrix(matrix, given)
    elif problem is not None and args.method is None:
        verdict = check_formulation(problem, matrix)
    else:
        verdict = check_total_unimodularity(matrix, method=args.method)
    seconds = time.perf_counter() - start
    written = []
    if isinstance(verdict.certificate, NetworkMatrix) and places:
        save_network(verdict.certificate, args.outputs.aside(places[0]))
        written = [str(places[0])]
    for picture in pictures:
        from prunemodels.plots.decomposition import plot_decomposition
        from prunemodels.plots.tradeoff import draw

        with errors_naming("--picture"):
            draw(plot_decomposition(matrix, verdict), args.outputs.aside(picture))
        written.append(str(picture))
    explanation = explain_unimodularity(matrix, verdict) if isinstance(verdict.certificate, Pieces) else ""
    return CheckSummary(subject, (verdict,), seconds, written=tuple(written), explanation=explanation)


def check_the_counterexample(args: argparse.Namespace) -> CheckSummary:
    """``prunemodels check counterexample``."""
    start = time.perf_counter()
    tree = two_trees().only_tree(0)
    naive, unimodular = (MATRICES[name](tree, lam=1, relax=True) for name in ("IP1", "IP3"))
    verdict = check_counterexample(naive, unimodular)
    return CheckSummary("the papers' tree 1, one example", (verdict,), time.perf_counter() - start)


def check_figure(args: argparse.Namespace) -> CheckSummary:
    """``prunemodels check figure``: both trees."""
    start = time.perf_counter()
    networks = tree_networks(two_trees(), expanded=True)
    verdicts = [check_printed_matrices(t, n.equations(), n.incidence(), list(n.arcs)) for t, n in enumerate(networks)]
    return CheckSummary("NWS15 section 4, BP16 section 6.2 and Figure 3", tuple(verdicts), time.perf_counter() - start)


def check_a_solution(args: argparse.Namespace) -> CheckSummary:
    """``prunemodels check solution``: a forest that somebody pruned, or a solver's answer."""
    start = time.perf_counter()
    if args.solver not in SOLVERS:
        raise InvalidInputError(f"--solver: there is no solver {args.solver!r}; there are {', '.join(SOLVERS)}")
    if args.pruned is not None and args.solver != "min_cut":
        raise InvalidInputError(
            "--solver and --pruned exclude each other: either a solver's answer is checked or a pruned forest; drop one"
        )
    problem = _problem(args)
    if args.pruned is None:
        subject = f"{args.forest}, pruned by {args.solver} for lambda = {args.lam:g}"
        verdict = check_solution(problem, SOLVERS[args.solver](problem, args.lam))
    else:
        subject = f"{args.pruned}, pruned from {args.forest}"
        verdict = _check_pruned_forest(args, problem)
    return CheckSummary(subject, (verdict,), time.perf_counter() - start)


def _check_pruned_forest(args: argparse.Namespace, problem: PruningProblem) -> Verdict:
    """Compare the value of a pruned forest with the bound that a minimum cut proves."""
    with errors_naming("--pruned"):
        pruning = pruning_from_forest(problem, load_forest(args.pruned, trust_pickle=args.trust_pickle))
    value = pruning.value(args.lam)
    verdict = check_solution(problem, replace(min_cut(problem, args.lam), pruning=pruning, value=value))
    if not verdict:
        return verdict
    claim = f"{args.pruned} is an optimal pruning for lambda = {args.lam:g}"
    return replace(verdict, claim=claim, holds=verdict.certificate["gap"] <= 1e-12 * max(1.0, value))


def check_a_path(args: argparse.Namespace) -> CheckSummary:
    """``prunemodels check path``: the path, and a table of it if one is given."""
    start = time.perf_counter()
    table = None
    if args.table is not None:
        with errors_naming("--table"):
            table = read_table(args.table)
    path = pruning_path(_problem(args), progress=shows_progress(args))
    verdicts = [check_path(path)]
    if table is not None:
        verdicts.append(_check_table(args.table, table, path))
    return CheckSummary(f"{args.forest}: {path!r}", tuple(verdicts), time.perf_counter() - start)


def check_the_corollary(args: argparse.Namespace) -> CheckSummary:
    """``prunemodels check corollary``."""
    start = time.perf_counter()
    path = pruning_path(_problem(args), progress=shows_progress(args))
    verdict = check_corollary(path, args.budgets)
    return CheckSummary(f"{args.forest}: {path!r}", (verdict,), time.perf_counter() - start)


CHECKS: dict[str, Callable[[argparse.Namespace], CheckSummary]] = {
    "tu": check_tu,
    "counterexample": check_the_counterexample,
    "figure": check_figure,
    "solution": check_a_solution,
    "path": check_a_path,
    "corollary": check_the_corollary,
    "exits": check_exits,
}
"""The function of each claim, by the word after ``check``."""


def _problem(args: argparse.Namespace) -> PruningProblem:
    """The instance that the arguments name."""
    if args.forest == PAPERS:
        _refuse(args, ("data", "costs", "label", "weights", "train", "error_data"), "does not go with the papers' trees; drop it")
        return two_trees()
    if not args.forest.endswith(FOREST_ENDINGS):
        known = ", ".join((*FOREST_ENDINGS, *(MATRIX_ENDINGS if args.claim == "tu" else ())))
        raise InvalidInputError(f"{args.forest!r} ends in none of {known}, and is not the word {PAPERS!r}")
    for option in ("data", "costs"):
        if getattr(args, option) is None:
            raise InvalidInputError(f"--{option} is needed to set up the problem of the forest {args.forest}")
    return read_problem(args)[3]


def _formulation_matrix(problem: PruningProblem, formulation: str, *, merge: bool) -> Any:
    """The matrix of a formulation. It does not depend on lambda or the budget, so 0 will do for them."""
    if formulation == "IP0":
        if merge:
            raise InvalidInputError("--formulation IP0 prunes for the error alone and takes no --merge; drop it")
        return MATRICES["IP0"](problem)
    with errors_naming(f"--formulation {formulation}"):
        return MATRICES[formulation](problem, merge=merge, **({"budget": 0} if formulation == "LP1" else {"lam": 0}))


def _check_method(args: argparse.Namespace) -> None:
    if args.method is not None and args.method not in METHODS:
        raise InvalidInputError(f"--method: there is no method {args.method!r}; there are {', '.join(METHODS)}")
    if args.method is not None and args.certificate is not None:
        raise InvalidInputError(
            "--method and --certificate exclude each other: a method searches for a certificate, --certificate names one; "
            "drop one"
        )


def _refuse(args: argparse.Namespace, options: tuple[str, ...], why: str) -> None:
    """Refuse options that have no meaning for what is checked."""
    for option in options:
        if getattr(args, option) not in (None, False):
            raise InvalidInputError(f"--{option.replace('_', '-')} {why}")


def _check_table(file: str, table: pd.DataFrame, path: PruningPath) -> Verdict:
    """Compare a table with that of the path, row by row."""
    claim, method = f"{file} is the table of this path", "row by row, to 12 digits"
    ours = path.to_frame()
    missing = [name for name in ours if name not in table]
    if missing:
        raise InvalidInputError(f"--table: {file} has no column {missing[0]!r}; give a table that prunemodels path wrote")
    for name in ours:
        if table[name].dtype.kind not in "iuf":
            raise InvalidInputError(f"--table: the column {name!r} of {file} holds {table[name].dtype}, not numbers alone")
    if len(table) != len(ours):
        return Verdict(claim, False, method, f"{file} has {len(table)} rows, the path {len(ours)}")
    for name in ours:
        for k, (one, other) in enumerate(zip(table[name], ours[name], strict=True)):
            if not abs(one - other) <= 1e-12 * abs(other):
                return Verdict(claim, False, method, f"row {k} has {name} = {one!r}, the path {other!r}")
    return Verdict(claim, True, method, f"{len(ours)} rows")
