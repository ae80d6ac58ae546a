"""``python -m benchmarks.fuzzing files|answers --seconds S --seed N``; ``make fuzz SECONDS=600`` runs both.

The status is 0 if nothing was found and 1 if something was.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one fuzzer and return its status."""
    top = argparse.ArgumentParser(prog="python -m benchmarks.fuzzing", description=__doc__)
    fuzzers = top.add_subparsers(dest="fuzzer", required=True)
    for name, about, run in (
        ("files", "damaged files against every reader, each in a child process with limits on memory and time", _run_files),
        ("answers", "random instances: every solver against enumeration in fractions", _run_answers),
    ):
        fuzzer = fuzzers.add_parser(name, help=about, description=about)
        fuzzer.add_argument("--seconds", type=float, default=60.0, metavar="S", help="stop after this long (default: 60)")
        fuzzer.add_argument("--seed", type=int, default=0, metavar="N", help="of all random choices (default: 0)")
        fuzzer.set_defaults(run=run)
    args = top.parse_args(argv)
    return int(args.run(args.seconds, args.seed))


def _run_files(seconds: float, seed: int) -> int:
    from benchmarks.fuzzing import files

    return files.run(seconds, seed)


def _run_answers(seconds: float, seed: int) -> int:
    from benchmarks.fuzzing import answers

    return answers.run(seconds, seed)


if __name__ == "__main__":
    sys.exit(main())
