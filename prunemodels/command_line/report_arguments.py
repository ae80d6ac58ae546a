"""Arguments of the command ``report``."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable

from prunemodels.command_line.arguments import (
    BUDGET_METHODS,
    Result,
    add_common_options,
    add_inputs,
    confidence,
    nonnegative,
    seconds,
)
from prunemodels.command_line.tasks import WIDTH


def add_report(command: argparse.ArgumentParser, run: Callable[[argparse.Namespace], Result]) -> None:
    """``prunemodels report``: only --out is required here, because a cascade knows what else a page on a forest needs."""
    command.description = textwrap.fill(
        "Write one page on a pruned forest or boosted model, which needs --data, --costs, --label, --held-out and one of "
        "--budget, --lam and --pruned; or on a cascade, which needs nothing more. With --held-out and --label it shows which "
        "examples stop where; --weights is then a column of --held-out.",
        WIDTH,
        break_on_hyphens=False,
    )
    add_inputs(command, required=False, metavar="FOREST|CASCADE", also="what exits or cascade wrote, or", boosted=True)
    add = command.add_argument
    goal = command.add_mutually_exclusive_group()
    goal.add_argument(
        "--budget",
        type=nonnegative,
        metavar="B",
        help="prune to this mean cost of a prediction; for a cascade: choose the policy within it",
    )
    goal.add_argument(
        "--lam",
        type=nonnegative,
        metavar="L",
        help="prune where one unit of cost is worth this error; for a cascade: choose the policy",
    )
    goal.add_argument("--pruned", metavar="FILE", help="a forest that was pruned from FOREST, whoever pruned it")
    add("--method", choices=BUDGET_METHODS, help="search within the budget: path, best (default) or exact, as for prune")
    add("--time-limit", type=seconds, metavar="S", help="seconds for the search within the budget")
    add(
        "--held-out",
        metavar="FILE",
        help="labelled examples kept apart, a table like --data, on which the page's figures are measured",
    )
    add("--confidence", type=confidence, default=0.95, metavar="C", help="confidence of the page's intervals (default: 0.95)")
    add("--title", help="heading of the page")
    add("--unit", metavar="WORD", help="unit of the prices, e.g. dollars")
    add("--out", required=True, metavar="FILE.html", help="the page: complete, it loads nothing from elsewhere")
    add_common_options(command, run)
