"""Arguments of the commands ``exits`` and ``cascade``."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable

from prunemodels.command_line.arguments import Result, add_common_options, add_inputs, nonnegative, positive
from prunemodels.command_line.tasks import WIDTH

Run = Callable[[argparse.Namespace], Result]


def add_exits(command: argparse.ArgumentParser, run: Run) -> None:
    """``prunemodels exits``."""
    command.description = textwrap.fill(
        "Give a forest exits, without training it again. --data are labelled examples that the forest was not trained on: "
        "prunings are computed from them, and when to stop is learned from them.",
        WIDTH,
        break_on_hyphens=False,
    )
    add_inputs(command)
    command.add_argument(
        "--stages", type=positive, default=20, metavar="S", help="number of prunings that become stages (default: 20)"
    )
    _add_outputs(command, run)


def add_cascade(command: argparse.ArgumentParser, run: Run) -> None:
    """``prunemodels cascade``."""
    add = command.add_argument
    add(
        "--data",
        required=True,
        metavar="FILE",
        help="labelled examples, to train the models and to learn when to stop (.csv, .csv.gz, .parquet)",
    )
    add("--label", required=True, metavar="COLUMN", help="the label column of all data files")
    add("--weights", metavar="COLUMN", help="column of --data with each example's weight")
    add(
        "--costs",
        required=True,
        metavar="FILE|NUMBER",
        help="table with the columns feature,cost[,item,...], or one price for all",
    )
    add("--regression", action="store_true", help="predict the labels as numbers, even if all of them are integers")
    add("--stages", type=positive, default=16, metavar="S", help="the largest number of sets that become stages (default: 16)")
    _add_outputs(command, run)


def _add_outputs(command: argparse.ArgumentParser, run: Run) -> None:
    add = command.add_argument
    add(
        "--budget",
        type=nonnegative,
        metavar="B",
        help="largest mean cost of a prediction (default: the cheapest policy that held-out rows cannot tell from the best)",
    )
    add(
        "--held-out",
        metavar="FILE",
        help="labelled examples kept apart, a table like --data: cost, error, and which examples stop where",
    )
    add("--out", required=True, metavar="FILE", help="the cascade: .skops or .joblib, for prunemodels.load_cascade")
    add(
        "--picture",
        metavar="STEM",
        help="draw which examples stop where as STEM.png and STEM.svg, or the one whose ending is given",
    )
    add_common_options(command, run)
