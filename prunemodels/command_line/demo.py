"""``prunemodels demo``: train, prune, and measure on examples kept apart.

The experiment of BP16: grow a forest on the training part, every split chosen among all features; take the errors from the
bags and the use of features from the validation part; prune; measure cost and error on the test part. Features cost 1 each, but
for the heart data, whose tests have prices in dollars.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.multiclass import type_of_target

from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError
from formulations.extras import package
from formulations.shown import align, rate
from prunemodels.command_line.parsing import shows_progress
from prunemodels.command_line.process import SETTINGS, styled
from prunemodels.command_line.summary import Summary
from prunemodels.data_files import Dataset, load_dataset, part_sizes
from prunemodels.datasets.heart import fetch_heart
from prunemodels.estimators.pruned_forest import SHARES
from prunemodels.evaluation.evaluate import evaluate
from prunemodels.evaluation.held_out import hold_out
from prunemodels.files.forests import dump_forest
from prunemodels.files.outputs import OutputFiles
from prunemodels.models.costs import Costs
from prunemodels.models.forests.problems import apply_pruning, problem_from_forest
from prunemodels.number_columns import Marks
from prunemodels.plots.picture import draw
from prunemodels.plots.tradeoff import plot_tradeoff
from prunemodels.solving import solve
from solvers import pruning_path

HEART = "heart"
"""The data whose features have prices in dollars: `prunemodels.datasets.fetch_heart`."""

FILES = ("tradeoff.png", "tradeoff.svg", "path.csv", "table.csv", "pruned.skops")

BUDGETS: dict[str, tuple[float, ...]] = {"miniboone": (35, 30, 24.9, 20, 15, 10, 5), HEART: (300, 250, 200, 150, 100, 50, 10)}
"""Budgets for data with known figures, in features per prediction or in dollars; for all others they are `SHARES`."""

SAVED = {"miniboone": "24.9", HEART: "150"}
"""The budget whose pruned forest is saved; half the unpruned cost for all other data."""

Announce = Callable[[str], None]
"""A function that announces a step of the demo."""


@dataclass(frozen=True, eq=False)
class Run:
    """One forest: its path, the pruning that is saved, all prunings, the unpruned forest first, and the test part."""

    forest: Any
    path: PruningPath
    path_seconds: float
    saved: Pruning
    prunings: list[Pruning]
    test: tuple[Any, Any]
    table: pd.DataFrame


def breast_cancer() -> Dataset:
    """The data set that comes with scikit-learn: 60 % to train, 20 % to validate, 20 % to test."""
    bunch = load_breast_cancer(as_frame=True)
    n = len(bunch.target)
    train, valid = round(0.6 * n), round(0.2 * n)
    return Dataset("breast_cancer", bunch.data, bunch.target.to_numpy(), (train, valid, n - train - valid))


def run(data: Dataset, seed: int, *, split: int, trees: int, announce: Announce, progress: bool = False, costs: Costs = 1) -> Run:
    """Train a forest on one random split, prune it, and measure every budget on the test part.

    Where all features cost the same, the path has a pruning close to each budget. Where prices differ, a search follows.
    A budget bounds the cost on the validation part, on which the pruning is chosen. The cost on the test part may differ a
    little.
    """
    train, valid, test = data.parts(split)
    announce(f"training {trees} trees on {len(train):,} examples")
    forest = RandomForestClassifier(trees, criterion="entropy", max_features=None, random_state=seed, n_jobs=-1)
    forest.fit(data.X.iloc[train], data.y[train])
    announce("computing all optimal prunings")
    start = time.perf_counter()
    problem = problem_from_forest(forest, data.X.iloc[valid], costs=costs)
    path = pruning_path(problem, progress=progress)
    seconds, unpruned = time.perf_counter() - start, Pruning.unpruned(problem)
    shares = {f"{100 * s:.0f} %": s * unpruned.cost for s in SHARES}
    limits = {f"{b:g}": b for b in BUDGETS[data.name]} if data.name in BUDGETS else shares
    announce(f"pruning to {len(limits)} budgets, and measuring on {len(test):,} held-out examples")
    # the path's pruning of each budget, and a better one if prices differ
    priced = problem.costs.price[problem.costs.price > 0]
    found: dict[str, tuple[float | None, Pruning]] = {"unpruned": (None, unpruned)}
    for name, budget in limits.items():
        row = path.row_at_cost(budget)
        found[name] = float(path.lam[row]), path[row]
        if (priced != priced[0]).any():
            answer = solve(problem, budget=budget, work=SETTINGS.demo_search_seconds, path=path)
            found[name] = float(answer.relaxation.lam), answer.pruning
    # measure each on the test part
    rows, apart = [], (data.X.iloc[test], data.y[test])
    for name, (lam, pruning) in found.items():
        seen = evaluate(apply_pruning(pruning, forest), *apart, costs=costs)
        figures = {"in_bag_error": pruning.error, "held_out_error": seen.error, "splits": seen.splits}
        rows.append({"seed": seed, "budget": name, "lambda": lam, "cost": seen.cost, "features": seen.features} | figures)
    prunings = [pruning for _, pruning in found.values()]
    return Run(forest, path, seconds, found[SAVED.get(data.name, "50 %")][1], prunings, apart, pd.DataFrame(rows))


def demo_command(args: argparse.Namespace) -> Summary:
    """Run the demo and write its files."""
    package("skops.io")  # refused now rather than after the work
    folder = args.outputs.folder(args.out, "--out")
    for file in FILES:  # refused before any work if one would be overwritten
        args.outputs.reserve(folder / file, "--out")
    data, costs = _data(args)
    if type_of_target(data.y) not in ("binary", "multiclass"):
        raise InvalidInputError(
            f"--label: the labels of {data.name} are continuous; the demo trains classifiers: name a column of classes"
        )
    seeds, resplit = args.seeds or (1 if args.data is None else 5), data.name == HEART
    _compile(_progress(args.quiet, 0, 1))
    options = {"trees": args.trees, "progress": shows_progress(args), "costs": costs}
    first, tables = None, []
    for seed in range(seeds):
        announce = _progress(args.quiet, seed, seeds)
        result = run(data, seed, split=seed if resplit else 0, announce=announce, **options)
        first = first or result
        tables.append(result.table)
    assert first is not None  # seeds >= 1
    table = pd.concat(tables, ignore_index=True)
    _write(first, table, folder, args.outputs)
    record = {"data": data.name, "priced": data.name == HEART, "sizes": data.sizes, "features": data.X.shape[1]}
    record |= {"trees": args.trees, "seeds": seeds, "breakpoints": len(first.path), "path_seconds": first.path_seconds}
    record |= {"resplit": resplit, "saved": SAVED.get(data.name, "50 %"), "measured": table.to_dict("records")}
    return Summary(record, _lines(record, table), [folder / file for file in FILES])


def _data(args: argparse.Namespace) -> tuple[Dataset, Costs]:
    """The data that the arguments name, and their prices."""
    if args.data == HEART:
        if args.label is not None:
            raise InvalidInputError(f"--label {args.label}: the data of {HEART} are labelled; drop it")
        X, y, prices = fetch_heart()
        return Dataset(HEART, X, y, part_sizes(HEART, len(y))), prices
    if args.data is not None:
        return load_dataset(args.data, args.label, Marks(said=args.decimal)), 1
    if args.label is not None:
        raise InvalidInputError(f"--label {args.label}: scikit-learn's data have no columns to choose from; give --data FILE too")
    return breast_cancer(), 1


def _compile(announce: Announce) -> None:
    """Prune a toy forest first. On a new machine this compiles the kernels, which the demo should not time."""
    announce("compiling (once on a machine)")
    X, y = load_breast_cancer(return_X_y=True)
    toy = RandomForestClassifier(3, random_state=0).fit(X[:100], y[:100])
    pruning = pruning_path(problem_from_forest(toy, X[:100], costs=1))[0]
    evaluate(apply_pruning(pruning, toy), X[:100], y[:100], costs=1)


def _progress(quiet: bool, seed: int, seeds: int) -> Announce:
    """A function that says on stderr which step of which forest is running."""
    prefix = f"forest {seed + 1} of {seeds}: " if seeds > 1 else ""
    return lambda text: None if quiet else print(prefix + text, file=sys.stderr, flush=True)


def _write(first: Run, table: pd.DataFrame, folder: Path, outputs: OutputFiles) -> None:
    """Write all files of the demo; the picture, the path and the forest are those of the first seed."""
    seen = {pruning: hold_out(pruning, first.forest, *first.test) for pruning in first.prunings}
    picture = plot_tradeoff(first.path, held_out=[*seen.values()], chosen=seen[first.saved])
    for file in ("tradeoff.png", "tradeoff.svg"):
        draw(picture, outputs.aside(folder / file))
    first.path.to_frame().to_csv(outputs.aside(folder / "path.csv"), index=False)
    table.to_csv(outputs.aside(folder / "table.csv"), index=False)
    dump_forest(apply_pruning(first.saved, first.forest), outputs.aside(folder / "pruned.skops"))


def _lines(r: Mapping[str, Any], table: pd.DataFrame) -> list[str]:
    """What a terminal shows: one screen."""
    priced, saved, seeds, (train, valid, test) = r["priced"], r["saved"], r["seeds"], r["sizes"]
    which = "forests, each on a random split of its own" if r["resplit"] else "forests on one random split"
    over = "" if seeds == 1 else f" (mean ± standard deviation over {seeds} {which})"
    unit = "% of the unpruned cost" if saved.endswith("%") else "dollars" if priced else "features a prediction"
    found = f"Found all {r['breakpoints']:,} optimal prunings in {r['path_seconds']:.2g} s. The best"
    was, now = (table[table["budget"] == budget].iloc[0] for budget in ("unpruned", saved))
    each = "dollars" if priced else "features"
    return [
        f"{r['data']}: {r['features']} features; a prediction pays {'the price in dollars of each' if priced else '1 for each'} "
        "that it uses, in however many trees.",
        f"Trained {r['trees']} trees on {train:,} examples, pruned by what {valid:,} others would pay, "
        f"measured on {test:,} held out.",
        f"{'The best pruning' if priced else found} within each budget, in {unit}{over}:",
        "",
        budget_table(table, "cost, dollars" if priced else "cost = features", saved),
        "",
        f"Saved the forest{' of the first seed' * (seeds > 1)} of budget {saved}: it costs {now.cost:.1f} {each} a prediction "
        f"(unpruned {was.cost:.1f}) and errs on {rate(now.held_out_error, 'error rate', 2)} of the held-out examples "
        f"(unpruned {rate(was.held_out_error, 'error rate', 2)}).",
    ]


def budget_table(table: pd.DataFrame, cost: str, saved: str) -> str:
    """A row for each budget: means over the seeds, and standard deviations of several; bold where the forest was saved.

    The error of single trees, which pruning minimises, comes last: it is 0 for fully grown trees, and says little about new
    examples.
    """
    shown = {"cost": (cost, 1, "{:.1f}"), "held_out_error": ("held-out error", 100, "{:.2f}")}
    shown |= {"splits": ("splits", 1, "{:,.0f}"), "in_bag_error": ("single trees, in-bag", 100, "{:.2f}")}
    rows = []
    for budget, of in table.groupby("budget", sort=False):
        cells = [str(budget)]
        for name, (_, scale, form) in shown.items():
            numbers = [of[name].mean(), *([of[name].std()] if len(of) > 1 and name != "splits" else [])]
            cells.append(" ± ".join(form.format(scale * x) for x in numbers) + " %" * (scale == 100))
        rows.append(cells)
    header, *lines = align(["budget", *(heading for heading, _, _ in shown.values())], rows).split("\n")
    bold = [styled(line, "bold") if row[0] == saved else line for line, row in zip(lines, rows, strict=True)]
    return "\n".join([styled(header, "bold"), *bold])
