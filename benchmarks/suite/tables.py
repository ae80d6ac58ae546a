"""Results as Markdown, and a comparison of two sets: which ratios changed by more than the rounds of each run differ?

    change = ratio now / ratio before                                                                                   (1)
    slower if  the spread now lies entirely above the spread before  and  change > 1 + MARGIN                              (2)
    faster if  it lies entirely below                                and  change < 1 / (1 + MARGIN)                        (3)

Both conditions are needed, since spreads of three rounds are disjoint by chance in one case of ten. A single run has no spread,
so the change is shown without a verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.measuring import markdown
from benchmarks.suite.results import BUSY, Result
from benchmarks.suite.study import Row

MARGIN = 0.25  # least relative change of a ratio that counts as slower or faster, and of a figure that is reported
VERDICTS = ("slower", "faster", "same", "one run")  # (2), (3), neither of them, and no verdict because there was a single run
Results = Mapping[str, Result]


def report(results: Results) -> str:
    return "\n\n".join(["\n".join(origins(results)), summary_table(results), ratio_table(results), figure_table(results)])


def origins(results: Results) -> list[str]:
    """One line for each machine, versions and commit, with the studies that were run there."""
    at: dict[str, list[str]] = {}
    for name, result in results.items():
        at.setdefault(result.origin.line(), []).append(name)
    return [f"{', '.join(studies)}: {line}" for line, studies in at.items()]


def summary_table(results: Results) -> str:
    """A line for every pair of a study: from the least to the largest of its instances, and the median of the ratios."""
    lines = []
    for name, result in results.items():
        pairs: dict[tuple[str, str], list[Row]] = {}
        for row in result.rows:
            pairs.setdefault((row.a, row.b), []).append(row)
        for (a, b), rows in pairs.items():
            seconds = [between([getattr(row, of) for row in rows]) for of in ("seconds_a", "seconds_b")]
            ratios = [row.ratio for row in rows]
            lines.append([name, f"{a} / {b}", len(rows), *seconds, f"**{between(ratios)}**", number(median(ratios))])
    return markdown(["study", "A / B", "instances", "A, s", "B, s", "ratio", "median"], lines)


def ratio_table(results: Results) -> str:
    """Every pair: seconds of both, A / B with its spread. Below 1, A is faster."""
    lines = [
        [r.instance, f"{r.a} / {r.b}", number(r.seconds_a), number(r.seconds_b), f"**{number(r.ratio)}**", spread(r)]
        for result in results.values()
        for r in result.rows
    ]
    return markdown(["instance", "A / B", "A, s", "B, s", "ratio", "spread"], lines)


def figure_table(results: Results) -> str:
    figures = [figure for result in results.values() for figure in result.figures]
    return markdown(["instance", "what", "found"], [[f.instance, f.what, number(f.value)] for f in figures])


def spread(row: Row) -> str:
    """From least to largest ratio of a round; a single run has none."""
    return "one run" if row.runs == 1 else f"{number(row.low)} to {number(row.high)}"


def between(values: Sequence[float]) -> str:
    """From the least to the largest; one number if both print alike."""
    return " to ".join(dict.fromkeys(number(value) for value in (min(values), max(values))))


def number(value: float | None) -> str:
    """Three significant digits, whole numbers in full."""
    if value is None:
        return "no end"
    if value == int(value) and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


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


def changes_of(before: Results, now: Results) -> list[Change]:
    """The rows of the same study, instance and names."""
    old = {(name, *row.key): row for name, result in before.items() for row in result.rows}
    pairs = [((name, *row.key), row) for name, result in now.items() for row in result.rows]
    return [Change(key[0], old[key], row) for key, row in pairs if key in old]


def comparison(before: Results, now: Results) -> str:
    changes = changes_of(before, now)
    lines = ["before:", *origins(before), "", "now:", *origins(now), "", _change_table(changes), ""]
    # other processes slow engines of two threads more than those of one, so ratios change too
    for when, results in (("before", before), ("now", now)):
        lines += [f"beside other work ({r.load:g} processes): {name} {when}" for name, r in results.items() if r.load > BUSY]
    lines += ["", "figures that changed:", "", markdown(["study", "instance", "what", "before", "now"], _moved(before, now)), ""]
    keys = [
        {f"{name}: {row.instance}: {row.a} / {row.b}" for name, r in results.items() for row in r.rows}
        for results in (before, now)
    ]
    lines += [f"only before: {key}" for key in sorted(keys[0] - keys[1])]
    lines += [f"only now: {key}" for key in sorted(keys[1] - keys[0])]
    verdicts = [change.verdict for change in changes]
    counts = ", ".join(f"{verdicts.count(v)} {v}" for v in VERDICTS)
    return "\n".join([*lines, "", f"{len(verdicts)} ratios: {counts}"])


def _change_table(changes: Iterable[Change]) -> str:
    head = ["study", "instance", "A / B", "before", "its spread", "now", "spread now", "now / before", "verdict"]
    lines = []
    for c in changes:
        both = [text for row in (c.before, c.now) for text in (number(row.ratio), spread(row))]
        lines.append([c.study, c.now.instance, f"{c.now.a} / {c.now.b}", *both, number(c.factor), c.verdict])
    return markdown(head, lines)


def _moved(before: Results, now: Results) -> list[list[str]]:
    """Figures of both sets that differ by more than the part `MARGIN` of the larger one."""
    old = {(name, *figure.key): figure.value for name, result in before.items() for figure in result.figures}
    new = {(name, *figure.key): figure.value for name, result in now.items() for figure in result.figures}
    return [[*key, number(old[key]), number(value)] for key, value in new.items() if key in old and _differ(old[key], value)]


def _differ(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is not b
    return abs(a - b) > MARGIN * max(abs(a), abs(b))
