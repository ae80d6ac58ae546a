"""The commands ``compare`` and ``export``: solve the problem with several solvers, or write it to a file for other solvers."""

from __future__ import annotations

import argparse
import gzip
import json
import math
import shlex
import shutil
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from formulations.answers.pruning import Pruning
from formulations.answers.solution import Status
from formulations.errors import InvalidInputError
from formulations.programs.files import write_program
from formulations.programs.formulation import AS_ARRAYS, BY_NAME
from formulations.programs.linear_program import LinearProgram
from formulations.programs.matrix import MATRICES
from formulations.shown import align, error_name, is_rate
from prunemodels.command_line.inputs import read_instance
from prunemodels.command_line.parsing import errors_naming, reserve, shows_progress
from prunemodels.command_line.process import SETTINGS
from prunemodels.command_line.summary import Line, Summary
from prunemodels.comparison.compare import check_budgets, check_solvers, compare
from solvers import SOLVERS
from solvers.within import BUDGET_SOLVERS

PROGRAM_ENDINGS = (".lp", ".mps", ".lp.gz", ".mps.gz")


def _short(number: float) -> str:
    """Three significant digits below 1,000, thousands as a whole."""
    return f"{number:.3g}" if number < 999.5 else f"{number:,.0f}"


COLUMNS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "budget": ("budget", "{:.5g}".format),
    "status": ("status", str),
    "value": ("value", "{:.6g}".format),
    "error": ("error", "{:.6g}".format),
    "bound": ("bound", "{:.6g}".format),
    "cost": ("cost", "{:.5g}".format),
    "splits": ("splits", "{:,.0f}".format),
    "relative_gap": ("gap", "{:.1g}".format),
    "seconds": ("seconds", _short),
    "peak_memory_mb": ("MB", _short),
}
"""Columns of the table by their names in the data frame: what the screen calls them, and how it writes a cell."""

NOT_SHOWN = {False: ("error", "bound"), True: ("value", "relative_gap")}
"""Columns that only ``--out`` and ``--json`` have, of a comparison at a lambda, and of one within budgets."""


def compare_command(args: argparse.Namespace) -> Summary:
    """``prunemodels compare``: one row a solver, on the screen and as a table if one is asked for."""
    tables = reserve(args, "out", ".csv")
    with errors_naming("--solvers"):
        solvers = check_solvers(args.solvers, SOLVERS if args.budget is None else BUDGET_SOLVERS)
    if args.budget is not None:
        with errors_naming("--budget"):
            check_budgets(args.budget)
    instance = read_instance(args)
    options = {"budget": args.budget, "time_limit": args.time_limit, "progress": shows_progress(args)}
    table = compare(instance.problem, args.lam, solvers, **options)
    for file in tables:
        table.to_csv(args.outputs.aside(file), index=False)
    # the record and the lines
    record, measure = instance.record(args), instance.problem.ensemble.measure
    cells = table.astype(object).where(table.notna(), None).replace(math.inf, None).to_dict("records")
    goal = f"lambda = {args.lam:g}" if args.lam is not None else f"cost at most {', '.join(f'{b:g}' for b in args.budget)}"
    lines: list[str | Line] = [f"{args.forest}: {record['model']} of {record['trees']} trees, {goal}", ""]
    if args.lam is not None:
        worth = f"{100 * args.lam:.6g} % of error" if is_rate(measure) else f"{args.lam:.6g} of {error_name(measure)}"
        lines.append(Line("lambda", f"one unit of cost is worth {worth}"))
        if not (table["status"] == str(Status.OPTIMAL)).any():
            lines.append(Line("optimum", "not proven by any of these solvers"))
        lines.append("")
    lines += [
        comparison_text(table),
        "",
        Line("cost sample", instance.data.told),
        Line("solving", f"{float(table['seconds'].sum()):.1f} s"),
    ]
    more = {"lam": args.lam, "budgets": args.budget, "unpruned": Pruning.unpruned(instance.problem), "solvers": cells}
    return Summary(record | more, lines, tables, instance.data.ignored)


def comparison_text(table: pd.DataFrame) -> str:
    """The table for terminals: rounded, without empty columns, with the notes below."""
    there = [c for c in COLUMNS if c in table and c not in NOT_SHOWN["budget" in table] and table[c].notna().any()]
    shown = {name: COLUMNS[name] for name in there}
    records = table.to_dict("records")
    rows = [[r["solver"], *("" if pd.isna(r[name]) else show(r[name]) for name, (_, show) in shown.items())] for r in records]
    notes = []
    for r in records:
        stopped = "" if r["stopped"] in ("", "converged") else f"stopped by {r['stopped']}"
        if note := "; ".join(part for part in (stopped, r["note"]) if part):
            whose = f"{r['solver']} within {r['budget']:g}" if "budget" in r else r["solver"]
            notes.append(textwrap.fill(f"{whose}: {note}", SETTINGS.help_width, subsequent_indent="    "))
    text = align(["solver", *(header for header, _ in shown.values())], rows, left=2, gap=2)
    return "\n".join([text, *([""] if notes else []), *notes])


def export_command(args: argparse.Namespace) -> Summary:
    """``prunemodels export``: a formulation as a file that other solvers read."""
    formulation, options = _formulation(args)
    place = Path(args.out)
    ending = "".join(place.suffixes[-2:]) if place.suffix == ".gz" else place.suffix
    if ending not in PROGRAM_ENDINGS:
        raise InvalidInputError(f"--out: {place} has the ending {ending!r}; give one of {', '.join(PROGRAM_ENDINGS)}")
    out = args.outputs.reserve(place, "--out")
    instance = read_instance(args)
    with errors_naming(f"--formulation {formulation}"):
        program = MATRICES[formulation](instance.problem, relax=args.relax, **options)
    hidden = args.outputs.aside(out)
    _write(program, hidden, out.name)
    # the record and the lines
    rows, columns = program.shape
    record = instance.record(args) | {"formulation": formulation, "lam": args.lam, "budget": args.budget}
    record |= {"relaxed": args.relax, "merged": args.merge, "rows": rows, "columns": columns}
    record |= {"nonzeros": int(program.matrix.nnz), "bytes": hidden.stat().st_size}
    goal = f", lambda = {args.lam:g}" if args.lam is not None else ""
    goal = f", cost at most {args.budget:g}" if args.budget is not None else goal
    merged = ", purchases merged" if args.merge else ""
    kind = "linear relaxation" if args.relax else "integer program"
    lines: list[str | Line] = [
        f"{args.forest}: {record['model']} of {record['trees']} trees as {formulation}{goal}",
        "",
        Line("program", f"{kind}, {rows:,} rows, {columns:,} columns, {record['nonzeros']:,} nonzeros{merged}"),
        Line("cost sample", instance.data.told),
        Line("size", f"{record['bytes'] / 1e6:.3g} MB"),
        f"{'to solve it':{SETTINGS.label}}{reading(str(out))}",
    ]
    return Summary(record, lines, [out], instance.data.ignored)


def _formulation(args: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """The formulation's name, and the options that it takes; refuses one that is missing, or that it does not take."""
    given = {name: number for name, number in (("lam", args.lam), ("budget", args.budget)) if number is not None}
    if args.formulation is None and not given:
        raise InvalidInputError("one of --lam and --budget is needed; or --formulation IP0, which takes neither")
    name: str = args.formulation or ("IP3" if "lam" in given else "LP1")
    needs = BY_NAME[name].takes
    if needs is None:
        for option in (*given, *["merge"] * args.merge):
            raise InvalidInputError(f"--formulation IP0 prunes for the error alone and takes no --{option}; drop it")
        return name, {}
    other = "lam" if needs == "budget" else "budget"
    if other in given:
        fitting = " or ".join(n for n in AS_ARRAYS if BY_NAME[n].takes == other)
        raise InvalidInputError(f"--formulation {name} takes --{needs}, not --{other}; --{other} goes with {fitting}")
    if needs not in given:
        raise InvalidInputError(f"--formulation {name} needs --{needs}")
    return name, {"merge": args.merge, **given}


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


def reading(file: str) -> str:
    """A shell command that solves the file with HiGHS, which this package installs. HiGHS reads no compressed files."""
    unpack = f"gunzip --keep {shlex.quote(file)} && " if file.endswith(".gz") else ""
    name = json.dumps(file.removesuffix(".gz"))
    return unpack + "python -c " + shlex.quote(f"import highspy; h = highspy.Highs(); h.readModel({name}); h.run()")
