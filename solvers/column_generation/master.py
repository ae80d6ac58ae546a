"""The restricted master of NWS15's LP3 with all rows that are the same row at present written once.

    minimise  sum_t sum_j alpha_{t,j} c_t theta_j + sum_c p_c w_c                                                           (1)
    coupling     y_u = sum_j alpha_{t,j} kept_j(u) <= w_c       for every row (u, c)                dual -q_{u,c} <= 0      (2)
    convexity    sum_j alpha_{t,j} = 1                          for every tree t                    dual  r_t               (3)

With the columns at hand, exactly:

- splits of a tree that the same columns keep have the same y; a purchase's rows for them are one row, and purchases whose rows
  are the same then are one purchase at the sum of their prices. Its duals are shared among its members in proportion to price (4)
- where every column of a tree keeps u, y_u = 1 and so w_c = 1 for its purchases: a constant; those u bear the price      (5)
- where no column keeps u, (2) is void, and any q_{u,c} that the price leaves room for is optimal                           (6)

Of the freedom in (6) the *frozen* charges make use: rows that no column touches keep those of a good starting point, the others
share what is left of the price. The answer is that of (1) to (3) where every frozen charge stands at a purchase that is not made
(w_c = 0): the duals are feasible and complementary. Elsewhere the price of a purchase that is made is partly borne by splits that
are not kept, and the value is too low by that. So when no column prices out any more, `refine` sets these charges to 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.instance.merging import merge_purchases
from solvers.column_generation.coupling import Coupling
from solvers.column_generation.full_master import kept_levels
from solvers.column_generation.incumbent import Incumbent
from solvers.column_generation.loop import MasterAnswer
from solvers.column_generation.patterns import Patterns, Refinement
from solvers.column_generation.pricing import TreePruning
from solvers.column_generation.simplex import GrowingProgram
from solvers.programs.engines.scaling import exponent_of

MADE = 1e-9
"""A purchase with a larger w counts as made."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """(4): which program row and group of purchases each open coupling row belongs to.

    `open_rows` are coupling rows; `place` their program rows, `share` their parts of those duals. `pattern` and `group` are of
    the program rows, `price` of the groups, `group_of_purchase` of `purchases`, those of the open rows.
    """

    open_rows: NDArray[np.int64]
    place: NDArray[np.int64]
    share: NDArray[np.float64]
    pattern: NDArray[np.int64]
    group: NDArray[np.int64]
    price: NDArray[np.float64]
    purchases: NDArray[np.int32]
    group_of_purchase: NDArray[np.int64]


class AggregatedMaster:
    """(1) to (6). The program is small and changes its rows with every column, so it is solved from scratch.

    Parameters
    ----------
    frozen
        float64, one a coupling row, within the prices: the charges of (6), and the proportions of (5); None for zeros.
    """

    def __init__(self, coupling: Coupling, incumbent: Incumbent, frozen: NDArray[np.float64] | None = None) -> None:
        self.coupling, self.incumbent = coupling, incumbent
        self.columns: list[TreePruning] = []
        self.y: NDArray[np.float64] | None = None
        self._refinement = Refinement(coupling.problem.ensemble)
        self._frozen = np.zeros(coupling.n_rows) if frozen is None else coupling.within_prices(frozen).copy()
        self._weight = self._frozen + 1e-9 * coupling.price[coupling.purchase]
        self._lost = np.zeros(coupling.n_rows, dtype=bool)
        self._exponent = exponent_of(np.append(coupling.price, coupling.stop))
        self.tolerance = float(np.ldexp(1e-7, -self._exponent))
        self.iterations = 0.0
        self.n_rows = 0

    @property
    def n_columns(self) -> int:
        """Prunings of trees."""
        return len(self.columns)

    def add(self, columns: Sequence[TreePruning]) -> None:
        """Columns, of which the master has none yet."""
        self._refinement.add(columns)
        self.columns += columns

    def refine(self) -> bool:
        """Drop the frozen charges of purchases that the last answer makes; False if there are none, and the master is exact."""
        if not self._lost.any():
            return False
        self._frozen[self._lost] = 0.0
        return True

    def solve(self, time_limit: float) -> MasterAnswer | None:
        """The master with the columns so far; its value counts purchases at what frozen charges leave of their prices."""
        coupling, patterns = self.coupling, self._refinement.patterns()
        at = patterns.of_node[coupling.node]
        never, always = patterns.never[at], patterns.always[at]
        charge = np.where(never, self._frozen, 0.0)
        left = np.maximum(coupling.price - coupling.by_purchase(charge), 0.0)
        bought = coupling.by_purchase(always.astype(np.float64)) > 0
        rows = self._aggregated(at, np.flatnonzero(~never & ~always & ~bought[coupling.purchase]), left)
        program = self._program(patterns, rows)
        solved = program.solve(time_limit)
        self.iterations += program.iterations
        self.n_rows = rows.pattern.size
        if not solved:
            return None
        charge[rows.open_rows] = np.maximum(-program.row_dual[rows.place], 0.0) * rows.share
        self._charge_always(charge, always, bought)
        # what all columns of a tree bear is a constant of (3)
        constant = np.bincount(coupling.problem.ensemble.tree_of[coupling.node], np.where(always, charge, 0.0), self._trees)
        convexity = program.row_dual[self.n_rows :] + constant
        w, alpha = program.x[: rows.price.size], program.x[rows.price.size :]
        made = bought.copy()
        made[rows.purchases] = w[rows.group_of_purchase] > MADE
        self._lost = never & made[coupling.purchase] & (self._frozen > 0)
        self.y = kept_levels(coupling, self.columns, alpha)
        upper = self.incumbent.offer_levels(self.y)
        return MasterAnswer(program.value + float(left[bought].sum()), upper, charge, convexity)

    @property
    def _trees(self) -> int:
        return self.coupling.problem.ensemble.n_trees

    def _aggregated(self, at: NDArray[np.int64], open_rows: NDArray[np.int64], left: NDArray[np.float64]) -> _Rows:
        """(4) for the open rows, `at` being the pattern of every row and `left` what is left of each price."""
        purchases, head = np.unique(self.coupling.purchase[open_rows], return_inverse=True)
        patterns = int(at.max(initial=0)) + 1
        pairs, pair, times = np.unique(head * patterns + at[open_rows], return_inverse=True, return_counts=True)
        pair_head, pair_pattern = np.divmod(pairs, patterns)
        remaining = left[purchases]
        none = np.zeros(purchases.size, dtype=np.int64)
        merged = merge_purchases(pair_pattern.astype(np.int32), pair_head.astype(np.int32), none)
        stands_for = merged.representative.astype(np.int64)
        groups, group = np.unique(stands_for, return_inverse=True)
        price = np.bincount(group, remaining, minlength=groups.size).astype(np.float64)
        # a purchase's pairs stand in the same order as those of the one that stands for it
        first = np.searchsorted(pair_head, np.arange(purchases.size))
        twin = first[stands_for[pair_head]] + np.arange(pairs.size) - first[pair_head]
        number = np.full(pairs.size, -1, dtype=np.int64)
        number[merged.arc] = np.arange(merged.arc.size)
        total = price[group]
        part = np.divide(remaining, total, out=np.zeros_like(remaining), where=total > 0)
        share = part[head] / times[pair]
        of = group[pair_head[merged.arc]]
        return _Rows(open_rows, number[twin[pair]], share, pair_pattern[merged.arc], of, price, purchases, group)

    def _program(self, patterns: Patterns, rows: _Rows) -> GrowingProgram:
        """(1) to (3): the columns w, then alpha."""
        m, trees, n = rows.pattern.size, self._trees, len(self.columns)
        one = np.ones(trees)
        lower, upper = np.concatenate([np.full(m, -np.inf), one]), np.concatenate([np.zeros(m), one])
        program = GrowingProgram(lower, upper, self._exponent, presolve=True)
        w = sparse.csc_array((np.full(m, -1.0), (np.arange(m), rows.group)), shape=(m + trees, rows.price.size))
        tree = np.array([c.tree for c in self.columns])
        convexity = sparse.csr_array((np.ones(n), (tree, np.arange(n))), shape=(trees, n))
        program.add(rows.price, w)
        alpha = sparse.vstack([patterns.members[rows.pattern], convexity], format="csc")
        program.add(np.array([c.cost for c in self.columns]), alpha)
        return program

    def _charge_always(self, charge: NDArray[np.float64], always: NDArray[np.bool_], bought: NDArray[np.bool_]) -> None:
        """(5): splits that all columns keep bear what is left of the prices, in proportion to the frozen charges of the start."""
        coupling = self.coupling
        left = np.where(bought, np.maximum(coupling.price - coupling.by_purchase(charge), 0.0), 0.0)
        weight = np.where(always, self._weight, 0.0)
        total = coupling.by_purchase(weight)
        rate = np.divide(left, total, out=np.zeros_like(left), where=total > 0)
        charge[always] = (rate[coupling.purchase] * weight)[always]
