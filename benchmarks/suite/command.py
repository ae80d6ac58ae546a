"""All comparisons of engines with what they replace, in one command.

    python -m benchmarks                        all studies on real data; an hour or more
    python -m benchmarks --quick                the same on data that scikit-learn ships, in seconds; saves nothing without --out
    python -m benchmarks --only cuts path-miniboone    some of them: a name, or the part of a name before the dash
    python -m benchmarks --compare FOLDER       the results in --out against those in FOLDER; status 1 if something is slower
    python -m benchmarks --show                 print existing results, run nothing
    python -m benchmarks --list                 the studies

Each study runs in a process of its own and writes one JSON file to --out. A study that is complete for this code, machine and
versions is only run again with --again. After Ctrl-C, the same command continues with the study that was interrupted. Real data
are read from the folder PRUNEMODELS_DATA. Ratios are A / B: below 1, A is faster.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.instances import train
from benchmarks.measuring import apart
from benchmarks.suite import tables
from benchmarks.suite.exact import measure_checks, measure_cuts, measure_hard, measure_path, measure_sizes
from benchmarks.suite.programs import DECOMPOSED, measure_dantzig_wolfe, measure_primal_dual
from benchmarks.suite.results import BUSY, ROOT, Origin, Result, origin, read_folder, write_result
from benchmarks.suite.study import FORESTS, Setting, Study, forest_file
from formulations.errors import BrokenFileError, InvalidInputError, PruneModelsError
from prunemodels.data_files import FOLDER_VARIABLE, find_dataset
from prunemodels.files.outputs import OutputFiles

ON_FORESTS = {
    "cuts": ("one lambda against the raw cut", measure_cuts),
    "hard": ("lambdas beside long edges of the hull, and rounds without a cut", measure_hard),
    "sizes": ("the two exact engines by size, and what is predicted of them", measure_sizes),
    "path": ("all of the path against cuts", measure_path),
    "checks": ("checks against the solves that they check", measure_checks),
}
"""Studies on both of BP16's forests."""

_ALL = (
    *(
        Study(f"{name}-{forest}", title, partial(measure, data), (data,))
        for name, (title, measure) in ON_FORESTS.items()
        for forest, data in (("miniboone", "miniboone"), ("covertype", "covtype426k"))
    ),
    Study("decomposition-primal-dual", "Algorithm 1 of BP16", measure_primal_dual, ("miniboone",)),
    Study(
        "decomposition-dantzig-wolfe",
        "Dantzig-Wolfe decomposition",
        measure_dantzig_wolfe,
        tuple(forest.data for forest in DECOMPOSED),
    ),
)

STUDIES = {study.name: study for study in _ALL}  # a new one is a function and a line here
RESULTS = ROOT / "benchmarks" / "results"  # results in the repository
FULL, QUICK = (3, 60.0), (3, 2.0)  # repeats and seconds, as of `benchmarks.suite.study.alternate`
RUNNING = Path("/proc/loadavg")  # its fourth entry begins with the number of processes that run now


def parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__, formatter_class=raw)
    made.add_argument("--only", nargs="+", metavar="NAME", help="these studies")
    made.add_argument("--quick", action="store_true", help="tiny instances, no data folder")
    made.add_argument("--again", action="store_true", help="also run complete studies")
    made.add_argument("--out", type=Path, help="folder of the results; default benchmarks/results, with --quick none is kept")
    made.add_argument("--work", type=Path, help="folder for the forests; default: a temporary one")
    made.add_argument("--compare", type=Path, metavar="FOLDER", help="earlier results")
    made.add_argument("--show", action="store_true", help="print the tables of existing results")
    made.add_argument("--list", action="store_true", help="name the studies")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    try:
        with ExitStack() as stack:
            return _main(args, stack)
    except KeyboardInterrupt:
        print("\nstopped; complete studies are kept, and the same command goes on from there", file=sys.stderr)
        return 130
    except PruneModelsError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2


def _main(args: argparse.Namespace, stack: ExitStack) -> int:
    if args.list:
        print("\n".join(f"{study.name:28s}{study.title}" for study in STUDIES.values()))
        return 0
    if args.compare is not None:
        return _compare(args.compare, args.out or RESULTS)
    studies = chosen(args.only)
    work = _folder(args.work, stack)
    out = _folder(args.out, stack) if args.quick else args.out or RESULTS
    wrong = [] if args.show else run(studies, out, work, quick=args.quick, again=args.again)
    there = read_folder(out)
    print(tables.report({study.name: there[study.name] for study in studies if study.name in there}))
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


def chosen(only: Sequence[str] | None) -> list[Study]:
    if only is None:
        return list(STUDIES.values())
    found = []
    for name in only:
        named = [study for study in STUDIES.values() if name in (study.name, study.name.split("-")[0])]
        if not named:
            raise InvalidInputError(f"--only: there is no study {name!r}; there are {', '.join(STUDIES)}")
        found += named
    return list(dict.fromkeys(found))


def _compare(before: Path, now: Path) -> int:
    """Print the comparison; returns 1 if something is slower."""
    sets = [read_folder(folder) for folder in (before, now)]
    for folder, results in zip((before, now), sets, strict=True):
        if not results:
            raise InvalidInputError(f"--compare: there are no results in {folder}; name a folder of JSON files of this suite")
    print(tables.comparison(*sets))
    return int(any(change.verdict == "slower" for change in tables.changes_of(*sets)))


def _folder(given: Path | None, stack: ExitStack) -> Path:
    """The folder, created if necessary; a temporary one if none is given."""
    if given is None:
        return Path(stack.enter_context(tempfile.TemporaryDirectory()))
    given.mkdir(parents=True, exist_ok=True)
    return given


def run(studies: Sequence[Study], out: Path, work: Path, *, quick: bool = False, again: bool = False) -> list[str]:
    """Run all studies; returns a line for each that failed or was left out. After a failure the other studies still run. Quick
    studies run in this process.
    """
    current, wrong = origin(), []
    _say(current.line())
    for study in studies:
        lacking = "" if quick else missing_data(study)
        if lacking:
            wrong.append(f"{study.name} is left out: {lacking}")
        elif not again and complete(study, out, current, quick=quick):
            _say(f"{study.name} is complete for this code, machine and versions; --again measures it again")
        else:
            _say(f"{study.name}: {study.title}")
            wrong += _one(study, out, work, quick=quick)
    return wrong


def _one(study: Study, out: Path, work: Path, *, quick: bool) -> list[str]:
    try:
        if quick:
            measure(study.name, out, work, quick=True)
        else:
            for data in study.data:
                _grow(data, work)
            apart(measure, study.name, out, work)
    except KeyboardInterrupt:  # InterruptedSolveError is a PruneModelsError too
        raise
    except (PruneModelsError, BrokenProcessPool) as error:
        return [f"{study.name} failed: {error}"]
    return []


def _grow(data: str, work: Path) -> None:
    """Grow BP16's forest on a data set that has one, unless it is there; after a failure no partial file remains."""
    file = forest_file(data, work)
    if data in FORESTS and not file.exists():
        _say(f"growing the forest on {FORESTS[data].title}")
        with OutputFiles() as outputs:
            apart(train, data, 0, outputs.aside(file))


def measure(name: str, out: Path, work: Path, *, quick: bool = False) -> Path:
    study, current, load = STUDIES[name], origin(), busy()
    if load > BUSY:
        _say(f"{load:.1f} other processes are running: quote ratios, not seconds")
    begun = time.perf_counter()
    rows, figures = study.measure(Setting(work, quick, *(QUICK if quick else FULL)))
    result = Result(
        study=name,
        title=study.title,
        quick=quick,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        command=f"python -m benchmarks --only {name}{' --quick' * quick}",
        origin=current,
        load=load,
        seconds=time.perf_counter() - begun,
        rows=rows,
        figures=figures,
    )
    return write_result(result, out)


def complete(study: Study, out: Path, current: Origin, *, quick: bool) -> bool:
    """Whether there is a result of the study for the same code, machine and versions."""
    file = out / f"{study.name}.json"
    if not file.exists():
        return False
    content = json.loads(file.read_text())  # of other code it may have another form
    return content["quick"] == quick and Origin(**content["origin"]).same(current)


def missing_data(study: Study) -> str:
    """A message that names the study's absent data and the variable of the data folder; empty if none is absent."""
    absent = []
    for data in study.data:
        try:
            find_dataset(data)
        except BrokenFileError:
            absent.append(data)
    if not absent:
        return ""
    where = f"in the folder that the environment variable {FOLDER_VARIABLE} names"
    return f"there is no {', '.join(absent)} {where}; --quick needs no data"


def busy() -> float:
    """Mean number of other running processes over half a second; -1 if the system does not report it. The load average would
    still include the previous study.
    """
    counts = []
    for _ in range(10):
        try:
            counts.append(int(RUNNING.read_text().split()[3].split("/")[0]) - 1)  # without this process
        except (OSError, IndexError, ValueError):
            return -1.0
        time.sleep(0.05)
    return sum(counts) / len(counts)


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)
