"""What is known of each formulation before it is built: one record, from which registries, tables and messages follow.

Nothing is imported here but what Python has, so that the command line knows the names at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from formulations.errors import InvalidInputError


@dataclass(frozen=True)
class Size:
    """Rows, columns and nonzeros of a constraint matrix."""

    rows: int
    columns: int
    nonzeros: int


@dataclass(frozen=True)
class Counts:
    """What the sizes of formulations consist of."""

    leaves: int
    nodes: int
    splits: int
    below: int  # splits that are no roots
    cut: int  # entries of the rows for leaves: a leaf and all above it
    arcs: int = 0  # of the formulation's purchases
    on_paths: int = 0  # nodes at and above the ends of these arcs
    purchases: int = 0
    evaluated: int = 0  # nodes at which evaluation costs something


@dataclass(frozen=True)
class Formulation:
    """One of the papers' formulations.

    Parameters
    ----------
    takes
        the number that it is built with: ``"lam"``, ``"budget"``, or None where it has none, nor any purchases to merge.
    model
        the function that builds the Pyomo model, as ``"module:function"`` with a module of `formulations.models`.
    matrix
        the function of `formulations.programs.matrix` that builds the same rows as arrays; None: there are only models.
    size
        of that matrix; given where `matrix` is.
    arcs
        those of `formulations.programs.linear_program` that bind its purchases to nodes.
    binding_rows
        the rows of these arcs, one for each, whose dual values say how much of a purchase each node pays. None: it has no such
        rows.
    one_tree
        whether it is for a single tree, in which a purchase has one user, who pays it all.
    integral
        whether the vertices of its relaxation are integral; else its bound may be below the optimum.
    """

    takes: Literal["lam", "budget"] | None
    model: str
    matrix: str | None = None
    size: Callable[[Counts], Size] | None = None
    arcs: Literal["usage", "naive"] = "usage"
    binding_rows: str | None = None
    one_tree: bool = False
    integral: bool = True


BY_NAME: dict[str, Formulation] = {
    "IP0": Formulation(
        takes=None,
        model="nws15:build_ip0",
        matrix="ip0_matrix",
        size=lambda n: Size(n.leaves, n.nodes, n.cut),
    ),
    "IP1": Formulation(
        takes="lam",
        model="nws15:build_ip1",
        matrix="ip1_matrix",
        size=lambda n: Size(n.leaves + n.arcs, n.nodes + n.purchases, n.cut + 2 * n.arcs),
        arcs="naive",
        binding_rows="naive_usage",
        integral=False,
    ),
    "IP2": Formulation(
        takes="lam",
        model="nws15:build_ip2",
        matrix="ip2_matrix",
        size=lambda n: Size(n.leaves + n.arcs, n.nodes + n.purchases, n.cut + n.on_paths + n.arcs),
        one_tree=True,
    ),
    "IP3": Formulation(
        takes="lam",
        model="nws15:build_ip3",
        matrix="ip3_matrix",
        size=lambda n: Size(n.leaves + 2 * n.arcs, n.nodes + n.arcs + n.purchases, n.cut + n.on_paths + 3 * n.arcs),
        binding_rows="coupling",
    ),
    "LP1": Formulation(
        takes="budget",
        model="nws15:build_lp1",
        matrix="lp1_matrix",
        size=lambda n: Size(
            n.leaves + 2 * n.arcs + 1,
            n.nodes + n.arcs + n.purchases,
            n.cut + n.on_paths + 3 * n.arcs + n.purchases + n.evaluated,
        ),
        binding_rows="coupling",
        integral=False,
    ),
    "closure": Formulation(
        takes="lam",
        model="nws15:build_closure",
        matrix="closure_matrix",
        size=lambda n: Size(n.below + n.arcs, n.splits + n.purchases, 2 * n.below + 2 * n.arcs),
        binding_rows="usage",
    ),
}
"""The formulations by the papers' names. A new one is one file in `formulations.models` and one record here."""

AS_ARRAYS = tuple(name for name, known in BY_NAME.items() if known.matrix)
"""The names of those that can be built as arrays."""


def formulation_named(name: str, among: Collection[str] = AS_ARRAYS) -> Formulation:
    """A formulation; a name that is none of those is refused."""
    if name not in among:
        raise InvalidInputError(f"there is no formulation {name!r}; there are {', '.join(among)}")
    return BY_NAME[name]
