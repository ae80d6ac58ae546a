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


BOOSTED = "; or a boosted model: these, XGBoost's .json or .ubj, LightGBM's .txt, CatBoost's .json"


def add_inputs(
    command: argparse.ArgumentParser, *, required: bool = True, metavar: str = "FOREST", also: str = "", boosted: bool = False
) -> None:
    """Add the arguments for the forest, the cost sample, the prices, and the data on which errors are measured.

    Parameters
    ----------
    required
        whether a cost sample and prices must be given.
    metavar, also
        how the argument is called, and what it may name instead of a forest.
    boosted
        whether it may name a boosted model.
    """
    _add_model(command, metavar, also, boosted=boosted)
    add = command.add_argument_group("examples and prices").add_argument
    add(
        "--data",
        required=required,
        metavar="FILE",
        help="examples like those to be predicted (.csv, .csv.gz, .parquet): the cost sample",
    )
    needed = "; a boosted model needs it" if boosted else ""
    add("--label", metavar="COLUMN", help=f"the label column of all data files; with it, the error on --data is reported{needed}")
    _add_prices(add, required=required)
    about = "errors that pruning minimises" + (" (a boosted model: its own loss on --data)" if boosted else "")
    add = command.add_argument_group(about).add_argument
    add(
        "--errors",
        choices=ERRORS,
        default="in-bag",
        help="the examples on which the errors to be minimised are measured (default: in-bag)",
    )
    add("--train", metavar="FILE", help="the forest's training data, rows in their order, for in-bag, out-of-bag or blend")
    add("--error-data", metavar="FILE", help="labelled data for given or blend")
    add("--given-share", type=share, default=0.5, metavar="S", help="part of --error-data in a blend with in-bag (default: 0.5)")


def add_evaluated(command: argparse.ArgumentParser) -> None:
    """Add the arguments for a model, the labelled examples that it is judged on, and the prices."""
    _add_model(command, "FOREST", "", boosted=True)
    add = command.add_argument_group("examples and prices").add_argument
    add("--data", required=True, metavar="FILE", help="labelled examples, preferably kept apart (.csv, .csv.gz, .parquet)")
    add("--label", required=True, metavar="COLUMN", help="the label column of --data")
    _add_prices(add, required=True)


def _add_model(command: argparse.ArgumentParser, metavar: str, also: str, *, boosted: bool) -> None:
    """The argument that names the model."""
    about = f"{also} a fitted scikit-learn forest: .skops, or .joblib with --trust-pickle{BOOSTED * boosted}"
    command.add_argument("forest", metavar=metavar, help=about.strip())


def _add_prices(add: Callable[..., argparse.Action], *, required: bool) -> None:
    """The options for weights and prices, and for trust in a joblib file."""
    add("--weights", metavar="COLUMN", help="column of --data with each example's weight in the cost")
    add(
        "--costs",
        required=required,
        metavar="FILE|NUMBER",
        help="table with the columns feature,cost[,item,...], or one price for all",
    )
    add("--evaluation-cost", type=nonnegative, default=0.0, metavar="A", help="price of evaluating one split (default: 0)")
    add("--trust-pickle", action="store_true", help="load a joblib file, which runs any code in it; only from sources you trust")


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
