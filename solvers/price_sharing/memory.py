"""How many bytes an instance and its solution take, predicted from its sizes alone.

N rows, T trees with n nodes in all, n / 2 of them splits, M items, F features, B blocks of rows:

    table    4 N F                      the cost sample as float32
    routing  4 N T + 24 N               who reaches which node; weights, numbers of the rows
    nodes    105 n                      the trees, their errors and integers                                              (1)
    blocks   2 N T + 8 n B + 4 N        the routing again, in blocks of rows; see `formulations.instance.routing`
    run      51 n + 3 M N + 2 A         profits, scores, slices, levels of the splits; which purchases are paid; merged arcs

The bytes for each node are measured. A is at most N T M, and at most 32 million: where more would be left, rounds do not list
them, see `solvers.price_sharing.merged_usage`. The usage arcs of the core that is cut in the end are stored too, and their number
is not known beforehand: 50,000, or 2 n, or 20 million at a hard lambda. The cut takes 125 bytes for each that merging leaves, or
85 for each where nothing is merged, its proof 8 for each. So what the cut takes is predicted when the core is known, and no core
is cut that does not fit: `solvers.price_sharing.loop`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from formulations.answers.solution import StopReason, what_memory_left_open
from formulations.arguments import checked
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import BLOCK_ROWS
from formulations.memory import memory_free, readable
from solvers.price_sharing.params import SharingParams


@dataclass(frozen=True)
class MemoryNeeds:
    """Bytes by (1).

    Examples
    --------
    >>> import prunemodels as pm
    >>> needs = pm.engines.memory_needed(rows=1_000_000, trees=100, nodes=50_000, items=30)
    >>> print(f"{needs.total / 1e9:.1f} GB")
    0.8 GB
    """

    table: int
    routing: int
    nodes: int
    blocks: int
    run: int

    @property
    def total(self) -> int:
        """The sum; the interpreter and its libraries are not in it."""
        return self.table + self.routing + self.nodes + self.blocks + self.run

    def __str__(self) -> str:
        free = memory_free()
        return f"needs {readable(self.total)}" + ("" if free is None else f", {readable(free)} free")


@checked
def memory_needed(*, rows: int, trees: int, nodes: int, items: int, features: int = 0, on_disk: bool = False) -> MemoryNeeds:
    """Bytes that an instance of these sizes takes, from its table of rows to its solution by `price_sharing`.

    Parameters
    ----------
    rows, trees, nodes, items
        rows of the cost sample; trees of the forest; nodes in all trees together, leaves included; items of the costs.
    features
        columns of the table; 0: do not count the table.
    on_disk
        whether the routing is in a scratch folder: then no term of (1) that grows with N T or M N is in memory.

    Examples
    --------
    >>> import prunemodels as pm
    >>> needs = pm.engines.memory_needed(rows=1_000_000, trees=100, nodes=50_000, items=30)
    >>> print(f"{needs.total / 1e9:.1f} GB, of which the table of rows {needs.table / 1e9:.1f} GB")
    0.8 GB, of which the table of rows 0.0 GB
    """
    n_blocks = max(1, -(-rows // BLOCK_ROWS))
    return MemoryNeeds(
        table=4 * rows * features,
        routing=24 * rows + (0 if on_disk else 4 * rows * trees),
        nodes=105 * nodes,
        blocks=4 * rows + (0 if on_disk else 2 * rows * trees + 8 * nodes * n_blocks),
        run=51 * nodes + (0 if on_disk else 3 * items * rows) + min(SharingParams.most_bytes, 2 * rows * trees * items),
    )


def memory_of_run(problem: PruningProblem) -> int:
    """Bytes that `price_sharing` takes besides the instance itself."""
    needs = memory_needed(
        rows=problem.usage.n_rows,
        trees=problem.ensemble.n_trees,
        nodes=problem.ensemble.n_nodes,
        items=problem.costs.n_items,
        on_disk=problem.usage.routing.scratch is not None,
    )
    return needs.run + (0 if "row_blocks" in problem.usage.__dict__ else needs.blocks)


def warn_if_short(problem: PruningProblem) -> None:
    """Warn before a run that will not fit into memory.

    Warns
    -----
    RuntimeWarning
        with the bytes that it needs, and those that are free.
    """
    needed, free = memory_of_run(problem), memory_free()
    if free is not None and needed > free:
        warnings.warn(
            f"price sharing needs {readable(needed)} for {problem!r}, {readable(free)} are free: it may be stopped by "
            "the system; give fewer cost rows, fewer trees, or a machine with more memory",
            RuntimeWarning,
            stacklevel=4,  # the caller of the engine, whose arguments are checked in between
        )


def warn_if_undecided(
    lam: float | Fraction, stopped: StopReason, stats: Mapping[str, float], gap: float, relative_gap: float
) -> None:
    """Warn where the core did not fit into memory, so that the answer may not be the optimum; call it from an engine.

    Warns
    -----
    RuntimeWarning
        with what is left to decide, and what helps.
    """
    if stopped is StopReason.MEMORY_LIMIT:
        left = what_memory_left_open(stats, gap, relative_gap)
        warnings.warn(
            f"price sharing at lambda = {float(lam):.6g} stopped at the memory limit: {left}",
            RuntimeWarning,
            stacklevel=4,  # as above
        )
