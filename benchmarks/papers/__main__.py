"""The papers' experiments, one command each.

    python -m benchmarks.papers                         what there is, and how long it takes
    python -m benchmarks.papers nws15_table1            the short version: minutes
    python -m benchmarks.papers nws15_table1 --full     the papers' repeats and settings: hours
    python -m benchmarks.papers all --rows 4000         every experiment's short version on fewer rows: make papers
    python -m benchmarks.papers protocols               how each paper ran its experiments, and where that is said
    python -m benchmarks.papers keep                    copy the rows of what was run to benchmarks/results/papers
    python -m benchmarks.papers tables [NAME]           the tables of an experiment from the rows kept there
    python -m benchmarks.papers verdicts                a verdict on every published number, from the rows kept there
    python -m benchmarks.papers page                    renew the tables of docs/papers.md from the rows kept there

After Ctrl-C or a crash, the same command continues.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from benchmarks.measuring import frame_markdown
from benchmarks.papers.experiment import Experiment, Scope
from benchmarks.papers.protocols import PROTOCOLS, table
from benchmarks.papers.running import FOLDER, Failure, Store, experiment_named, experiments, keep_rows, kept_frame, run_units
from benchmarks.papers.verdicts import counts, rounded, verdict_table, write_pages
from formulations.errors import InvalidInputError, PruneModelsError
from prunemodels.files.outputs import OutputFiles
from prunemodels.plots.picture import save_picture

OUT = Path("papers-output")  # where results go unless ``--out`` names another folder


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.papers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("name", nargs="?", help="an experiment, or a command of the list above; none: list the experiments")
    made.add_argument("of", nargs="?", help="of tables: an experiment")
    made.add_argument("--full", action="store_true", help="the papers' repeats and settings instead of the short version")
    made.add_argument("--repeats", type=int, help="seeds 0, 1, ...; default: the version's")
    made.add_argument("--data", nargs="+", help="data sets in the folder PRUNEMODELS_DATA; default: the version's")
    made.add_argument("--rows", type=int, help="at most so many examples of each data set, for trials")
    made.add_argument("--out", type=Path, default=OUT, help=f"folder of the results; default {OUT}")
    made.add_argument("--jobs", type=int, default=1, help="processes; results do not depend on them")
    return made


def run(experiment: Experiment, scope: Scope, out: Path, jobs: int) -> list[Failure]:
    store = Store(out / experiment.name)
    units = experiment.units(scope)
    failures = run_units(experiment, units, store, jobs=jobs)
    frame = store.frame(units)
    if frame.empty:
        raise InvalidInputError(f"{experiment.name}: no unit could be done, so there is nothing to show; see above")
    print(f"{show(experiment, frame, scope, out)}\n\ntables and pictures: {store.folder}")
    return failures


def show(experiment: Experiment, frame: pd.DataFrame, scope: Scope, out: Path) -> str:
    """Write tables as CSV, figures as PNG and SVG, a limit of rows in the names of the files; returns the text to print."""
    shown, folder = experiment.present(frame), out / experiment.name
    trial, limit = ("", "") if scope.rows is None else (f"_rows{scope.rows}", f", a trial with {scope.rows} rows")
    folder.mkdir(parents=True, exist_ok=True)
    with OutputFiles() as outputs:
        for name, table in {**shown.tables, **shown.files}.items():
            table.to_csv(outputs.aside(folder / f"{name}{trial}.csv"), index=False)
    for name, figure in shown.figures.items():
        save_picture(figure, folder / f"{name}{trial}")
    lines = [f"# {experiment.name}: {experiment.source}", "", experiment.title, "", PROTOCOLS[experiment.protocol].told(), ""]
    machines = "; ".join(frame["machine"].unique())
    lines += [f"{scope.repeats} repeats, {'full' if scope.full else 'short'} version{limit}; {machines}"]
    for name, table in shown.tables.items():
        lines += ["", f"## {name}", "", frame_markdown(table)]
    return "\n".join([*lines, "", *(f"- {note}" for note in shown.notes)])


def verdicts() -> str:
    """Write ``verdicts.csv`` beside the kept rows; returns the counts of verdicts and the table as Markdown."""
    table = verdict_table()
    shown = rounded(table)
    with OutputFiles() as outputs:
        shown.to_csv(outputs.aside(FOLDER / "verdicts.csv"), index=False, lineterminator="\n")
    return f"{frame_markdown(counts(table))}\n\n{frame_markdown(shown)}"


def tables(name: str, out: Path) -> str:
    """The tables and notes of an experiment's kept rows; they and the pictures are written, too."""
    experiment = experiment_named(name)
    frame = kept_frame(experiment)
    if frame.empty:
        raise InvalidInputError(f"no rows of {name} are kept; run it, then keep")
    return show(experiment, frame, Scope((), int(frame["seed"].nunique()), full=True), out)


def listing() -> str:
    known = experiments()
    width = max(map(len, known), default=0)
    return "\n".join(f"{e.name:{width}s}  {e.source}: {e.title} [{e.takes}]" for e in known.values())


COMMANDS: dict[str | None, Callable[[argparse.Namespace], str]] = {
    None: lambda _: listing(),
    "protocols": lambda _: frame_markdown(table()),
    "keep": lambda args: "\n".join(map(str, keep_rows(args.out))),
    "tables": lambda args: tables(args.of or "", args.out),
    "verdicts": lambda _: verdicts(),
    "page": lambda _: write_pages(),
}
"""Everything that is no experiment; each gets the arguments and returns the text to print."""


def main(arguments: Sequence[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    failures: list[Failure] = []
    try:
        if args.name in COMMANDS:
            print(COMMANDS[args.name](args))
            return 0
        for name in experiments() if args.name == "all" else (args.name,):
            experiment = experiment_named(name)
            scope = experiment.scope(full=args.full, repeats=args.repeats, data=args.data, rows=args.rows)
            failures += run(experiment, scope, args.out, args.jobs)
    except KeyboardInterrupt:
        print(f"\nstopped; what was finished is kept in {args.out}, and the same command goes on from there", file=sys.stderr)
        return 130
    except PruneModelsError as error:
        print(f"benchmarks.papers: {error}", file=sys.stderr)
        return 2
    if failures:
        print(f"\n{len(failures)} units failed, the last with\n{failures[-1].trace}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
