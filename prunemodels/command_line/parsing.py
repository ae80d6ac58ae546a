"""The parser of the command line, made of `prunemodels.command_line.commands`; help, and what commands do with options.

Options are lines of text:

    # HEADING               the options below stand under this heading of the help
    --name                  an option without a value
    --name WORD:TYPE=VALUE  one with a value: what help calls it, its type (default: text), and its default
    --name a|b:choice=a     one with a choice of values
    --name WORD+:TYPE       one that may be given several times: the value is a list
    | --name ...            one of several that exclude each other; with |! one of them is required
    name WORD               an argument by its place

An exclamation mark behind WORD makes the option required. Two blanks or more separate an option from its help, which goes on in
indented lines.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from formulations.errors import InvalidInputError, PruneModelsError
from formulations.extras import package
from prunemodels.command_line.commands import COMMANDS, COMMON, TASKS, Command
from prunemodels.command_line.process import MEANINGS, SETTINGS, styled
from prunemodels.command_line.values import TYPES

LINE = re.compile(
    r"(?P<one>\|!? )?(?P<name>[\w-]+)(?: (?P<value>[^ :!=+]+)(?P<many>\+)?(?P<need>!)?(?::(?P<type>\w+))?(?:=(?P<default>\S+))?)?"
)
"""An option without its help."""


SEVERAL = "--budget B+"
"""How the options begin of a command that takes several budgets."""

NUMBER = re.compile(r"[\d.,]+(e[+-]?\d+)?", re.IGNORECASE)
"""What may be a number, right or wrong."""


class Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong, and where the options are listed."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, where ``--budget 3 6 12`` stands for ``--budget 3 --budget 6 --budget 12``."""
        return super().parse_args(_one_by_one(sys.argv[1:] if args is None else args), namespace)

    def error(self, message: str) -> NoReturn:
        """End with status 2."""
        said = re.sub(r"^argument (\S+)", r"\1", message)
        self.exit(2, f"{self.prog}: {said}; `{self.prog} --help` lists the options\n")


def _one_by_one(words: Sequence[str]) -> list[str]:
    """The words of a command line with the option before each of several budgets; a file after them is none of these."""
    found = list(words)
    if not words or SEVERAL not in COMMANDS.get(words[0], Command("")).options:
        return found
    for k in range(len(found) - 1, 1, -1):
        before = [word for word in found[:k] if not NUMBER.fullmatch(word)]
        if NUMBER.fullmatch(found[k]) and NUMBER.fullmatch(found[k - 1]) and before[-1] == "--budget":
            found.insert(k, "--budget")
    return found


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
        text = command.description or f"{command.help[0].upper()}{command.help[1:]}."
        target = commands.add_parser(
            name,
            help=command.help,
            description=text if "\n" in text else textwrap.fill(text, SETTINGS.help_width, break_on_hyphens=False),
            epilog=f"example:\n{example_text(name)}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        _fill(target, command)
    return top


def _fill(target: argparse.ArgumentParser, command: Command) -> None:
    """Add a command's options, or its claims."""
    if command.claims:
        claims = target.add_subparsers(dest="claim", required=True, metavar="CLAIM")
        for name, claim in command.claims.items():
            _fill(claims.add_parser(name, help=claim.help), claim)
        return
    defaults = add_options(target, command.options) | add_options(target, COMMON)
    target.set_defaults(run=partial(_run, command.run), defaults=defaults)


def _run(place: str, args: argparse.Namespace) -> Any:
    """Import the function that runs a command, which help and usage errors need not wait for, and call it."""
    module, _, function = place.partition(":")
    return getattr(import_module(f"prunemodels.command_line.{module}"), function)(args)


def add_options(parser: argparse.ArgumentParser, text: str) -> dict[str, Any]:
    """Add the options of a text to a parser, and return their defaults."""
    group: Any = parser
    exclusive: Any = None
    defaults = {}
    for line, about in _entries(text):
        if line.startswith("# "):
            group = parser.add_argument_group(line[2:])
            continue
        found = LINE.fullmatch(line)
        assert found is not None, line
        if not found["one"]:
            exclusive = None
        elif exclusive is None:
            exclusive = group.add_mutually_exclusive_group(required="!" in found["one"])
        added = (exclusive or group).add_argument(found["name"], help=about, **_settings(found))
        defaults[added.dest] = added.default
    return defaults


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Options and headings, each with its help."""
    for entry in re.split(r"\n(?=\S)", text.strip()) if text else ():
        line, _, about = entry.replace("\n", "  ", 1).partition("  ") if not entry.startswith("# ") else (entry, "", "")
        yield line.strip(), " ".join(about.split()).replace("%", "%%")


def _settings(found: re.Match[str]) -> dict[str, Any]:
    """What argparse needs beside the name."""
    if found["value"] is None:
        return {"action": "store_true"} if found["name"].startswith("-") else {}
    choice = found["type"] == "choice"
    read = TYPES[found["type"]] if found["type"] and not choice else str
    default = None if found["default"] is None else read(found["default"])
    given = {"type": read, "default": default} | ({"required": True} if found["need"] else {})
    given |= {"action": "append"} if found["many"] else {}
    return given | ({"choices": tuple(found["value"].split("|"))} if choice else {"metavar": found["value"]})


def task_list() -> str:
    """All tasks with their commands and examples, for ``--help``."""
    parts = []
    for task, commands in TASKS.items():
        parts.append(styled(f"{task}:", "bold"))
        for name, command in commands.items():
            parts.append(
                textwrap.fill(command.help, SETTINGS.help_width, initial_indent=f"  {name:11}", subsequent_indent=" " * 13)
            )
            parts.append(styled(example_text(name, " " * 13), "faint"))
        parts.append("")
    return "\n".join(parts).rstrip()


def example_text(name: str, indent: str = "  ") -> str:
    """The example of a command, an option and its value on one line; a shell takes all of its lines as one."""
    lines = [indent + "prunemodels"]
    for words in re.split(" (?=--)", COMMANDS[name].example):
        if len(lines[-1]) + len(words) + 3 > SETTINGS.help_width:
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


NAMED = re.compile(r"--|[A-Z|]+: ")
"""The beginning of a message that names its option."""


@contextmanager
def errors_naming(option: str) -> Iterator[None]:
    """Have the messages of errors in the block begin with the option that they are about, once."""
    try:
        yield
    except PruneModelsError as error:
        if NAMED.match(str(error)):
            raise
        raise type(error)(f"{option}: {error}") from error


def option_of(name: str) -> str:
    """``--held-out`` of ``held_out``."""
    return f"--{name.replace('_', '-')}"


def refuse(args: argparse.Namespace, names: str, why: str) -> None:
    """Refuse options that were given: the first of the names, and the reason with the remedy."""
    for name in names.split():
        if getattr(args, name) != args.defaults[name]:
            raise InvalidInputError(f"{option_of(name)} {why}")


def need(args: argparse.Namespace, names: str, why: str) -> None:
    """Refuse a command line without one of these options."""
    for name in names.split():
        if getattr(args, name) is None:
            raise InvalidInputError(f"{option_of(name)} {why}")


def typed(args: argparse.Namespace) -> str:
    """The command line as it was typed."""
    return shlex.join(["prunemodels", *(sys.argv[1:] if args.typed is None else args.typed)])


def agreed(args: argparse.Namespace, question: str) -> bool:
    """Whether the user answers a question with y; asked on a terminal alone, where nobody else reads what is written."""
    if args.quiet or args.json or sys.stdin is None or not sys.stdin.isatty() or sys.stderr is None or not sys.stderr.isatty():
        return False
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def again(args: argparse.Namespace, command: str, file: Any, drop: str = "", **changes: Any) -> str:
    """A complete command line on a file, with those options of this one that the other command has, but those of `drop`.

    `changes`: options by their names, with other values; True for one without a value.
    """
    there, given = options_of(command), dict[str, list[str]]()
    typed = [part for word in (sys.argv[1:] if args.typed is None else args.typed) for part in _split(word)]
    for word in typed:
        if word.startswith("--"):
            name = next((option for option in there if option == word or option.startswith(word)), None)
            given.setdefault(name or "", [])
            words = given[name or ""]
        elif given:
            words.append(word)
    kept = {option: words for option, words in given.items() if option in there and option[2:] not in drop.split()}
    kept |= {option_of(name): [] if value is True else [str(value)] for name, value in changes.items()}
    trusted = str(file).endswith(".joblib") or any(str(value).endswith(".joblib") for value in changes.values())
    if trusted and "--trust-pickle" in there:
        kept["--trust-pickle"] = []
    for option in ("--force", "--json", "--quiet"):
        kept.pop(option, None)
    parts = [str(file)] * (file is not None)
    for option, words in kept.items():
        several = [[word] for word in words] if there[option] and option != "--budget" else [words]
        parts += [part for some in several for part in (option, *some)]
    return shlex.join(["prunemodels", command, *parts])


def _split(word: str) -> list[str]:
    """An option and its value where they are one word, as in ``--budget=3``."""
    option, equals, value = word.partition("=")
    return [option, value] if equals and option.startswith("--") else [word]


def options_of(command: str) -> dict[str, bool]:
    """The options of a command, and whether each may be given several times."""
    found = (LINE.fullmatch(line) for line, _ in _entries(COMMANDS[command].options) if not line.startswith("# "))
    return {one["name"]: bool(one["many"]) for one in found if one is not None and one["name"].startswith("--")}


def shows_progress(args: argparse.Namespace) -> bool:
    """Whether progress bars are shown: on a terminal alone, and not with ``--quiet``."""
    return not args.quiet and sys.stderr is not None and sys.stderr.isatty()


def reserve(args: argparse.Namespace, name: str, *endings: str) -> list[Path]:
    """The file of an output option, reserved before any work; none without that option."""
    given = getattr(args, name)
    return [] if given is None else [args.outputs.reserve(given, option_of(name), endings=endings)]


def reserve_model(args: argparse.Namespace, file: str, endings: Sequence[str]) -> Path:
    """The file of a model, reserved before any work, which would be lost where what writes it is not installed."""
    place: Path = args.outputs.reserve(file, "--out", endings=endings)
    if place.suffix == ".skops":
        package("skops.io")
    return place


def reserve_pictures(args: argparse.Namespace) -> list[Path]:
    """The files of ``--picture``; none without that option."""
    if getattr(args, "picture", None) is None:
        return []
    package("matplotlib")
    from prunemodels.plots.picture import picture_files

    with errors_naming("--picture"):
        files = picture_files(args.picture)
    return [args.outputs.reserve(file, "--picture") for file in files]


def draw_pictures(args: argparse.Namespace, figure: Callable[[], Any]) -> None:
    """Draw what the function `figure` returns, if pictures are asked for."""
    for picture in args.pictures:
        from prunemodels.plots.picture import draw

        draw(figure(), args.outputs.aside(picture))  # a figure anew: its layout would settle a little more at each drawing
