"""The parser of the command line, made of `prunemodels.command_line.commands`; what help and the program's name alone show."""

from __future__ import annotations

import argparse
import re
import textwrap
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

from prunemodels.command_line.commands import COMMANDS, COMMON, TASKS, Command
from prunemodels.command_line.options import add_options
from prunemodels.command_line.process import MEANINGS
from prunemodels.command_line.terminal import styled

WIDTH = 80
"""Characters of a line of help."""


class Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong, and where the options are listed."""

    def error(self, message: str) -> NoReturn:
        """End with status 2."""
        said = re.sub(r"^argument (\S+)", r"\1", message)
        self.exit(2, f"{self.prog}: {said}; `{self.prog} --help` lists the options\n")


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    from prunemodels import __version__

    top = Parser(
        prog="prunemodels",
        usage="prunemodels COMMAND ...",
        description="Prune random forests exactly, so that error and prediction-time cost are jointly least.\n\n" + task_list(),
        epilog="exit status:\n" + "\n".join(f"  {status:9}{meaning}" for status, meaning in MEANINGS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"prunemodels {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", help=argparse.SUPPRESS, prog="prunemodels")
    for name, command in COMMANDS.items():
        _fill(
            commands.add_parser(
                name,
                help=command.help,
                description=_description(command),
                epilog=f"example:\n{example_text(name)}",
                formatter_class=argparse.RawDescriptionHelpFormatter,
            ),
            command,
        )
    return top


def _fill(target: argparse.ArgumentParser, command: Command) -> None:
    """Add a command's options, or its claims."""
    if command.claims:
        claims = target.add_subparsers(dest="claim", required=True, metavar="CLAIM")
        for name, claim in command.claims.items():
            _fill(claims.add_parser(name, help=claim.help), claim)
        return
    add_options(target, command.options)
    add_options(target, COMMON)
    target.set_defaults(run=partial(_run, command.run))


def _description(command: Command) -> str:
    """What a command's own help says first."""
    text = command.description or f"{command.help[0].upper()}{command.help[1:]}."
    return text if "\n" in text else textwrap.fill(text, WIDTH, break_on_hyphens=False)


def _run(place: str, args: argparse.Namespace) -> Any:
    """Import the function that runs a command, which help and usage errors need not wait for, and call it."""
    module, _, function = place.partition(":")
    return getattr(import_module(f"prunemodels.command_line.{module}"), function)(args)


def task_list() -> str:
    """All tasks with their commands and examples, for ``--help``."""
    parts = []
    for task, commands in TASKS.items():
        parts.append(styled(f"{task}:", "bold"))
        for name, command in commands.items():
            parts.append(textwrap.fill(command.help, WIDTH, initial_indent=f"  {name:11}", subsequent_indent=" " * 13))
            parts.append(styled(example_text(name, " " * 13), "faint"))
        parts.append("")
    return "\n".join(parts).rstrip()


def example_text(name: str, indent: str = "  ") -> str:
    """The example of a command, an option and its value on one line; a shell takes all of its lines as one."""
    lines = [indent + "prunemodels"]
    for words in re.split(" (?=--)", COMMANDS[name].example):
        if len(lines[-1]) + len(words) + 3 > WIDTH:
            lines.append(indent + " ")
        lines[-1] += f" {words}"
    return " \\\n".join(lines)


def greeting(version: str) -> str:
    """What ``prunemodels`` alone says: what it is for, and what to type next."""
    return "\n".join(
        [
            styled(f"prunemodels {version}: cheaper predictions from a random forest, by optimal pruning", "bold"),
            "",
            "Start with",
            f"  {'prunemodels demo':31}a forest at ever smaller budgets",
            f"  {'prunemodels demo --data heart':31}the same at the prices of medical tests",
            "",
            "Then train a forest on a table of your own, or save one by",
            "pm.save_forest(forest, 'forest.skops'), and prune it",
            *(example_text(name) for name in ("train", "prune", "report")),
            "",
            "prunemodels --help lists all commands, prunemodels COMMAND --help their options.",
        ]
    )
