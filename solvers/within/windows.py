"""Windows in which a search looks for better prunings, and the best pruning within the limits so far.

A window is a core, and what its integers stand for. Within a budget it lies between two rows of the path. Within other limits it
is the whole instance, metered, or what lies between two prunings that are optimal at multipliers around the best ones.

A long hull edge holds most of the splits among which a budget inside it can choose, and its neighbours on the path mostly hold
few. But a window's bounds hold only at its own lambdas, see (6) of `solvers.within.core`, and branches need other lambdas than
the edge's. So the first window also takes neighbours, the nearest lambdas first, until it has 1.5 times the edge's usage arcs. A
wider window, in the end the whole instance, is searched only if the bounds of the smaller one are too weak.

Of real numbers a window has integers of its own: gains rounded up, prices rounded down. So the search covers every pruning within
the limits, and it accepts a pruning only if its exact uses fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
from formulations.instance.reduction import Groups
from formulations.programs.limit_rows import LimitRows
from solvers.closures.integer_objective import PRICE_MARGIN, exponent_of, ldexp
from solvers.closures.subproblem import OpenPart, ParametricSubproblem, open_part
from solvers.within.by_path import gain_of, row_within
from solvers.within.core import Effort, KnapsackCore, Rates, RowUses, Surrogate, rates_of
from solvers.within.params import WithinParams
from solvers.within.prover import LagrangianOracle


@dataclass(frozen=True, eq=False)
class Window:
    """A core in which a search looks for better prunings, and what its integers stand for."""

    core: KnapsackCore
    # gain_unit, base: a gain of k in the core is one of base + k gain_unit of error, of at most so much where it was rounded.
    gain_unit: Fraction
    base: Fraction
    price_unit: Fraction
    # so much more gain in the core is taken for none: what rounding its gains may have added, and far less than an error; 0 where
    # nothing was rounded.
    spare: int

    def goal(self, gain: Fraction) -> int:
        """What a pruning has to gain in the core to be better than one of this gain."""
        return int((gain - self.base) // self.gain_unit) + self.spare

    def gain(self, of_core: int) -> Fraction:
        """The gain that one in the core stands for."""
        return self.base + of_core * self.gain_unit


def windows(path: PruningPath, budget: Fraction, params: WithinParams) -> Iterator[tuple[int, int]]:
    """Pairs of rows, outer < inner, around the budget; each pair is wider than the one before, and the last has all rows."""
    last, row = len(path) - 1, row_within(path, budget)
    outer, inner = max(row - 1, 0), max(row, min(1, last))
    arcs = _arcs_between(path)
    edge, lam = float(arcs[outer:inner].sum()), path.between(outer) if last else Fraction(0)
    for width in params.window_widths:
        wider = _widened(path, arcs, (outer, inner), lam, max(params.first_window_arcs, width * edge))
        if wider == (0, last):
            break
        if wider != (outer, inner) or width == params.window_widths[0]:
            yield wider
        outer, inner = wider
    yield 0, last


def first_window_arcs(path: PruningPath, budget: Fraction, params: WithinParams) -> float:
    """Usage arcs of the splits in the first window."""
    outer, inner = next(windows(path, budget, params))
    return float(_arcs_between(path)[outer:inner].sum())


def _widened(path: PruningPath, arcs: NDArray[np.float64], rows: tuple[int, int], lam: Fraction, most: float) -> tuple[int, int]:
    """The rows with as many neighbours as fit `most` usage arcs together, those nearest to lambda first."""
    (outer, inner), last = rows, len(path) - 1
    held = float(arcs[outer:inner].sum())
    while True:
        sides = []
        if outer > 0 and held + arcs[outer - 1] <= most:
            sides.append((lam - path.between(outer - 1), outer - 1, inner, arcs[outer - 1]))
        if inner < last and held + arcs[inner] <= most:
            sides.append((path.between(inner) - lam, outer, inner + 1, arcs[inner]))
        if not sides:
            return outer, inner
        _, outer, inner, more = min(sides)
        held += more


def _arcs_between(path: PruningPath) -> NDArray[np.float64]:
    """Usage arcs of the splits between each row and the next; shape (rows - 1,)."""
    problem = path.problem
    level = path.level[problem.usage.splits]
    weights = problem.usage.arcs_per_node[problem.usage.splits].astype(np.float64)
    arcs = np.bincount(level + 1, weights=weights, minlength=len(path.breakpoints) + 2).astype(np.float64)
    # the splits between the rows k and k + 1 have the level k + 1 (smallest optima) or k (largest)
    shift = 2 if path.ties == "smallest" else 1
    between: NDArray[np.float64] = arcs[shift : shift + len(path) - 1]
    return between


def window_between(path: PruningPath, outer: int, inner: int, budget: Fraction) -> Window:
    """The window between two rows of a path, outer <= inner; the whole instance between the first and the last."""
    problem, inside = path.problem, path[inner]
    reduced = problem.reduced("smallest")
    groups, core, numbers = reduced.groups, reduced.core, problem.numbers
    part = open_part(core, groups.of_pruning(path[outer].kept), groups.of_pruning(inside.kept))
    taken = (np.flatnonzero(groups.of_pruning(inside.kept)).astype(np.int32),)
    if numbers.exact:
        gain_unit, price_unit, base, spare = numbers.gain_unit, numbers.price_unit, Fraction(0), 0
        gained, room = inside.integer_gain, int(budget // price_unit) - inside.integer_cost
    else:
        scale = Scale.of(part)
        part, spare = real_window(part, scale, core.gain_lost[part.nodes])
        gain_unit, price_unit, base = scale.gain_unit, scale.price_unit, problem.roots_error - inside.exact_error
        gained, room = 0, int((budget - inside.exact_cost) // price_unit)
    unit = gain_unit / price_unit
    low = path.between(outer - 1) / unit if outer > 0 else Fraction(0)
    high = path.between(inner) / unit if inner + 1 < len(path) else None
    whole = KnapsackCore(
        **part.arrays(), gained=gained, room=room, taken=taken, low=low, high=high, rounded=not numbers.exact,
        step=numbers.gain_step, surrogate=Surrogate(np.ones(1), unit),
    )  # fmt: skip
    return Window(whole.trimmed(), gain_unit, base, price_unit, spare)


@dataclass(frozen=True, eq=False)
class Between:
    """Two nested prunings of groups, bool, shape (r,), and the multipliers at which they are optimal; None: at any."""

    inner: NDArray[np.bool_]
    outer: NDArray[np.bool_]
    high: Rates | None = None
    low: Rates | None = None  # given where high is


def between_rows(path: PruningPath, outer: int, inner: int, metered: PruningProblem) -> Between | None:
    """What a window is between, in the groups of the metered instance; None: the whole instance."""
    last = len(path) - 1
    if (outer, inner) == (0, last):
        return None
    groups = metered.reduced("smallest").groups
    high = (path.between(inner),) if inner < last else None
    low = (path.between(outer - 1) if outer > 0 else Fraction(0),)
    return Between(groups.of_pruning(path[inner].kept), groups.of_pruning(path[outer].kept), high, low)


def between_around(oracle: LagrangianOracle, mu: NDArray[np.float64], effort: Effort) -> Between | None:
    """The whole instance where it is small; else what lies between optima at somewhat larger and smaller multipliers."""
    groups, core, params = oracle.groups, oracle.problem, effort.params
    if core.n_usage_arcs <= params.first_window_arcs:
        return Between(np.zeros(groups.payer.size, dtype=bool), groups.is_group)
    arcs, found = core.usage.arcs_per_node, None
    for width in params.multiplier_widths:
        if effort.is_over:
            break
        high, low = mu * (1.0 + width), mu * (1.0 - width)
        inner = groups.of_pruning(oracle.solve(high).kept)
        outer = groups.of_pruning(oracle.solve(low).kept) | inner
        if found is not None and int(arcs[outer & ~inner].sum()) > params.first_window_arcs:
            break
        found = Between(inner, outer, rates_of(high), rates_of(low))
    return found


def rows_window(oracle: LagrangianOracle, direction: NDArray[np.float64], between: Between) -> Window:
    """The window of several limits between two prunings, priced by a surrogate row."""
    rows, core = oracle.rows, oracle.problem
    part, taken = open_part(core, between.outer, between.inner), np.flatnonzero(between.inner).astype(np.int32)
    uses = RowUses.of(rows, oracle.own_of_groups, part.nodes, part.members).merged(part.group, part.price.size)
    if between.inner.any():
        uses = uses.after(oracle.uses(oracle.groups.kept(between.inner)))
    numbers = rows.problem.numbers
    if numbers.exact:
        gain_unit, base, spare = numbers.gain_unit, Fraction(0), 0
        gained = int(core.numbers.gain[between.inner].sum())
    else:
        scale = Scale.of(part)
        part, spare = real_window(part, scale, core.gain_lost[part.nodes])
        gain_unit, base, gained = scale.gain_unit, Fraction(float(oracle.gain[between.inner].sum())), 0
    whole = KnapsackCore(
        **part.arrays(), gained=gained, room=0, taken=(taken,), rounded=True, step=numbers.gain_step, uses=uses,
        box=None if between.high is None or between.low is None else (between.low, between.high),
    )  # fmt: skip
    priced = whole.at_direction(direction, gain_unit)
    assert priced is not None, "the box is around the direction"
    return Window(priced.trimmed(), gain_unit, base, Fraction(1), spare)


def real_window(part: OpenPart, scale: Scale, lost: NDArray[np.float64]) -> tuple[OpenPart, int]:
    """A part of real numbers in integers, and `Window.spare`: 2^-41 of its gain, 4.5e-13, below what is stated as rounding."""
    whole = scale.part(part, lost)
    return whole, whole.nodes.size + (int(np.abs(whole.gain).sum()) >> 41)


@dataclass(frozen=True)
class Scale:
    """Powers of two that turn real gains and costs into integers, whose sums fit `TOTAL_BITS`."""

    gain: int
    price: int

    @classmethod
    def of(cls, part: ParametricSubproblem) -> Self:
        """The finest scale for a part."""
        return cls(exponent_of(float(np.abs(part.gain).sum()) or 1.0), exponent_of(float(part.total_cost) or 1.0))

    @property
    def gain_unit(self) -> Fraction:
        """What an integer gain stands for."""
        return Fraction(2) ** -self.gain

    @property
    def price_unit(self) -> Fraction:
        """What an integer price stands for."""
        return Fraction(2) ** -self.price

    def part(self, part: OpenPart, lost: NDArray[np.float64]) -> OpenPart:
        """The part in integers: gains rounded up, of which floating point may have `lost` so much, and prices rounded down."""
        gain = np.ceil(ldexp(part.gain + lost, self.gain)).astype(np.int64)
        evaluation, price = (
            np.floor(ldexp(p * PRICE_MARGIN, self.price)).astype(np.int64) for p in (part.evaluation, part.price)
        )
        return replace(part, gain=gain, evaluation=evaluation, price=price)


class BestPruning:
    """The best pruning so far."""

    def __init__(self, rows: LimitRows, groups: Groups, pruning: Pruning) -> None:
        self.rows, self.groups, self.problem = rows, groups, rows.problem
        self.pruning, self.gain = pruning, gain_of(pruning)

    def start_from(self, incumbent: Pruning) -> None:
        """Replace the best pruning by the incumbent if that is better."""
        if incumbent.problem is not self.problem:
            raise InvalidInputError("incumbent belongs to another problem; give a pruning of this one")
        if not self.rows.within(incumbent):
            raise InvalidInputError(
                f"incumbent costs {incumbent.cost:.9g} and is not within {self.rows.limits}; give one that is"
            )
        self.offer_pruning(incumbent)

    def offer_pruning(self, pruning: Pruning) -> None:
        """Keep a pruning if it is better and within the limits."""
        gain = gain_of(pruning)
        if gain > self.gain and self.rows.within(pruning):
            self.pruning, self.gain = pruning, gain

    def pruning_of(self, core: KnapsackCore) -> Pruning:
        """The splits that a core has taken."""
        kept = np.zeros(self.groups.payer.size, dtype=bool)
        kept[np.concatenate([core.nodes[:0], *core.taken])] = True
        return Pruning(self.problem, self.groups.kept(kept))
