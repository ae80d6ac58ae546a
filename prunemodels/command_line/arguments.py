"""Arguments that several commands share: those that define the instance, those of all commands, and the types of values."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Protocol

ERRORS = ("in-bag", "out-of-bag", "given", "blend")
NOT_WITH_UNDERSCORES = "a number is written without underscores"

BUDGET_METHODS = ("path", "best", "exact")

HEART = "heart"
"""The demo's data whose features have prices in dollars: `prunemodels.datasets.fetch_heart`."""

INPUTS = ("forest", "cascade", "pruned", "data", "costs", "train", "error_data", "held_out", "table", "certificate")
"""Arguments that name input files, which no command overwrites."""


class Result(Protocol):
    """What a command returns."""

    def text(self) -> str:
        """The text that a terminal shows."""
        ...

    def json(self) -> str:
        """One JSON object, for programs."""
        ...


def add_inputs(command: argparse.ArgumentParser, *, required: bool = True, metavar: str = "FOREST", also: str = "") -> None:
    """Add the arguments for the forest, the cost sample, the prices, and the data on which errors are measured.

    Parameters
    ----------
    required
        whether a cost sample and prices must be given.
    metavar, also
        how the argument is called, and what it may name instead of a forest.
    """
    add = command.add_argument
    add("forest", metavar=metavar, help=f"{also} a fitted scikit-learn forest: .skops, or .joblib with --trust-pickle".strip())
    add = command.add_argument_group("examples and prices").add_argument
    add(
        "--data",
        required=required,
        metavar="FILE",
        help="examples like those to be predicted (.csv, .csv.gz, .parquet): the cost sample",
    )
    add("--label", metavar="COLUMN", help="the label column of all data files; with it, the error on --data is reported")
    add("--weights", metavar="COLUMN", help="column of --data with each example's weight in the cost")
    add(
        "--costs",
        required=required,
        metavar="FILE|NUMBER",
        help="table with the columns feature,cost[,item,...], or one price for all",
    )
    add("--evaluation-cost", type=nonnegative, default=0.0, metavar="A", help="price of evaluating one split (default: 0)")
    add("--trust-pickle", action="store_true", help="load a joblib file, which runs any code in it; only from sources you trust")
    add = command.add_argument_group("errors that pruning minimises").add_argument
    add(
        "--errors",
        choices=ERRORS,
        default="in-bag",
        help="the examples on which the errors to be minimised are measured (default: in-bag)",
    )
    add("--train", metavar="FILE", help="the forest's training data, rows in their order, for in-bag, out-of-bag or blend")
    add("--error-data", metavar="FILE", help="labelled data for given or blend")
    add("--given-share", type=share, default=0.5, metavar="S", help="part of --error-data in a blend with in-bag (default: 0.5)")


def add_common_options(command: argparse.ArgumentParser, run: Callable[[argparse.Namespace], Result]) -> None:
    """Add the options that every command has, and set the function that it runs."""
    command.add_argument("--force", action="store_true", help="replace output files that exist")
    command.add_argument("--json", action="store_true", help="print the summary as JSON, and nothing else")
    command.add_argument("--quiet", action="store_true", help="no progress on stderr")
    command.set_defaults(run=run)


def nonnegative(text: str) -> float:
    """A finite number >= 0."""
    number = _number(text)
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a price or budget; give a finite number >= 0")
    return number


def seconds(text: str) -> float:
    """A number of seconds >= 0, or ``inf``."""
    number = _number(text)
    if not number >= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time; give seconds >= 0")
    return number


def names(text: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def amounts(text: str) -> list[float]:
    """Numbers >= 0 between commas, at least one."""
    found = [nonnegative(part) for part in names(text)]
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} has no number; give one, or several between commas")
    return found


def share(text: str) -> float:
    """A number from 0 to 1."""
    number = _number(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share; give a number from 0 to 1")
    return number


def confidence(text: str) -> float:
    """A number between 0 and 1, both excluded."""
    number = _number(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a confidence level; give a number between 0 and 1, such as 0.95")
    return number


def positive(text: str) -> int:
    """An integer >= 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a count; give a whole number >= 1")
    return int(text)


def _number(text: str) -> float:
    if "_" in text:  # Python reads 1_0 as 10
        raise argparse.ArgumentTypeError(f"{text!r}: {NOT_WITH_UNDERSCORES}")
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
