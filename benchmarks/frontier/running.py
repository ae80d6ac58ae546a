"""Run the units that are not done, one after another or in several processes, which cannot import what stands in a `__main__`."""

from __future__ import annotations

import multiprocessing
import sys
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime

from benchmarks.frontier.candidate import Scouted, nothing_bought, winners
from benchmarks.frontier.data import load_problem
from benchmarks.frontier.methods import method_named
from benchmarks.frontier.problem import Problem
from benchmarks.frontier.results import FIRST_SEED, PLACE, Store, Unit, chosen_settings


def run_units(units: Sequence[Unit], store: Store, *, jobs: int = 1) -> list[str]:
    """Run the units that are not done. Returns a sentence for each failure; after a failure the other units still run."""
    todo = [unit for unit in units if not store.has(unit)]
    if jobs == 1:
        return [failure for unit in todo if (failure := do_unit(unit, store))]
    failures: list[str] = []
    for group in ([u for u in todo if u.seed == FIRST_SEED], [u for u in todo if u.seed != FIRST_SEED]):
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            failures += [f for f in pool.map(do_unit, group, [store] * len(group)) if f]
    return failures


def do_unit(unit: Unit, store: Store) -> str | None:
    """Run one unit and keep its candidates. Returns a sentence if it failed."""
    problem, method = load_problem(unit.data, unit.seed, store.folder / "memory"), method_named(unit.method)
    refusal = method.refusal(problem)
    if refusal is not None:
        if unit.seed == FIRST_SEED:
            _say(f"{unit}: left out, {refusal}")
        return None
    start = time.process_time()
    try:
        scouted = scouting(unit, store, problem)
        candidates = [nothing_bought(problem), *method.run(problem, scouted)]
    except Exception as error:  # a failure must not end the other units, which take hours
        _say(f"{unit}: failed\n{traceback.format_exc()}")
        return f"{unit}: {type(error).__name__}: {error}"
    seconds = time.process_time() - start
    store.keep(unit, candidates, seconds)
    _say(f"{unit}: {len(candidates)} candidates, {seconds:.1f} CPU s")
    return None


def scouting(unit: Unit, store: Store, problem: Problem) -> Scouted:
    """The settings that validation chose on the first seed, by its unit or else by the table of results; None on that seed, or if
    neither has it.
    """
    first = Unit(unit.data, FIRST_SEED, unit.method)
    if unit.seed == FIRST_SEED:
        return None
    if store.has(first):
        return [w.params for w in winners(store.read(first)[0], problem.budgets) if w.params]
    return chosen_settings(first, PLACE) or None


def _say(line: str) -> None:
    print(f"{datetime.now():%H:%M:%S} {line}", file=sys.stderr, flush=True)
