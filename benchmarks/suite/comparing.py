"""A comparison of two sets of results: which ratios changed by more than the rounds of each run differ?

    change = ratio now / ratio before                                                                                   (1)
    slower if  the spread now lies entirely above the spread before  and  change > 1 + MARGIN                              (2)
    faster if  it lies entirely below                                and  change < 1 / (1 + MARGIN)                        (3)

Both conditions are needed, since spreads of three rounds are disjoint by chance in one case of ten. A single run has no spread,
so the change is shown without a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from benchmarks.papers.tables import markdown
from benchmarks.suite.results import BUSY, Result
from benchmarks.suite.study import Row
from benchmarks.suite.tables import number, origins, spread

MARGIN = 0.25
"""Least relative change of a ratio that counts as slower or faster."""

MORE = 0.25
"""Least relative change of a figure that is reported."""

VERDICTS = ("slower", "faster", "same", "one run")
"""(2), (3), neither of them, and no verdict because there was a single run."""


@dataclass(frozen=True)
class Change:
    """A pair that is in both sets, with (1) to (3)."""

    study: str
    before: Row
    now: Row

    @property
    def factor(self) -> float:
        """(1)."""
        return self.now.ratio / self.before.ratio

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`."""
        if 1 in (self.before.runs, self.now.runs):
            return "one run"
        if self.now.low > self.before.high and self.factor > 1 + MARGIN:
            return "slower"
        if self.now.high < self.before.low and self.factor < 1 / (1 + MARGIN):
            return "faster"
        return "same"


@dataclass(frozen=True)
class Comparison:
    """All changes, and the pairs that are in one set only, as ``study: instance: A / B``."""

    changes: tuple[Change, ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def slower(self) -> list[Change]:
        """Those that are slower now."""
        return [change for change in self.changes if change.verdict == "slower"]


def compare(before: Mapping[str, Result], now: Mapping[str, Result]) -> Comparison:
    """Match rows of the same study, instance and names."""
    old, new = _rows(before), _rows(now)
    changes = tuple(Change(key[0], old[key], new[key]) for key in new if key in old)
    return Comparison(changes, *(tuple(map(_shown, (k for k in a if k not in b))) for a, b in ((old, new), (new, old))))


def report(before: Mapping[str, Result], now: Mapping[str, Result]) -> str:
    """The comparison as text."""
    found = compare(before, now)
    lines = ["before:", *origins(before.values()), "", "now:", *origins(now.values()), "", _table(found), ""]
    # other processes slow engines of two threads more than those of one, so ratios change too
    for when, results in (("before", before), ("now", now)):
        lines += [f"beside other work ({r.load:g} processes): {r.study} {when}" for r in results.values() if r.load > BUSY]
    moved = _moved_figures(before, now)
    if moved:
        lines += ["", "figures that changed:", "", markdown(pd.DataFrame(moved))]
    lines += [f"\nonly before: {key}" for key in found.gone] + [f"\nonly now: {key}" for key in found.new]
    verdicts = [change.verdict for change in found.changes]
    counts = ", ".join(f"{verdicts.count(v)} {v}" for v in VERDICTS)
    return "\n".join([*lines, "", f"{len(verdicts)} ratios: {counts}"])


def _table(found: Comparison) -> str:
    lines = [
        {
            "study": change.study,
            "instance": change.now.instance,
            "A / B": f"{change.now.a} / {change.now.b}",
            "before": number(change.before.ratio),
            "its spread": spread(change.before.low, change.before.high, change.before.runs),
            "now": number(change.now.ratio),
            "spread now": spread(change.now.low, change.now.high, change.now.runs),
            "now / before": number(change.factor),
            "verdict": change.verdict,
        }
        for change in found.changes
    ]
    return markdown(pd.DataFrame(lines)) if lines else "nothing to compare: no pair is in both"


def _rows(results: Mapping[str, Result]) -> dict[tuple[str, ...], Row]:
    return {(result.study, *row.key): row for result in results.values() for row in result.rows}


def _shown(key: tuple[str, ...]) -> str:
    study, instance, a, b = key
    return f"{study}: {instance}: {a} / {b}"


def _moved_figures(before: Mapping[str, Result], now: Mapping[str, Result]) -> list[dict[str, str]]:
    """Figures of both sets that differ by more than the part `MORE` of the larger one."""
    old = {(result.study, *figure.key): figure.value for result in before.values() for figure in result.figures}
    moved = []
    for result in now.values():
        for figure in result.figures:
            key = (result.study, *figure.key)
            if key in old and _differ(old[key], figure.value):
                line = {"study": result.study, "instance": figure.instance, "what": figure.what}
                moved.append(line | {"before": number(old[key]), "now": number(figure.value)})
    return moved


def _differ(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is not b
    return abs(a - b) > MORE * max(abs(a), abs(b))
