"""Numbers as text, with as many digits as a comparison needs; and what predictions use of each limit, on any examples.

    use = (what is used once)  +  mean over the limit's examples of u_i,       u_i as in `formulations.programs.limit_rows`  (1)

A limit holds exactly on the cost sample. On other examples (1) is an estimate, and has an interval as a mean cost has, see
`prunemodels.evaluation.held_out`. The size of the forest is a number without one. So is the most that any example uses: it says
what was seen, not what may come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.instance.cost_items import CostItems, exact
from formulations.instance.limit import SIZES, Limit, members_of, meter_of
from formulations.instance.usage import Usage
from formulations.instance.usage_arcs import charges_of
from formulations.shown import is_rate
from prunemodels.points import SAME_POINT
from prunemodels.statements.mean_bounds import PARAMS, Effective, MeanInterval, effective_rows, mean_interval

MINUS = "\u2212"

POINTS = "\u00a0points"
"""Percentage points."""


def amount(x: float) -> str:
    """A cost with four significant digits, and without an exponent from 0.001 on."""
    if x == 0:
        return "0"
    if abs(x) >= 1000:
        return f"{x:,.0f}".replace("-", MINUS)
    return f"{x:.4g}".replace("-", MINUS)


def error(x: float, measure: str) -> str:
    """An error rate in per cent, any other measure as a number; see `formulations.shown.is_rate`."""
    return f"{100 * x:.2f}\u00a0%".replace("-", MINUS) if is_rate(measure) else amount(x)


def change(x: float, measure: str) -> str:
    """A difference of errors with its sign: of error rates in percentage points, of other measures as a number."""
    if is_rate(measure):
        return f"{100 * x:+.2f}".replace("-", MINUS) + POINTS
    return ("+" if x > 0 else "") + amount(x)


def interval(of: MeanInterval, write: Callable[[float], str] = amount) -> str:
    """The ends of an interval, points once: ``−1.2 to +14.9 points``."""
    return f"{write(of.low).removesuffix(POINTS)} to {write(of.high)}" if of.is_told else "cannot be told"


def share(x: float, digits: int = 1) -> str:
    """0.123 as 12.3 %."""
    return f"{100 * x:.{digits}f}\u00a0%".replace("-", MINUS)


def less(before: float, after: float) -> str:
    """The relative saving: ``39 % less``, or ``more``."""
    if before == 0:
        return "nothing to save"
    saved = 1 - after / before
    if abs(saved) < 0.0005:
        return "the same"
    digits = 0 if abs(saved) >= 0.1 else 1
    return f"{100 * abs(saved):.{digits}f}\u00a0% {'less' if saved > 0 else 'more'}"


def count(n: int, noun: str, several: str | None = None) -> str:
    """``1 tree``, ``40 trees``; `several` is the plural where it is not formed by an s."""
    return f"{n:,} {noun if n == 1 else several or f'{noun}s'}"


def exactly(x: Fraction) -> str:
    """A fraction and its approximate value; only the latter where the fraction is too long to read."""
    text = str(x)
    if x.denominator == 1:
        return text
    return f"{text} \u2248 {float(x):.8g}" if len(text) <= 40 else f"\u2248 {float(x)!r}"


def asked_for(names: Sequence[str], before: Sequence[float], after: Sequence[float]) -> str:
    """A sentence on which features are asked for, by which share of the examples, and how many no longer."""
    asked = sorted(((part, -k, name) for k, (name, part) in enumerate(zip(names, after, strict=True)) if part > 0), reverse=True)
    told = [f"{name} {share(part, 0)}" for part, _, name in asked]
    more = f" and {len(told) - PARAMS.most_names} more" if len(told) > PARAMS.most_names else ""
    dropped = sum(b > 0 and a == 0 for b, a in zip(before, after, strict=True))
    never = f"; {count(dropped, 'feature')} no longer" if dropped else ""
    return f"Asked for: {', '.join(told[: PARAMS.most_names])}{more}{never}." if told else "Asked for: nothing."


def is_overrun(budget: float | Fraction, cost: MeanInterval) -> bool:
    """Whether the held-out examples cost more than the budget on average."""
    return cost.mean > budget


def budget_verdict(budget: float | Fraction, cost: MeanInterval, unit: str = "") -> str:
    """What the held-out examples say about a budget, in one or two sentences.

    A budget holds exactly on the cost sample, and only there. Of c, the mean cost on the held-out examples, and [l, u], its
    interval:

        c <= budget           no overrun was seen; where u > budget, one is possible
        c >  budget >= l      these examples cost more, and chance alone may explain it
        c >= l > budget       the population costs more than the budget, with the confidence of the interval
    """
    limit = f"{amount(float(budget))}{f' {unit}' if unit else ''}"
    ends = f"{100 * cost.confidence:g}\u00a0% interval {interval(cost)}"
    seen = f"the {cost.n:,} held-out examples cost {amount(cost.mean)} ({ends})"
    if not is_overrun(budget, cost):
        possible = "" if cost.high <= budget else "; the population may cost more than that"
        return f"Within the budget of {limit}: {seen}{possible}."
    over = f"Over budget: {seen}, {cost.mean - float(budget):.3g} more than the {limit} allowed."
    why = "The budget lies within the interval, so chance" if cost.is_told else "Chance"
    return over if cost.low > budget else f"{over} {why} alone may explain this."


@dataclass(frozen=True, eq=False)
class LimitUse(Effective):
    """What predictions use of one limit, on some examples.

    Parameters
    ----------
    use
        (1); of a limit on every example the most that one of them uses.
    low, high
        Student's interval of (1) for the population; NaN for a size, and for a limit on every example.
    exceeding
        the share of the examples that use more than the limit, by weight; NaN for a size.
    n, n_effective
        the number of examples that it is about, and how many of equal weight they are worth; 0 for a size.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, costs, forest, y_test
    >>> seen = pm.evaluate(forest, X_test, y_test, costs=costs, limits=[pm.Limit(16), pm.Limit(0.9, "radius")])
    >>> seen.uses
    (LimitUse(cost 16.45 of 16, 16.35 to 16.55), LimitUse(radius 1 of 0.9, 1 to 1))
    """

    limit: Limit
    use: float
    low: float
    high: float
    exceeding: float
    n: int
    n_effective: float

    @property
    def at_most(self) -> float:
        """B."""
        return float(exact(self.limit.at_most, "at_most"))

    @property
    def is_over(self) -> bool:
        """Whether these examples use more than the limit, beyond what rounding explains."""
        return self.use > self.at_most * (1 + SAME_POINT)

    @property
    def interval(self) -> str:
        """The interval in words; empty without one."""
        ends = f"{amount(self.low)} to {amount(self.high)}" if self.is_told else "cannot be told"
        return "" if math.isnan(self.low) else ends

    def __repr__(self) -> str:
        interval = f", {self.interval}" if self.interval else ""
        return f"LimitUse({self.limit.title} {amount(self.use)} of {amount(self.at_most)}{interval})"


def use_in_words(seen: LimitUse) -> str:
    """A sentence on one limit."""
    limit = f"{seen.limit.title} at most {amount(seen.at_most)}"
    used = f"{amount(seen.use)} used"
    if seen.interval:
        used += f" (interval {seen.interval})"
    if seen.limit.each and seen.exceeding > 0:
        used += f" by the dearest example, and more than the limit by {share(seen.exceeding, 1)} of them"
    told = () if seen.limit.rows is None or not seen.interval else seen.warnings  # those of all examples are told once
    return " ".join((f"{'Over' if seen.is_over else 'Within'} the limit of {limit}: {used}.", *told))


def limit_uses(usage: Usage, kept: NDArray[np.bool_], limits: Sequence[Limit], confidence: float = 0.95) -> tuple[LimitUse, ...]:
    """What the kept splits use of each limit, on the rows of a usage."""
    return tuple(_use(usage, kept, limit, f"limits[{k}] ({limit.title!r})", confidence) for k, limit in enumerate(limits))


def transferable(limits: Sequence[Limit]) -> tuple[Limit, ...]:
    """The limits that are about other examples, too: all but those of a mask or of numbers of rows."""
    return tuple(limit for limit in limits if limit.rows is None or isinstance(limit.rows, str))


def _use(usage: Usage, kept: NDArray[np.bool_], limit: Limit, name: str, confidence: float) -> LimitUse:
    costs, ensemble, none = usage.costs, usage.ensemble, math.nan
    meter = meter_of(limit, costs, usage.evaluation, ensemble.n_trees, name)
    needed = {m for f in np.unique(ensemble.feature[kept]).tolist() for m in costs.needs[f]}
    fixed = float(meter.constant + meter.split * int(kept.sum()) + sum(meter.once[m] for m in needed))
    if isinstance(limit.of, str) and limit.of in SIZES:
        return LimitUse(limit, fixed, none, none, none, 0, 0)
    members = members_of(usage, limit, name)
    items = CostItems(costs.names, meter.item, costs.needs)
    metered = replace(usage, costs=items, evaluation=meter.evaluation, charges=charges_of(ensemble, items))
    largest = metered.largest_row_cost(kept)
    used, weight = np.minimum(metered.row_costs(kept)[members], largest), usage.weights[members]
    at_most = float(exact(limit.at_most, name)) * (1 + SAME_POINT)
    exceeding = float(weight[used + fixed > at_most].sum() / weight.sum())
    if limit.each:
        return LimitUse(limit, fixed + float(used.max()), none, none, exceeding, len(used), effective_rows(weight))
    mean = mean_interval(used, largest, confidence, "t", weight).plus(fixed)
    return LimitUse(limit, mean.mean, mean.low, mean.high, exceeding, mean.n, mean.n_effective)
