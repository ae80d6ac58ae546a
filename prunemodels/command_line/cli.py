"""The command line: parse, run one of `prunemodels.command_line.commands`, write its files, and show its summary."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from prunemodels.command_line.commands import INPUTS
from prunemodels.command_line.parsing import greeting, parser, reserve_pictures
from prunemodels.command_line.process import DONE, Watch, Where, ending_signals, prepare_streams, show, status_of


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Without `argv` its words are those that this process was started with; then its streams and signals are prepared, too.
    """
    if argv is None:
        prepare_streams()
    if not (sys.argv[1:] if argv is None else argv):
        from prunemodels import __version__

        return show(greeting(__version__)) or DONE
    try:
        args = parser().parse_args(argv)
        args.typed = argv
    except SystemExit as stop:  # argparse has printed the reason
        return show("") or int(stop.code or 0)
    signals: AbstractContextManager[list[int]] = ending_signals() if argv is None else nullcontext([])
    with signals as arrived:
        return status_of(lambda: _run(args), args.command, arrived)


def _run(args: argparse.Namespace) -> int:
    """Run a command, write its files, and show its summary."""
    from prunemodels.files.outputs import OutputFiles

    start = time.perf_counter()
    args.watch = Watch(args.command, _where(args))
    args.told = []  # what was taken for numbers in tables, by those that read them
    outputs = OutputFiles(force=args.force, inputs=_inputs(args))
    try:
        with args.watch, outputs as args.outputs:
            args.pictures = reserve_pictures(args)
            summary = args.run(args)
        summary = replace(summary, written=[*summary.written, *args.pictures], read=args.told)
        seconds = time.perf_counter() - start
        not_shown = show(summary.json(seconds) if args.json else summary.text(seconds))
    except KeyboardInterrupt as stop:
        stop.files_written = outputs.committed  # type: ignore[attr-defined]
        raise
    return not_shown or int(summary.exit_status)


def _where(args: argparse.Namespace) -> Where | None:
    """Where progress is told: by a program of its own alone, not where Python called `main`."""
    if args.quiet or args.typed is not None or sys.stderr is None:
        return None
    return "terminal" if sys.stderr.isatty() else "pipe"


def _inputs(args: argparse.Namespace) -> dict[str, str | Path]:
    """The files that the arguments name as inputs, by the arguments."""
    files: dict[str, str | Path] = {}
    for name in INPUTS:
        if getattr(args, name, None) is not None:
            files[name.upper() if name in ("forest", "cascade") else f"--{name.replace('_', '-')}"] = getattr(args, name)
    if args.command == "demo" and args.data not in (None, "heart"):
        from prunemodels.data_files import find_dataset

        files["--data"] = find_dataset(args.data)
    return files
