"""``python -m benchmarks.fuzzing files|answers|limits|cascades --seconds S --cases K --seed N``.

``make fuzz SECONDS=600`` runs all. The status is 0 if nothing was found and 1 if something was.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module

ABOUT = {
    "files": "damaged files against every reader, each in a child process with limits on memory and time",
    "answers": "random instances: every solver against enumeration in fractions",
    "limits": "random instances with one to four limits of all kinds, against enumeration in fractions",
    "cascades": "random tables: what cascades that choose their features state, cost on demand, and store",
}


def main(argv: Sequence[str] | None = None) -> int:
    top = argparse.ArgumentParser(prog="python -m benchmarks.fuzzing", description=__doc__)
    fuzzers = top.add_subparsers(dest="fuzzer", required=True)
    for name, about in ABOUT.items():
        fuzzer = fuzzers.add_parser(name, help=about, description=about)
        fuzzer.add_argument("--seconds", type=float, metavar="S", help="stop after so long (default: 60, never with --cases)")
        fuzzer.add_argument("--cases", type=int, metavar="K", help="stop after so many (default: only by time)")
        fuzzer.add_argument("--seed", type=int, default=0, metavar="N", help="of all random choices (default: 0)")
        if name == "files":
            fuzzer.add_argument("--readers", default="", metavar="WORD", help="readers whose names begin so: boosted")
    args = top.parse_args(argv)
    seconds = args.seconds or (60.0 if args.cases is None else float("inf"))
    if args.fuzzer == "files":
        from benchmarks.fuzzing import files

        report = files.fuzz(seconds, args.seed, [name for name in files.READERS if name.startswith(args.readers)], args.cases)
        print(report)
        return int(bool(report.findings))
    findings = import_module(f"benchmarks.fuzzing.{args.fuzzer}").findings
    return try_seeds(findings, "cascades" if args.fuzzer == "cascades" else "instances", seconds, args.seed, args.cases)


def try_seeds(findings: Callable[[int], Iterable[object]], what: str, seconds: float, seed: int, cases: int | None = None) -> int:
    started, tried, found = time.perf_counter(), 0, 0
    while time.perf_counter() - started < seconds and (cases is None or tried < cases):
        for finding in findings(seed + tried):
            found += 1
            print(f"seed {seed + tried}: {finding}", flush=True)
        tried += 1
    print(f"{tried:,} {what} from seed {seed} on, {found:,} wrong answers")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
