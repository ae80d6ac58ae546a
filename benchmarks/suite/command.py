"""All comparisons of engines with what they replace, in one command.

    python -m benchmarks                        all studies on real data; tens of minutes
    python -m benchmarks --quick                the same on data that scikit-learn ships, in seconds; saves nothing without --out
    python -m benchmarks --only cuts lp-pdlp    some of them: a name, or the part of a name before the dash
    python -m benchmarks --scale                also HEPMASS's and Yahoo's shape; an hour
    python -m benchmarks --compare FOLDER       the results in --out against those in FOLDER; status 1 if something is slower
    python -m benchmarks --show                 print existing results, run nothing
    python -m benchmarks --list                 the studies

Each study writes one JSON file to --out. A study that is complete for this code, machine and versions is only run again with
--again. After Ctrl-C, the same command continues with the study that was interrupted. Real data are read from the folder
PRUNEMODELS_DATA. Ratios are A / B: below 1, A is faster.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.suite import comparing, tables
from benchmarks.suite.origin import ROOT, origin
from benchmarks.suite.results import read_folder
from benchmarks.suite.running import Places, measure, run
from benchmarks.suite.studies import STUDIES
from benchmarks.suite.study import Study
from formulations.errors import InvalidInputError, PruneModelsError

RESULTS = ROOT / "benchmarks" / "results"
"""Results in the repository."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--only", nargs="+", metavar="NAME", help="these studies")
    made.add_argument("--quick", action="store_true", help="tiny instances, no data folder")
    made.add_argument("--scale", action="store_true", help="also the studies that take tens of minutes")
    made.add_argument("--again", action="store_true", help="also run complete studies")
    made.add_argument("--out", type=Path, help="folder of the results; default benchmarks/results, with --quick none is kept")
    made.add_argument("--work", type=Path, help="folder for the forests; default: a temporary one")
    made.add_argument("--compare", type=Path, metavar="FOLDER", help="earlier results")
    made.add_argument("--show", action="store_true", help="print the tables of existing results")
    made.add_argument("--list", action="store_true", help="name the studies")
    made.add_argument("--here", help=argparse.SUPPRESS)  # one study, measured in this process
    return made


def chosen(only: Sequence[str] | None, *, quick: bool = False, scale: bool = False) -> list[Study]:
    """The selected studies.

    Raises
    ------
    InvalidInputError
        for an unknown name, and a study that other options exclude.
    """
    if only is None:
        return [study for study in STUDIES.values() if not study.scale or (scale and not quick)]
    found = []
    for name in only:
        named = [study for study in STUDIES.values() if name in (study.name, study.name.split("-")[0])]
        if not named:
            raise InvalidInputError(f"--only: there is no study {name!r}; there are {', '.join(STUDIES)}")
        if any(study.scale for study in named) and (quick or not scale):
            raise InvalidInputError(f"--only: {name} takes tens of minutes; add --scale, without --quick")
        found += named
    return list(dict.fromkeys(found))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    args = parser().parse_args(arguments)
    try:
        with ExitStack() as stack:
            return _main(args, stack)
    except KeyboardInterrupt:
        if args.here is None:
            print("\nstopped; complete studies are kept, and the same command goes on from there", file=sys.stderr)
        return 130
    except PruneModelsError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2


def _main(args: argparse.Namespace, stack: ExitStack) -> int:
    if args.list:
        print("\n".join(f"{study.name:28s}{study.title}{'; only with --scale' * study.scale}" for study in STUDIES.values()))
        return 0
    if args.compare is not None:
        return _compare(args.compare, args.out or RESULTS)
    work = _folder(args.work, stack)
    out = _folder(args.out, stack) if args.quick else args.out or RESULTS
    if args.here is not None:
        measure(STUDIES[args.here], Places(out, work))
        return 0
    wrong: list[str] = []
    studies = chosen(args.only, quick=args.quick, scale=args.scale or args.show)
    if not args.show:
        print(origin().line(), file=sys.stderr)
        wrong = run(studies, Places(out, work), quick=args.quick, again=args.again)
    there = read_folder(out)
    print(tables.report({study.name: there[study.name] for study in studies if study.name in there}))
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


def _compare(before: Path, now: Path) -> int:
    """Print the comparison; returns 1 if something is slower."""
    sets = [read_folder(folder) for folder in (before, now)]
    for folder, results in zip((before, now), sets, strict=True):
        if not results:
            raise InvalidInputError(f"--compare: there are no results in {folder}; name a folder of JSON files of this suite")
    print(comparing.report(*sets))
    return 1 if comparing.compare(*sets).slower else 0


def _folder(given: Path | None, stack: ExitStack) -> Path:
    """The folder, created if necessary; a temporary one if none is given."""
    if given is None:
        return Path(stack.enter_context(tempfile.TemporaryDirectory()))
    try:
        given.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"the folder {given} cannot be made: {error.strerror or error}; name another") from error
    return given
