"""The restricted master of NWS15's LP3, in which rows that are equal for the present columns are written once.

    minimise  sum_t sum_j alpha_{t,j} c_t theta_j + sum_c p_c w_c                                                           (1)
    coupling     y_u = sum_j alpha_{t,j} kept_j(u) <= w_c       for every row (u, c)                dual -q_{u,c} <= 0      (2)
    convexity    sum_j alpha_{t,j} = 1                          for every tree t                    dual  r_t               (3)

With the present columns the following is exact:

- Splits of a tree that the same columns keep have the same y, so that a purchase's rows for them are one row. Purchases that then
  have the same rows are one purchase at the sum of their prices. Its duals are divided among them in proportion to price     (4)
- If every column of a tree keeps u, then y_u = 1, and w_c = 1 for its purchases, which are a constant: such u bear the price (5)
- If no column keeps u, (2) holds for any w_c >= 0, and any q_{u,c} up to what is left of the price is optimal               (6)

The *frozen* charges use the freedom in (6): rows that no column touches keep the charges of a good starting point, and the other
rows share what is left of the price. If every frozen charge belongs to a purchase that is not made (w_c = 0), the duals are
feasible and complementary, and the answer is that of (1) to (3). Otherwise splits that are not kept bear a part of the price of a
purchase that is made, and the value is too low by that part. So when no column prices out any more, `refine` sets these charges
to 0.
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

LEAST_PURCHASE = 1e-9
"""A purchase counts as made if its w is larger than this."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """(4): the program row and the group of purchases of each open coupling row.

    Parameters
    ----------
    open_rows
        int64: the coupling rows concerned.
    place, share
        of each open row: its row in the program, and its share of that row's dual value.
    pattern, group
        of each row of the program: its pattern of splits and its group of purchases.
    price
        of each group of purchases.
    purchases, group_of_purchase
        the purchases of the open rows, and the group of each.
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
    """(1) to (6). The program is small and its rows change with every column, so each solve starts from scratch.

    Parameters
    ----------
    frozen
        float64, one for each coupling row, within the prices: the charges of (6), and the proportions of (5); None for zeros.
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
        """The number of columns, which are prunings of trees."""
        return len(self.columns)

    def add(self, columns: Sequence[TreePruning]) -> None:
        """Add columns that the master does not have yet."""
        self._refinement.add(columns)
        self.columns += columns

    def refine(self) -> bool:
        """Set the frozen charges of purchases that the last answer makes to 0; False if there are none: the master is exact."""
        if not self._lost.any():
            return False
        self._frozen[self._lost] = 0.0
        return True

    def solve(self, time_limit: float) -> MasterAnswer | None:
        """Solve with the columns so far. In the value, purchases cost their prices less the frozen charges."""
        coupling, patterns = self.coupling, self._refinement.patterns()
        at = patterns.of_node[coupling.node]
        never, always = patterns.never[at], patterns.always[at]
        charge = np.where(never, self._frozen, 0.0)
        price_left = np.maximum(coupling.price - coupling.by_purchase(charge), 0.0)
        bought = coupling.by_purchase(always.astype(np.float64)) > 0
        rows = self._aggregated(at, np.flatnonzero(~never & ~always & ~bought[coupling.purchase]), price_left)
        program = self._program(patterns, rows)
        solved = program.solve(time_limit)
        self.iterations += program.iterations
        self.n_rows = rows.pattern.size
        if not solved:
            return None
        charge[rows.open_rows] = np.maximum(-program.row_dual[rows.place], 0.0) * rows.share
        self._charge_always(charge, always, bought)
        # charges that all columns of a tree bear are a constant of (3)
        constant = np.bincount(coupling.problem.ensemble.tree_of[coupling.node], np.where(always, charge, 0.0), self._trees)
        convexity = program.row_dual[self.n_rows :] + constant
        w, alpha = program.x[: rows.price.size], program.x[rows.price.size :]
        made = bought.copy()
        made[rows.purchases] = w[rows.group_of_purchase] > LEAST_PURCHASE
        self._lost = never & made[coupling.purchase] & (self._frozen > 0)
        self.y = kept_levels(coupling, self.columns, alpha)
        upper = self.incumbent.offer_levels(self.y)
        return MasterAnswer(program.value + float(price_left[bought].sum()), upper, charge, convexity)

    @property
    def _trees(self) -> int:
        return self.coupling.problem.ensemble.n_trees

    def _aggregated(self, at: NDArray[np.int64], open_rows: NDArray[np.int64], price_left: NDArray[np.float64]) -> _Rows:
        """(4) for the open rows; `at` is the pattern of every row, `price_left` what is left of each purchase's price."""
        purchases, head = np.unique(self.coupling.purchase[open_rows], return_inverse=True)
        patterns = int(at.max(initial=0)) + 1
        pairs, pair, times = np.unique(head * patterns + at[open_rows], return_inverse=True, return_counts=True)
        pair_head, pair_pattern = np.divmod(pairs, patterns)
        purchase_price = price_left[purchases]
        none = np.zeros(purchases.size, dtype=np.int64)
        merged = merge_purchases(pair_pattern.astype(np.int32), pair_head.astype(np.int32), none)
        representative = merged.representative.astype(np.int64)
        groups, group = np.unique(representative, return_inverse=True)
        price = np.bincount(group, purchase_price, minlength=groups.size).astype(np.float64)
        # the pairs of a purchase are in the same order as those of its representative
        first = np.searchsorted(pair_head, np.arange(purchases.size))
        twin = first[representative[pair_head]] + np.arange(pairs.size) - first[pair_head]
        number = np.full(pairs.size, -1, dtype=np.int64)
        number[merged.arc] = np.arange(merged.arc.size)
        total = price[group]
        part = np.divide(purchase_price, total, out=np.zeros_like(purchase_price), where=total > 0)
        share = part[head] / times[pair]
        row_group = group[pair_head[merged.arc]]
        return _Rows(open_rows, number[twin[pair]], share, pair_pattern[merged.arc], row_group, price, purchases, group)

    def _program(self, patterns: Patterns, rows: _Rows) -> GrowingProgram:
        """The program (1) to (3): first the columns w, then alpha."""
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
        price_left = np.where(bought, np.maximum(coupling.price - coupling.by_purchase(charge), 0.0), 0.0)
        weight = np.where(always, self._weight, 0.0)
        total = coupling.by_purchase(weight)
        rate = np.divide(price_left, total, out=np.zeros_like(price_left), where=total > 0)
        charge[always] = (rate[coupling.purchase] * weight)[always]
