"""The commands by task, each with a line of help and an example: what ``prunemodels`` and ``prunemodels --help`` show."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

from prunemodels.command_line.terminal import styled

EXAMPLE_INPUTS = "forest.skops --data valid.csv --label y --costs prices.csv"

WIDTH = 80


@dataclass(frozen=True)
class Command:
    """A command: one line of help, and an example without the program's name."""

    help: str
    example: str


TASKS: dict[str, dict[str, Command]] = {
    "See what it does": {
        "demo": Command("train, prune and evaluate a forest, on data that needs no network", "demo"),
    },
    "Prune a forest": {
        "evaluate": Command(
            "what a forest or boosted model costs and how it errs on labelled examples",
            "evaluate model.json --data test.csv --label y --costs prices.csv",
        ),
        "prune": Command(
            "prune a forest or boosted model to a budget or for a price of cost, and save it",
            f"prune {EXAMPLE_INPUTS} --budget 24 --held-out test.csv --out cheap.skops",
        ),
        "path": Command(
            "every optimal pruning of a forest, as a table of cost and error", f"path {EXAMPLE_INPUTS} --out path.csv"
        ),
        "report": Command(
            "one HTML page on what pruning did, or a cascade does: cost, error, features, proof",
            f"report {EXAMPLE_INPUTS} --budget 24 --held-out test.csv --unit dollars --out report.html",
        ),
    },
    "Stop early where the answer is sure": {
        "exits": Command(
            "stop early where a pruned forest is sure: exits along a forest's optimal path",
            f"exits {EXAMPLE_INPUTS} --budget 24 --held-out test.csv --out exits.skops",
        ),
        "cascade": Command(
            "train models on nested sets of features, and ask for more only in doubt",
            "cascade --data train.csv --label y --costs prices.csv --budget 24 --held-out test.csv --out cascade.skops",
        ),
    },
    "Look behind the answer": {
        "check": Command(
            "verify a claim and show the evidence: total unimodularity, optimality, ...",
            f"check solution {EXAMPLE_INPUTS} --lam 0.01 --pruned cheap.skops",
        ),
        "compare": Command(
            "run several solvers on one problem: value, bound, time and memory of each",
            f"compare {EXAMPLE_INPUTS} --lam 0.01 --solvers min_cut,highs_ip3 --time-limit 60",
        ),
        "export": Command(
            "write the problem as a linear or integer program, for other solvers",
            f"export {EXAMPLE_INPUTS} --lam 0.01 --out problem.mps",
        ),
    },
    "Set up a service or the shell": {
        "warm-up": Command("compile ahead what a service compiles at its first prediction", "warm-up"),
        "completion": Command("print a script that completes commands and options", "completion bash"),
    },
}
"""All commands, in the order in which a newcomer meets them."""

COMMANDS = {name: command for task in TASKS.values() for name, command in task.items()}


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
    first = [
        ("prunemodels demo", "a forest at ever smaller budgets"),
        ("prunemodels demo --data heart", "the same at the prices of medical tests"),
    ]
    own = "\n".join(example_text(name) for name in ("prune", "report"))
    return "\n".join(
        [
            styled(f"prunemodels {version}: cheaper predictions from a random forest, by optimal pruning", "bold"),
            "",
            "Start with",
            *(f"  {command:31}{what}" for command, what in first),
            "",
            "Then prune a forest of your own, saved by pm.save_forest(forest, 'forest.skops')",
            own,
            "",
            "prunemodels --help lists all commands, prunemodels COMMAND --help their options.",
        ]
    )
