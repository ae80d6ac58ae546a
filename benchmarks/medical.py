"""Accuracy against dollars on medical data with real prices of tests (Turney's), with discounts for blood drawn once.

    python -m benchmarks.medical                                all six data sets, five repeats
    python -m benchmarks.medical --data pima bupa --repeats 3   some of it
    python -m benchmarks.medical --figure medical.png           also the picture (.png or .svg)
    python -m benchmarks.medical --study                        which error sample, on the training parts alone

What is trained, pruned and measured: `benchmarks.medical_runs`. Means and standard deviations are over repeats: random splits
with 70 % to train; of ann_thyroid, which comes with a split, seeds of the forest. *Enough* is what is paid at the smallest budget
whose mean test error is at most the unpruned forest's plus one standard error of a rate on all patients that were ever tested. It
uses the test error, in the same way for all three optimisers; the *chosen* budget does not.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import joblib
import numpy as np
from numpy.typing import NDArray

import prunemodels as pm
from benchmarks.data.medical import PRICES, MedicalData, load_medical
from benchmarks.medical_figure import draw_panels
from benchmarks.medical_runs import (
    KNOWN,
    SHARES,
    Recipe,
    Repeat,
    Sample,
    Summary,
    cross_validated,
    one_repeat,
)
from benchmarks.path import machine
from prunemodels.files.outputs import check_output
from prunemodels.plots.tradeoff import PICTURE_ENDINGS, save_picture

SAMPLES: tuple[Sample, ...] = ("in-bag", "out-of-bag", "blend", "validation")

STUDIED = (0.2, 0.35, 0.5, 0.7)
"""Budgets of the study of error samples."""

SHOWN = (0.25, 0.5)
"""Budgets in the table, as shares of the price of all tests; those of `SHARES` at or below them."""


def rate(values: Sequence[float] | NDArray[np.float64]) -> str:
    """Mean and standard deviation in percent."""
    spread = f" ± {100 * np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{100 * np.mean(values):.1f}{spread} %"


def price(values: Sequence[float]) -> str:
    """Mean in dollars."""
    return f"${np.mean(values):.2f}"


def row(s: Summary) -> list[str]:
    """The cells of a data set in the first table."""
    columns = [max(k for k, share in enumerate(SHARES) if share <= shown) for shown in SHOWN]
    unpruned, default, chosen = ([getattr(r, what) for r in s.repeats] for what in ("unpruned", "default", "at_choice"))
    return [
        f"{s.data.name} ({s.tested:,} tested)",
        price([s.data.price_of_all]),
        f"{price([m.dollars for m in default])}: {rate([m.error for m in default])}",
        f"{price([m.dollars for m in unpruned])}: {rate([m.error for m in unpruned])}",
        *(f"{price([s.dollars('all prices')[k]])}: {rate(s.errors('all prices')[:, k])}" for k in columns),
        f"{price([m.dollars for m in chosen])}: {rate([m.error for m in chosen])}",
    ]


def knowledge_row(s: Summary) -> list[str]:
    """The cells of a data set in the second table."""
    points = [f"{100 * s.lost(k).mean():+.1f} ± {100 * s.lost(k).std(ddof=min(1, len(s.repeats) - 1)):.1f}" for k in KNOWN[1:]]
    return [s.data.name, *(price([s.enough(known)]) for known in KNOWN), *points]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def report(summaries: Sequence[Summary]) -> str:
    """Both tables and the notes below them."""
    shown = [f"budget {100 * max(x for x in SHARES if x <= share):.0f} %" for share in SHOWN]
    first = ["", "all tests", "scikit-learn's default", "unpruned", *shown, "chosen"]
    second = ["", *(f"enough, {known} known" for known in KNOWN), *(f"{known}: error, points" for known in KNOWN[1:])]
    second[2:4] = ["enough, no discounts known", "enough, no prices known"]
    solved = sum(r.solved for s in summaries for r in s.repeats)
    unproven = sum(r.unproven for s in summaries for r in s.repeats)
    overrun = ", ".join(f"{s.data.name} {s.overrun():.3f}" for s in summaries)
    return "\n".join([
        table(first, [row(s) for s in summaries]),
        "",
        table(second, [knowledge_row(s) for s in summaries]),
        "",
        f"budgets solved {solved:,}, not proven optimal in time {unproven}",
        f"dollars paid on test parts for a dollar on cost samples: {overrun}",
    ])  # fmt: skip


def run(names: Sequence[str], repeats: int, seed: int, jobs: int) -> list[Summary]:
    """All repeats of all data sets, in the given number of processes."""
    loaded = {name: load_medical(name) for name in names}  # refuses before anything is computed
    tasks = [(name, seed + k) for k in range(repeats) for name in names]
    work = joblib.Parallel(n_jobs=jobs, return_as="generator")
    done: list[Repeat] = []
    for repeat in work(joblib.delayed(one_repeat)(name, k, Recipe()) for name, k in tasks):
        done.append(repeat)
        print(f"\r{len(done)} of {len(tasks)} runs", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return [Summary.of(data, [r for r in done if r.name == name]) for name, data in loaded.items()]


def study(names: Sequence[str], repeats: int, seed: int) -> Iterator[list[str]]:
    """Error in cross validation of the training parts, mean over budgets: leaf sizes and error samples."""
    for name in names:
        data = load_medical(name)
        for leaf in (1, 5):
            columns = [_studied(data, Recipe(leaf, sample), repeats, seed) for sample in SAMPLES]
            yield [f"{name}, leaves of {leaf}", rate([u for _, u in columns[0]]), *(rate([e for e, _ in c]) for c in columns)]


def _studied(data: MedicalData, recipe: Recipe, repeats: int, seed: int) -> list[tuple[float, float]]:
    """For each repeat the mean error over budgets, and the unpruned forest's."""
    found = []
    for k in range(seed, seed + repeats):
        train, _ = data.split(k)
        *pruned, unpruned = cross_validated(data, data.X.iloc[train], data.y[train], k, recipe, STUDIED)
        found.append((float(np.mean([m.error for m in pruned])), unpruned.error))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(PRICES), choices=list(PRICES), metavar="NAME")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0, help="of the first repeat; the next has the next number")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--figure", type=Path, help="draw accuracy against dollars there (.png or .svg)")
    parser.add_argument("--force", action="store_true", help="replace the figure")
    parser.add_argument("--study", action="store_true", help="compare error samples instead")
    args = parser.parse_args(arguments)
    start = time.perf_counter()
    try:
        if args.repeats < 1:
            raise pm.errors.InvalidInputError(f"--repeats is {args.repeats}; give at least 1")
        if args.study:
            print(table(["", "unpruned", *SAMPLES], list(study(args.data, args.repeats, args.seed))))
        else:
            if args.figure is not None:
                check_output(args.figure, "--figure", endings=PICTURE_ENDINGS, force=args.force)
            summaries = run(args.data, args.repeats, args.seed, args.jobs)
            print(report(summaries))
            if args.figure is not None:
                save_picture(draw_panels(summaries), args.figure)
    except pm.errors.PruneModelsError as error:
        print(f"benchmarks.medical: {error}", file=sys.stderr)
        return 2
    print(f"\n{args.repeats} repeats, {time.perf_counter() - start:.0f} s, {machine()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
