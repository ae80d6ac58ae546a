"""The command ``check``: a claim, its verdict, and the evidence. Each claim imports what it needs."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from formulations.errors import InvalidInputError
from formulations.extras import package
from proofs_checks.verdict import Verdict
from prunemodels.command_line.parsing import draw_pictures, errors_naming, need, refuse, reserve, shows_progress
from prunemodels.command_line.process import SETTINGS, STATUS
from prunemodels.command_line.summary import Line, Summary
from prunemodels.files import FOREST_ENDINGS, MATRIX_ENDINGS, PROGRAM_ENDINGS

PAPERS = "papers"
"""The word that stands for the papers' two trees in the place of a forest."""

ANSWER = {True: "holds", False: "refuted", None: "undecided"}


def check_tu(args: argparse.Namespace) -> Summary:
    """``prunemodels check tu``: a matrix in a file, or the matrix of a formulation."""
    from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix
    from proofs_checks.total_unimodularity.decide import METHODS, check_total_unimodularity
    from proofs_checks.total_unimodularity.pieces import Pieces
    from prunemodels.files.matrices import load_network, save_network

    if args.method is not None and args.method not in METHODS:
        raise InvalidInputError(f"--method: there is no method {args.method!r}; there are {', '.join(METHODS)}")
    if args.method is not None and args.certificate is not None:
        raise InvalidInputError(
            "--method and --certificate exclude each other: a method searches for a certificate, --certificate names one; "
            "drop one"
        )
    places = reserve(args, "out", ".npz")
    given = None
    if args.certificate is not None:
        with errors_naming("--certificate"):
            given = load_network(args.certificate)
    # with a network, check it; with a formulation, its own network; else search for a certificate
    problem, matrix, subject = _matrix(args)
    if given is not None:
        verdict = check_network_matrix(matrix, given)
    elif problem is not None and args.method is None:
        from proofs_checks.total_unimodularity.formulation_network import check_formulation

        verdict = check_formulation(problem, matrix)
    else:
        verdict = check_total_unimodularity(matrix, method=args.method)
    # what was found: the network as a file, the pieces as a picture and in words
    written = places if isinstance(verdict.certificate, NetworkMatrix) else []
    for place in written:
        save_network(verdict.certificate, args.outputs.aside(place))
    with errors_naming("--picture"):
        draw_pictures(args, lambda: package("prunemodels.plots").plot_decomposition(matrix, verdict))
    explanation = ""
    if isinstance(verdict.certificate, Pieces):
        from proofs_checks.total_unimodularity.explanation import explain_unimodularity

        explanation = explain_unimodularity(matrix, verdict)
    return check_summary(subject, (verdict,), written=written, explanation=explanation)


def check_whole_vertices(args: argparse.Namespace) -> Summary:
    """``prunemodels check integrality``: the relaxation of a program or a formulation, or a matrix with whole sides."""
    from proofs_checks.integrality.reading import read_polyhedron
    from proofs_checks.integrality.vertices import check_integrality

    of_matrix = args.forest.endswith(MATRIX_ENDINGS) and not args.forest.endswith(PROGRAM_ENDINGS)
    if args.sides is not None and not of_matrix:
        raise InvalidInputError("--sides belongs to a matrix; a program and a formulation have sides of their own: drop it")
    _, matrix, subject = _matrix(args, program=True)
    if of_matrix:
        sides = [1.0] if args.sides is None else args.sides
        if len(sides) not in (1, matrix.shape[0]):
            raise InvalidInputError(
                f"--sides has {len(sides)} numbers, the matrix {matrix.shape[0]} rows; give one, or one for each"
            )
        if matrix.other is not None:
            row, column, entry = matrix.other
            raise InvalidInputError(
                f"MATRIX: the entry of {matrix.rows[row]} and {matrix.columns[column]} is {entry}; give a matrix of "
                "-1, 0 and 1, or the polyhedron as a program (.mps, .lp)"
            )
        upper = sides[0] if len(sides) == 1 else sides
        matrix = read_polyhedron(matrix.dense(), row_upper=upper, rows=list(matrix.rows), columns=list(matrix.columns))
        subject += f" with x >= 0 and sides of {', '.join(f'{b:g}' for b in sides[:6])}{', ...' if len(sides) > 6 else ''}"
    return check_summary(subject, (check_integrality(matrix),))


def _matrix(args: argparse.Namespace, *, program: bool = False) -> tuple[Any, Any, str]:
    """The problem (None for a file of a matrix), the matrix or with `program` the program, and what it is in words."""
    if args.forest.endswith(MATRIX_ENDINGS):
        from prunemodels.files.matrices import load_matrix

        refuse(args, "data costs formulation merge", "belongs to a forest; drop it for a matrix")
        with errors_naming("MATRIX"):
            if program and args.forest.endswith(PROGRAM_ENDINGS):
                from formulations.programs.program_text import read_program

                found: Any = read_program(args.forest)
            else:
                found = load_matrix(args.forest)
        return None, found, f"{args.forest}: {found!r}"
    from formulations.programs.formulation import BY_NAME
    from formulations.programs.matrix import MATRICES

    problem, formulation, budget = _problem(args), args.formulation or "IP3", getattr(args, "budget", None)
    takes = BY_NAME[formulation].takes
    if takes is None and args.merge:
        raise InvalidInputError("--formulation IP0 prunes for the error alone and takes no --merge; drop it")
    if budget is not None and takes != "budget":
        raise InvalidInputError(f"--budget is a side of LP1, which {formulation} does not have; drop it")
    # the matrix does not depend on lambda, nor on the budget, which is a side of a row
    number = {"budget": 1 if budget is None else budget, "lam": 0}
    options: dict[str, Any] = {} if takes is None else {"merge": args.merge, takes: number[takes]}
    with errors_naming(f"--formulation {formulation}"):
        found = MATRICES[formulation](problem, **options)
    return problem, found, f"{args.forest}: the {'relaxation' if program else 'matrix'} of {formulation}, {found!r}"


def check_naive_vertex(args: argparse.Namespace) -> Summary:
    """``prunemodels check counterexample``."""
    from formulations.instance.papers import two_trees
    from formulations.programs.matrix import MATRICES
    from proofs_checks.integrality.counterexample import check_counterexample

    tree = two_trees().only_tree(0)
    naive, unimodular = (MATRICES[name](tree, lam=1, relax=True) for name in ("IP1", "IP3"))
    return check_summary("the papers' tree 1, one example", (check_counterexample(naive, unimodular),))


def check_figure(args: argparse.Namespace) -> Summary:
    """``prunemodels check figure``: both trees."""
    from formulations.instance.papers import two_trees
    from formulations.programs.shortest_path import tree_networks
    from proofs_checks.total_unimodularity.formulation_network import check_printed_matrices

    networks = tree_networks(two_trees(), expanded=True)
    verdicts = [check_printed_matrices(t, n.equations(), n.incidence(), list(n.arcs)) for t, n in enumerate(networks)]
    return check_summary("NWS15 section 4, BP16 section 6.2 and Figure 3", verdicts)


def check_a_solution(args: argparse.Namespace) -> Summary:
    """``prunemodels check solution``: a forest that somebody pruned, or a solver's answer."""
    from proofs_checks.optimality.solution import check_solution
    from prunemodels.files.answers import load_solution
    from solvers import SOLVERS

    if args.proof is not None:
        refuse(args, "pruned solver", "belongs to --lam; drop it")
        problem = _problem(args)
        with errors_naming("--proof"):
            answer = load_solution(args.proof, problem)
        return check_summary(f"{args.proof}: {answer!r}", (check_solution(problem, answer),))
    if args.solver not in SOLVERS:
        raise InvalidInputError(f"--solver: there is no solver {args.solver!r}; there are {', '.join(SOLVERS)}")
    if args.pruned is not None and args.solver != "min_cut":
        raise InvalidInputError(
            "--solver and --pruned exclude each other: either a solver's answer is checked or a pruned forest; drop one"
        )
    problem = _problem(args)
    subject = f"{args.forest}, pruned by {args.solver} for lambda = {args.lam:g}"
    if args.pruned is None:
        verdict = check_solution(problem, SOLVERS[args.solver](problem, args.lam))
    else:
        subject = f"{args.pruned}, pruned from {args.forest}"
        verdict = _check_pruned_forest(args, problem)
    return check_summary(subject, (verdict,))


def _check_pruned_forest(args: argparse.Namespace, problem: Any) -> Verdict:
    """Compare the value of a pruned forest with the bound that a minimum cut proves."""
    from proofs_checks.optimality.solution import check_solution
    from prunemodels.evaluation.vote import without_cut
    from prunemodels.files.forests import load_forest
    from prunemodels.models.forests.problems import pruning_from_forest
    from solvers import min_cut

    with errors_naming("--pruned"):
        pruning = pruning_from_forest(problem, without_cut(load_forest(args.pruned, trust_pickle=args.trust_pickle))[0])
    value = pruning.value(args.lam)
    verdict = check_solution(problem, replace(min_cut(problem, args.lam), pruning=pruning, value=value))
    if not verdict:
        return verdict
    claim = f"{args.pruned} is an optimal pruning for lambda = {args.lam:g}"
    return replace(verdict, claim=claim, holds=verdict.certificate["gap"] <= 1e-12 * max(1.0, value))


def check_a_path(args: argparse.Namespace) -> Summary:
    """``prunemodels check path``: the path, and a table of it if one is given."""
    from proofs_checks.optimality.path_optimality import check_path
    from prunemodels.data_files import read_table
    from solvers import pruning_path

    table = None
    if args.table is not None:
        with errors_naming("--table"):
            table = read_table(args.table)
    path = pruning_path(_problem(args), progress=shows_progress(args))
    verdicts = [check_path(path)]
    if table is not None:
        verdicts.append(_check_table(args.table, table, path.to_frame()))
    return check_summary(f"{args.forest}: {path!r}", verdicts)


def _check_table(file: str, table: Any, ours: Any) -> Verdict:
    """Compare a table with that of the path, row by row."""
    claim, method = f"{file} is the table of this path", "row by row, to 12 digits"
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


def check_exits(args: argparse.Namespace) -> Summary:
    """``prunemodels check exits``: every policy of a saved cascade's path is optimal, and they are nested."""
    from proofs_checks.optimality.closure_path import check_closure_path
    from prunemodels.cascades.cascade_files import load_cascade

    with errors_naming("CASCADE"):
        cascade = load_cascade(args.cascade, trust_pickle=args.trust_pickle)
    path = cascade.exit_path_
    return check_summary(f"{args.cascade}: {path!r}", (check_closure_path(path.closures),))


def check_the_corollary(args: argparse.Namespace) -> Summary:
    """``prunemodels check corollary``."""
    from proofs_checks.optimality.corollary import check_corollary
    from solvers import pruning_path

    path = pruning_path(_problem(args), progress=shows_progress(args))
    return check_summary(f"{args.forest}: {path!r}", (check_corollary(path, args.budgets),))


def _problem(args: argparse.Namespace) -> Any:
    """The instance that the arguments name."""
    if args.forest == PAPERS:
        from formulations.instance.papers import two_trees

        refuse(args, "data costs label weights train error_data", "does not go with the papers' trees; drop it")
        return two_trees()
    if not args.forest.endswith(FOREST_ENDINGS):
        known = ", ".join((*FOREST_ENDINGS, *(MATRIX_ENDINGS if args.claim in ("tu", "integrality") else ())))
        raise InvalidInputError(f"{args.forest!r} ends in none of {known}, and is not the word {PAPERS!r}")
    need(args, "data costs", f"is needed to set up the problem of the forest {args.forest}")
    from prunemodels.command_line.inputs import read_instance

    return read_instance(args).problem


def check_summary(subject: str, verdicts: Sequence[Verdict], *, written: Sequence[Any] = (), explanation: str = "") -> Summary:
    """The summary of one claim or more. on a `subject`; `explanation`: of the last verdict, in sentences."""
    record = {"subject": subject, "verdicts": verdicts}
    lines: list[str | Line] = [subject]
    for verdict in verdicts:
        evidence = _evidence(verdict.certificate)
        lines += ["", Line("claim", verdict.claim), Line("answer", ANSWER[verdict.holds]), Line("how", verdict.method)]
        lines += ["", evidence] if "\n" in evidence else [Line("evidence", evidence)] if evidence else []
    lines += ["", explanation, ""] if explanation else [""]
    answers = [verdict.holds for verdict in verdicts]
    holds = False if False in answers else None if None in answers else True
    return Summary(record, lines, written, exit_status=STATUS[holds])


def _evidence(certificate: Any) -> str:
    """A certificate as text."""
    if certificate is None:
        return ""
    if isinstance(certificate, Mapping):
        return ", ".join(f"{key} {value}" for key, value in certificate.items())
    text = str(certificate.table(SETTINGS.evidence_lines) if hasattr(certificate, "table") else certificate)
    return "\n".join(line if len(line) <= SETTINGS.width else textwrap.fill(line, SETTINGS.width) for line in text.split("\n"))
