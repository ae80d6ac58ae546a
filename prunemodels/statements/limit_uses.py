"""What predictions use of each limit, on any examples.

    use = (what is used once)  +  mean over the limit's examples of u_i,       u_i as in `formulations.programs.limit_rows`  (1)

A limit holds exactly on the cost sample. On other examples (1) is an estimate, and has an interval as a mean cost has, see
`prunemodels.evaluation.held_out`. The size of the forest is a number without one. So is the most that any example uses: it says
what was seen, not what may come.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from formulations.instance.cost_items import CostItems, exact
from formulations.instance.limit import SIZES, Limit, meter_of
from formulations.instance.limit_members import members_of
from formulations.instance.usage import Usage
from formulations.instance.usage_arcs import charges_of
from prunemodels.points import ROUNDING
from prunemodels.statements.mean_bounds import Effective, effective_rows, mean_interval
from prunemodels.statements.wording import amount, share


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
        return self.use > self.at_most * (1 + ROUNDING)

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
    at_most = float(exact(limit.at_most, name)) * (1 + ROUNDING)
    exceeding = float(weight[used + fixed > at_most].sum() / weight.sum())
    if limit.each:
        return LimitUse(limit, fixed + float(used.max()), none, none, exceeding, len(used), effective_rows(weight))
    mean = mean_interval(used, largest, confidence, "t", weight).plus(fixed)
    return LimitUse(limit, mean.mean, mean.low, mean.high, exceeding, mean.n, mean.n_effective)
