"""The command line; `prunemodels.command_line.tasks` lists the commands.

This module only parses. What a command needs is imported when the command runs, so that help and usage errors appear at once.
`prunemodels.command_line.statuses` lists the exit statuses.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from prunemodels.command_line.arguments import (
    BUDGET_METHODS,
    HEART,
    INPUTS,
    Result,
    add_common_options,
    add_evaluated,
    add_inputs,
    amounts,
    confidence,
    names,
    nonnegative,
    positive,
    seconds,
)
from prunemodels.command_line.exit_arguments import add_cascade, add_exits
from prunemodels.command_line.process import ending_signals, prepare_streams, show, status_of
from prunemodels.command_line.report_arguments import add_report
from prunemodels.command_line.statuses import DONE, epilog
from prunemodels.command_line.tasks import COMMANDS, example_text, greeting, task_list

COMPARE_SECONDS = 30.0
"""Default time limit of each solver in ``compare``."""

FORMULATIONS = ("IP0", "IP1", "IP2", "IP3", "LP1", "closure")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    argv
        the words of the command. None: those that this process was started with; then its streams and signals are prepared, too.
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

    outputs = OutputFiles(force=args.force, inputs=_inputs(args))
    try:
        with outputs as args.outputs:
            result: Result = args.run(args)
        not_shown = show(result.json() if args.json else result.text())
    except KeyboardInterrupt as stop:
        stop.files_written = outputs.committed  # type: ignore[attr-defined]
        raise
    return not_shown or int(getattr(result, "exit_status", DONE))


def _inputs(args: argparse.Namespace) -> dict[str, str | Path]:
    """The files that the arguments name as inputs, by the arguments."""
    files: dict[str, str | Path] = {}
    for name in INPUTS:
        if getattr(args, name, None) is not None:
            files[name.upper() if name in ("forest", "cascade") else f"--{name.replace('_', '-')}"] = getattr(args, name)
    if args.command == "demo" and args.data not in (None, HEART):
        from prunemodels.data_files import find_dataset

        files["--data"] = find_dataset(args.data)
    return files


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    from prunemodels import __version__

    top = argparse.ArgumentParser(
        prog="prunemodels",
        usage="prunemodels COMMAND ...",
        description="Prune random forests exactly, so that error and prediction-time cost are jointly least.\n\n" + task_list(),
        epilog=epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"prunemodels {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", help=argparse.SUPPRESS, prog="prunemodels")
    adding: dict[str, Callable[[argparse.ArgumentParser], None]] = {
        "demo": _add_demo,
        "prune": _add_prune,
        "evaluate": _add_evaluate,
        "path": _add_path,
        "report": lambda command: add_report(command, _run_report),
        "exits": lambda command: add_exits(command, _run_exits),
        "cascade": lambda command: add_cascade(command, _run_cascade),
        "check": _add_check,
        "compare": _add_compare,
        "export": _add_export,
        "warm-up": _add_warm_up,
        "completion": _add_completion,
    }
    for name, about in COMMANDS.items():
        adding[name](
            commands.add_parser(
                name,
                help=about.help,
                description=f"{about.help[0].upper()}{about.help[1:]}.",
                epilog=f"example:\n{example_text(name)}",
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
        )
    return top


def _add_path(command: argparse.ArgumentParser) -> None:
    add_inputs(command)
    add = command.add_argument_group("output").add_argument
    add("--out", required=True, metavar="FILE.csv", help="the table: lambda, cost, error and splits of each breakpoint")
    add("--held-out", metavar="FILE", help="examples kept apart, a table like --data: the screen shows cost and error on them")
    _add_outputs(command, add, _run_path)


def _add_completion(command: argparse.ArgumentParser) -> None:
    from prunemodels.command_line.completion import SHELLS

    command.description = "Print a script that completes commands and options. Set it up once with\n" + "\n".join(
        f"  {line}" for line in SHELLS.values()
    )
    command.add_argument("shell", choices=tuple(SHELLS), help="the shell")
    add_common_options(command, _run_completion)


def _add_warm_up(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Compile the kernels of predictions on demand and of evaluation, and store them: in the folder of NUMBA_CACHE_DIR,\n"
        "else beside the package, else in the home. A service that finds them there starts without compiling."
    )
    command.add_argument("--all", action="store_true", help="also what pruning uses")
    add_common_options(command, _run_warm_up)


def _add_prune(command: argparse.ArgumentParser) -> None:
    add_inputs(command, boosted=True)
    goals = command.add_argument_group("goal: one of --budget and --lam")
    goal = goals.add_mutually_exclusive_group(required=True)
    goal.add_argument(
        "--budget", type=nonnegative, metavar="B", help="largest mean cost of a prediction, in the unit of the prices"
    )
    goal.add_argument("--lam", type=nonnegative, metavar="L", help="how much error one unit of cost is worth")
    add = goals.add_argument
    add(
        "--method",
        choices=BUDGET_METHODS,
        help="search within the budget: path (the best breakpoint, at once), best (default; improves it, in seconds), "
        "exact (until proven)",
    )
    add(
        "--time-limit",
        type=seconds,
        metavar="S",
        help="seconds for the search within the budget (default: 10 for best, 300 for exact)",
    )
    add(
        "--confidence",
        type=confidence,
        metavar="C",
        help="meet the budget in the population with this confidence, e.g. 0.95: one half of --data chooses the pruning, "
        "the other certifies it",
    )
    add = command.add_argument_group("output").add_argument
    add("--held-out", metavar="FILE", help="examples kept apart, a table like --data: report the cost there with its interval")
    add("--drop-unused", action="store_true", help="the model in --out is given only the columns that it reads")
    add("--mixture", action="store_true", help="also write the relaxation's two forests beside --out, and how often to use each")
    add(
        "--out",
        required=True,
        metavar="FILE",
        help="the pruned forest: .skops or .joblib; a boosted model: its library's format too",
    )
    add("--path-csv", metavar="FILE.csv", help="also write the whole path")
    _add_outputs(command, add, _run_prune)


def _add_evaluate(command: argparse.ArgumentParser) -> None:
    add_evaluated(command)
    add_common_options(command, _run_evaluate)


def _add_outputs(
    command: argparse.ArgumentParser, add: Callable[..., argparse.Action], run: Callable[[argparse.Namespace], Result]
) -> None:
    add("--picture", metavar="STEM", help="draw the trade-off as STEM.png and STEM.svg, or the one whose ending is given")
    add_common_options(command, run)


def _add_demo(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add(
        "--data",
        metavar="FILE|NAME",
        help="heart (medical tests at their prices), miniboone, covtype426k, or a labelled table; "
        "default: scikit-learn's breast cancer data",
    )
    add("--label", metavar="COLUMN", help="label column of --data (default: the last)")
    add("--seeds", type=positive, metavar="N", help="grow N forests (default: 5 with --data, else 1)")
    add("--resplit", action="store_true", help="split the data anew for every forest, not once for all")
    add("--trees", type=positive, default=40, metavar="T", help="trees of the forest (default: 40)")
    add(
        "--out",
        default="demo-output",
        metavar="DIR",
        help="folder for pictures, tables and the pruned forest (default: demo-output)",
    )
    add_common_options(command, _run_demo)


def _add_compare(command: argparse.ArgumentParser) -> None:
    add_inputs(command)
    add = command.add_argument
    goal = command.add_mutually_exclusive_group(required=True)
    goal.add_argument("--lam", type=nonnegative, metavar="L", help="how much error one unit of cost is worth")
    goal.add_argument(
        "--budget", type=amounts, metavar="B,...", help="largest mean cost of a prediction; several budgets between commas"
    )
    add("--solvers", type=names, metavar="A,B,...", help="which solvers, in that order (default: all)")
    add(
        "--time-limit",
        type=seconds,
        default=COMPARE_SECONDS,
        metavar="S",
        help=f"seconds for each solver (default: {COMPARE_SECONDS:g}; inf lifts the limit)",
    )
    add("--out", metavar="FILE.csv", help="also write the table, with all digits")
    add_common_options(command, _run_compare)


def _add_export(command: argparse.ArgumentParser) -> None:
    add_inputs(command)
    add = command.add_argument
    goal = command.add_mutually_exclusive_group()
    goal.add_argument(
        "--lam", type=nonnegative, metavar="L", help="how much error one unit of cost is worth; for IP1, IP2, IP3 and closure"
    )
    goal.add_argument("--budget", type=nonnegative, metavar="B", help="largest mean cost of a prediction; for LP1")
    add(
        "--formulation",
        choices=FORMULATIONS,
        help="the papers' name of the formulation (default: IP3 with --lam, LP1 with --budget)",
    )
    add("--relax", action="store_true", help="the linear relaxation, not the integer program")
    add("--merge", action="store_true", help="one variable for purchases with the same usage: smaller, same optimum; not for IP0")
    add("--out", required=True, metavar="FILE", help="the program: .lp or .mps, or either with .gz")
    add_common_options(command, _run_export)


def _add_check(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Verify a claim and show the evidence. `prunemodels --help` lists the exit statuses.\n"
        "In the place of a forest the word 'papers' stands for the two trees of the papers' Figure 1."
    )
    claims = command.add_subparsers(dest="claim", required=True, metavar="CLAIM")
    tu = claims.add_parser("tu", help="a matrix is totally unimodular")
    add_inputs(tu, required=False, metavar="MATRIX|FOREST|papers", also="a matrix: .npy, .npz (scipy), .mtx, .csv, .mps, .lp; or")
    tu.add_argument(
        "--formulation",
        choices=FORMULATIONS,
        help="the formulation whose matrix is checked, for a forest or the papers' trees (default: IP3)",
    )
    tu.add_argument("--merge", action="store_true", help="one variable for purchases with the same usage")
    tu.add_argument("--method", metavar="NAME", help="one method only (default: the fastest that decides)")
    tu.add_argument("--certificate", metavar="FILE.npz", help="only check this tree and its paths, whoever found them")
    tu.add_argument("--out", metavar="FILE.npz", help="write the tree and its paths, if that is the certificate")
    tu.add_argument(
        "--picture",
        metavar="STEM",
        help="draw the pieces of the matrix as STEM.png and STEM.svg, or the one whose ending is given",
    )
    add_common_options(tu, _run_check)
    counterexample = claims.add_parser(
        "counterexample", help="the naive formulation has the fractional vertex that the papers give"
    )
    add_common_options(counterexample, _run_check)
    figure = claims.add_parser(
        "figure", help="the papers' trees have the printed matrices, and row operations turn one into the other"
    )
    add_common_options(figure, _run_check)
    solution = claims.add_parser("solution", help="a pruned forest is optimal for a lambda")
    add_inputs(solution, required=False, metavar="FOREST|papers")
    solution.add_argument("--lam", type=nonnegative, required=True, metavar="L", help="how much error one unit of cost is worth")
    solution.add_argument("--pruned", metavar="FILE", help="the pruned forest, whoever pruned it (default: what --solver finds)")
    solution.add_argument(
        "--solver", default="min_cut", metavar="NAME", help="the solver whose answer and bound are checked (default: min_cut)"
    )
    add_common_options(solution, _run_check)
    path = claims.add_parser("path", help="every pruning of a forest's path is optimal, and they are nested")
    add_inputs(path, required=False, metavar="FOREST|papers")
    path.add_argument("--table", metavar="FILE.csv", help="also compare this table, as prunemodels path writes it, with the path")
    add_common_options(path, _run_check)
    exits = claims.add_parser("exits", help="every policy of a saved cascade's exit path is optimal, and they are nested")
    exits.add_argument("cascade", metavar="CASCADE", help="what exits or cascade wrote: .skops, or .joblib with --trust-pickle")
    exits.add_argument("--trust-pickle", action="store_true", help="load a joblib file, which runs any code in it")
    add_common_options(exits, _run_check)
    corollary = claims.add_parser("corollary", help="the linear relaxation solves every budget (Corollary 4.3 of NWS15)")
    add_inputs(corollary, required=False, metavar="FOREST|papers")
    corollary.add_argument(
        "--budgets",
        type=amounts,
        metavar="A,B,...",
        help="check only these budgets (default: the middle of every edge of the hull)",
    )
    add_common_options(corollary, _run_check)


def _run_path(args: argparse.Namespace) -> Result:
    from prunemodels.command_line.commands import path_command

    return path_command(args)


def _run_prune(args: argparse.Namespace) -> Result:
    from prunemodels.command_line.commands import prune_command

    return prune_command(args)


def _run_evaluate(args: argparse.Namespace) -> Result:
    from prunemodels.command_line.boosted_commands import evaluate_command

    return evaluate_command(args)


def _run_exits(args: argparse.Namespace) -> Result:
    from prunemodels.command_line.exit_commands import exits_command

    return exits_command(args)


def _run_cascade(args: argparse.Namespace) -> Result:
    from prunemodels.command_line.exit_commands import cascade_command

    return cascade_command(args)


def _run_report(args: argparse.Namespace) -> Result:
    from prunemodels.command_line.report_commands import report_command

    return report_command(args)


def _run_compare(args: argparse.Namespace) -> Result:
    from prunemodels.command_line.model_commands import compare_command

    return compare_command(args)


def _run_export(args: argparse.Namespace) -> Result:
    from prunemodels.command_line.model_commands import export_command

    return export_command(args)


def _run_check(args: argparse.Namespace) -> Result:
    from prunemodels.command_line.check_commands import CHECKS

    return CHECKS[args.claim](args)


def _run_warm_up(args: argparse.Namespace) -> Result:
    from prunemodels.command_line.warm_up import warm_up_command

    return warm_up_command(args)


def _run_completion(args: argparse.Namespace) -> Result:
    from prunemodels.command_line.completion import completion_command

    return completion_command(args)


def _run_demo(args: argparse.Namespace) -> Result:
    from prunemodels.command_line.demo import demo_command

    return demo_command(args)
