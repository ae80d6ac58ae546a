"""The commands ``compare`` and ``export``: solve the problem with several solvers, or write it to a file for other solvers."""

from __future__ import annotations

import argparse
import gzip
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from formulations.answers.pruning import Pruning
from formulations.errors import InvalidInputError
from formulations.programs.files import write_program
from formulations.programs.linear_program import LinearProgram
from formulations.programs.matrix import MATRICES
from prunemodels.command_line.commands import figures_of, read_problem
from prunemodels.command_line.model_report import CompareSummary, ExportSummary, best_within, optimum
from prunemodels.command_line.refusals import errors_naming
from prunemodels.command_line.terminal import shows_progress
from prunemodels.comparison.compare import check_budgets, check_solvers, compare
from prunemodels.files.outputs import OutputFiles
from solvers import SOLVERS
from solvers.budgets import BUDGET_SOLVERS

PROGRAM_ENDINGS = (".lp", ".mps", ".lp.gz", ".mps.gz")


def compare_command(args: argparse.Namespace) -> CompareSummary:
    """``prunemodels compare``: one row a solver, on the screen and as a table if one is asked for."""
    start = time.perf_counter()
    tables = [] if args.out is None else [args.outputs.reserve(args.out, "--out", endings=(".csv",))]
    with errors_naming("--solvers"):
        solvers = check_solvers(args.solvers, SOLVERS if args.budget is None else BUDGET_SOLVERS)
    if args.budget is not None:
        with errors_naming("--budget"):
            check_budgets(args.budget)
    forest, data, _, problem = read_problem(args)
    table = compare(problem, args.lam, solvers, budget=args.budget, time_limit=args.time_limit, progress=shows_progress(args))
    for file in tables:
        table.to_csv(args.outputs.aside(file), index=False)
    return CompareSummary(
        forest=args.forest,
        model=type(forest).__name__,
        trees=problem.ensemble.n_trees,
        task=problem.ensemble.task,
        measure=problem.ensemble.measure,
        data=args.data,
        examples=problem.n_rows,
        error_source=problem.errors.source,
        lam=args.lam,
        budgets=tuple(args.budget or ()),
        seconds=time.perf_counter() - start,
        unpruned=figures_of(Pruning.unpruned(problem)),
        optimum=optimum(table) if args.budget is None else None,
        within=tuple(best_within(table, budget) for budget in args.budget or ()),
        table=table,
        written=tuple(str(file) for file in tables),
        ignored=data.ignored,
    )


def export_command(args: argparse.Namespace) -> ExportSummary:
    """``prunemodels export``: a formulation as a file that other solvers read."""
    start = time.perf_counter()
    formulation, options = _formulation(args)
    out = _program_file(args)
    forest, data, _, problem = read_problem(args)
    with errors_naming(f"--formulation {formulation}"):
        program = MATRICES[formulation](problem, relax=args.relax, **options)
    hidden = args.outputs.aside(out)
    _write(program, hidden, out.name)
    rows, columns = program.shape
    return ExportSummary(
        forest=args.forest,
        model=type(forest).__name__,
        trees=problem.ensemble.n_trees,
        data=args.data,
        examples=problem.n_rows,
        formulation=formulation,
        lam=args.lam,
        budget=args.budget,
        relaxed=args.relax,
        merged=args.merge,
        rows=rows,
        columns=columns,
        nonzeros=int(program.matrix.nnz),
        bytes=hidden.stat().st_size,
        seconds=time.perf_counter() - start,
        written=(str(out),),
        ignored=data.ignored,
    )


def _formulation(args: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """The formulation's name, and the options that it takes.

    Raises
    ------
    InvalidInputError
        for an option that is missing, or that the formulation does not take.
    """
    given = {name: number for name, number in (("lam", args.lam), ("budget", args.budget)) if number is not None}
    if args.formulation is None and not given:
        raise InvalidInputError("one of --lam and --budget is needed; or --formulation IP0, which takes neither")
    name: str = args.formulation or ("IP3" if "lam" in given else "LP1")
    if name == "IP0":
        for option in (*given, *["merge"] * args.merge):
            raise InvalidInputError(f"--formulation IP0 prunes for the error alone and takes no --{option}; drop it")
        return name, {}
    needs, other = ("budget", "lam") if name == "LP1" else ("lam", "budget")
    if other in given:
        fitting = "IP1, IP2, IP3 or closure" if other == "lam" else "LP1"
        raise InvalidInputError(f"--formulation {name} takes --{needs}, not --{other}; --{other} goes with {fitting}")
    if needs not in given:
        raise InvalidInputError(f"--formulation {name} needs --{needs}")
    return name, {"merge": args.merge, **given}


def _program_file(args: argparse.Namespace) -> Path:
    """The program's file, reserved."""
    place = Path(args.out)
    ending = "".join(place.suffixes[-2:]) if place.suffix == ".gz" else place.suffix
    if ending not in PROGRAM_ENDINGS:
        raise InvalidInputError(f"--out: {place} has the ending {ending!r}; give one of {', '.join(PROGRAM_ENDINGS)}")
    outputs: OutputFiles = args.outputs
    return outputs.reserve(place, "--out")


def _write(program: LinearProgram, place: Path, name: str) -> None:
    """Write a program in the format of its ending, compressed where that is .gz."""
    if place.suffix != ".gz":
        write_program(program, place)
        return
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / name.removesuffix(".gz")
        write_program(program, plain)
        with plain.open("rb") as source, place.open("wb") as sink, gzip.GzipFile(plain.name, "wb", 6, sink, mtime=0) as packed:
            shutil.copyfileobj(source, packed)
