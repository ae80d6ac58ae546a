"""Dantzig-Wolfe decomposition of IP3's relaxation (NWS15 section 5), from an instance to a proven pruning.

Columns are prunings of single trees, the coupling rows y_u <= w_j stay in the master (LP3, LP4). The relaxation is integral, so
at the end the best level set of the master's mixture of columns is an optimal pruning. The charges of the best bound, rounded to
integers, are the certificate.

The answer tells which columns entered the master in which round, and the dual values by name. A column is a pruning of one tree.
It enters where its reduced cost (2) of `solvers.column_generation.loop` is negative. The dual values are those of the best bound,
one for each coupling row: what a split pays of the price of an item for an example.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.solution import ItemDuals, Solution, Status, StopReason
from formulations.arguments import NotNegative, Range, Seconds, checked, checking
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from formulations.long_steps import interruption_as_error
from solvers.closures.integer_objective import integer_objective, useful_rate
from solvers.closures.min_cut import proven_bound
from solvers.closures.tree_pass import free_of_charge
from solvers.column_generation.bundle import BundleMaster, SoftPrices
from solvers.column_generation.full_master import FullMaster, MasterBuilder, OwnMaster
from solvers.column_generation.loop import Entry, Round, generate_columns
from solvers.column_generation.params import DEFAULTS, ColumnParams
from solvers.column_generation.pricing import AnyPricing, Coupling, Incumbent, TreePricing, TreePruning, columns_of
from solvers.programs.rounding import is_integral

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class DantzigWolfeSolution(Solution):
    """A `Solution` that tells how it was found, as tables.

    Parameters
    ----------
    entered
        the columns in the order in which they entered; those of round 0 were there from the start.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> solution = pm.engines.dantzig_wolfe(problem, 0.01, scheme="plain")
    >>> solution.columns().query("entered == 1").head(2).round(4)
        entered  tree  splits    cost  reduced_cost
    16        1     0       7  0.0060       -0.0062
    17        1     1       7  0.0025       -0.0068
    >>> solution.duals().nlargest(1, "dual").round(5)
            item  example  tree  split    feature     dual
    0  concavity        1     0      0  concavity  0.00033
    """

    entered: tuple[Entry[TreePruning], ...] = ()

    def rounds(self) -> pd.DataFrame:
        """A row for each round.

        Returns
        -------
        DataFrame
            ``master_value``, the restricted master's optimum; ``value`` and ``bound``, the best so far, and ``round_bound``, this
            round's; ``gap``, (value - bound) / (the all-roots forest's value - bound), as `relative_gap`, not relative to the
            value; ``columns`` before the round, and ``added``; ``alpha``, the smoothing; ``master_seconds``, ``pricing_seconds``,
            and ``seconds`` since the generation began.
        """
        import pandas as pd

        table = pd.DataFrame(dict(self.history))
        return table.set_index(pd.RangeIndex(1, len(table) + 1, name="round"))

    def columns(self) -> pd.DataFrame:
        """A row for each column of the master.

        Returns
        -------
        DataFrame
            ``entered``, the round in which it did, 0 for the first ones; ``tree``; ``splits`` that it keeps; ``cost`` in (OBJ),
            without dual values; ``reduced_cost`` at the master's dual values of its round, NaN for the first ones.
        """
        import pandas as pd

        rows = [(e.round, e.column.tree, e.column.kept.size, e.column.cost, e.reduced_cost) for e in self.entered]
        return pd.DataFrame(rows, columns=["entered", "tree", "splits", "cost", "reduced_cost"])

    def duals(self) -> pd.DataFrame:
        """A row for each coupling row whose dual value is not 0, at the best bound.

        Returns
        -------
        DataFrame
            ``item`` and ``example`` (its row in the cost sample, -1 for an item that is paid once) of the purchase; ``tree``,
            ``split`` and ``feature`` of the split that pays a part of its price; ``dual``, this part in (OBJ), >= 0.
        """
        import pandas as pd

        problem, certificate = self.problem, self.certificate
        assert isinstance(certificate, ItemDuals), "the engine's own"
        n, names, ensemble = problem.usage.n_rows, np.array(problem.costs.names, dtype=object), problem.ensemble
        arcs = problem.usage.arcs()
        payments = np.flatnonzero(certificate.dual)
        split, head = arcs.tail[payments], arcs.head[payments].astype(np.int64)
        once = head >= problem.costs.n_items * n
        item = np.where(once, head - problem.costs.n_items * n, head // n)
        example = np.where(once, -1, problem.usage.rows[np.where(once, 0, head % n)])
        feature = np.array(ensemble.names, dtype=object)[ensemble.feature[split]]
        unit = float(certificate.unit)
        return pd.DataFrame(
            {
                "item": names[item],
                "example": example,
                "tree": ensemble.tree_of[split],
                "split": split,
                "feature": feature,
                "dual": certificate.dual[payments] * unit,
            }
        )


MasterKind = Literal["bundle", "linear program"]

AnyMaster = MasterKind | MasterBuilder


@checked
@dataclass(frozen=True)
class Scheme:
    """Options of the decomposition; the defaults are the fast ones.

    Parameters
    ----------
    master
        ``"bundle"``: charges far from the best ones pay for the distance, see `solvers.column_generation.bundle`.
        ``"linear program"``: the restricted master of NWS15's LP3, with a row for each usage; HiGHS goes on from its last basis.
        Or a master of your own, a function that is given the `Coupling` and returns a `TreeMaster`.
    smoothing
        alpha in [0, 1), for the linear program. Pricing uses alpha times the charges of the best bound plus 1 - alpha times the
        master's; 0 is no smoothing.
    merge
        True: one purchase for all purchases with the same users, and no row for a purchase with a single user. False: a row for
        each usage arc.
    look
        True: in every round, value prunings of the forest (level sets of the master's mixture, and what pricing found), and stop
        as soon as the bound meets the best of them. False: only the master's value counts, and a pruning is made at the end.

    Raises
    ------
    InvalidInputError
        for numbers out of range, and for options that the master does not have.

    Examples
    --------
    >>> import prunemodels as pm
    >>> smoothed = pm.engines.Scheme(master="linear program", smoothing=0.5)
    >>> pm.engines.dantzig_wolfe(pm.datasets.two_trees(), 0.1, scheme=smoothed).pruning
    Pruning(cost=3, error=0.125, 5 splits)
    """

    master: AnyMaster = "bundle"
    smoothing: Annotated[float, Range(0, 1, open_above=True)] = 0.0
    merge: bool = True
    look: bool = True

    def __post_init__(self) -> None:
        if self.master == "bundle" and self.smoothing:
            raise InvalidInputError(f"smoothing is {self.smoothing!r}, but a bundle stays near its centre instead; leave it 0")
        if self.master == "bundle" and not self.look:
            raise InvalidInputError("look is False, but a bundle needs a pruning's value to tell the gap; leave it True")


BUNDLE = Scheme()
"""Column generation with a proximal bundle master, from equal shares of the prices."""

PLAIN = Scheme(master="linear program", merge=False, look=False)
"""The textbook version: a row for each usage arc, two first columns for each tree, and pricing at the master's own duals."""

SCHEMES = {"bundle": BUNDLE, "plain": PLAIN}

AnyScheme = Scheme | Literal["bundle", "plain"]


def scheme_of(scheme: AnyScheme) -> Scheme:
    """The scheme of that name."""
    return SCHEMES[scheme] if isinstance(scheme, str) else scheme


@checking
def dantzig_wolfe(
    problem: PruningProblem,
    lam: float,
    *,
    time_limit: Seconds = math.inf,
    gap: NotNegative = 1e-9,
    rounds: NotNegative = math.inf,
    pricing: AnyPricing = "shortest paths",
    scheme: AnyScheme = "bundle",
    master: AnyMaster | None = None,
    progress: Callable[[Round], None] | None = None,
    params: ColumnParams = DEFAULTS,
) -> DantzigWolfeSolution:
    """The optimum by Dantzig-Wolfe decomposition of IP3's relaxation.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    time_limit
        seconds, including the start. When they are over, the call returns the best pruning and the best bound so far.
    gap
        stop at this relative gap, see `Solution.relative_gap`. The status is OPTIMAL if the final gap is at most the larger of
        it and 1e-6.
    rounds
        largest number of solves of the master.
    pricing
        "shortest paths": every tree's cheapest pruning as a shortest path, by OR-Tools' minimum cost flow. "tree pass": by
        our own pass over the trees, which is faster. Or a function such as `price_by_tree_pass`: it is given the problem, what
        each node costs as a leaf and each split if it is kept, and returns `CheapestPrunings`.
    scheme
        ``"bundle"``, ``"plain"`` (the textbook's), or any other `solvers.column_generation.Scheme`. Where a bundle makes no more
        progress, the textbook's master goes on with its columns.
    master
        in place of the scheme's: ``"bundle"``, ``"linear program"``, or a function that makes a master of your own, see `Scheme`.
    progress
        called after every round.
    params
        other numbers than those that the decomposition is tuned by.

    Returns
    -------
    DantzigWolfeSolution
        with `ItemDuals` as certificate; `StopReason.STALLED` if floating point hides what is left of the gap. Columns of
        ``history``, one number for each round, in (OBJ): the fields of `solvers.column_generation.loop.Round`.
        ``columns()`` and ``duals()`` are tables of the columns by round and of the dual values by name.

    Raises
    ------
    InvalidInputError
        for numbers out of range and arrays of the wrong size.
    SolverFailedError
        if HiGHS fails, or if pricing returns a column that the master already has.
    InterruptedSolveError
        if Ctrl-C arrived meanwhile.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> solution = pm.engines.dantzig_wolfe(problem, 0.01)
    >>> print(f"value {solution.value:.5f}, gap at most 1e-9: {solution.gap <= 1e-9}")
    value 0.18343, gap at most 1e-9: True
    """
    rate = exact(lam, "lam")
    with interruption_as_error("during Dantzig-Wolfe decomposition"):
        chosen = scheme_of(scheme) if master is None else replace(scheme_of(scheme), master=master)
        run = _DantzigWolfe(problem, float(useful_rate(problem, rate)), chosen, pricing, params)
        return run.solve(lam, time_limit, gap, rounds, progress)


@dataclass(frozen=True, eq=False)
class _First:
    """The first charges, one for each coupling row, the Lagrangian bound there, and the first columns, each once."""

    charge: NDArray[np.float64]
    bound: float
    columns: list[TreePruning]


class _DantzigWolfe:
    """One run of the decomposition."""

    def __init__(self, problem: PruningProblem, rate: float, scheme: Scheme, pricing: AnyPricing, params: ColumnParams) -> None:
        self.started = time.perf_counter()
        self.problem, self.scheme, self.params = problem, scheme, params
        self.coupling = Coupling.build(problem, rate, merge=scheme.merge)
        self.incumbent = Incumbent(Pruning(problem, free_of_charge(problem, "smallest")), rate)
        self.pricing = TreePricing(self.coupling, pricing, self.incumbent if scheme.look else None)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def solve(
        self, lam: float, time_limit: float, gap: float, rounds: float, progress: Callable[[Round], None] | None
    ) -> DantzigWolfeSolution:
        """Find first columns, generate the others, and prove the bound."""
        # the columns of the start, then all that price out
        first = self.start()
        start_seconds = self.seconds
        self.master = self._first_master(first)
        bundle = self.master if isinstance(self.master, BundleMaster) else None
        found = generate_columns(
            self.master,
            self.pricing,
            reference=self.coupling.reference,
            gap=gap,
            tolerance=self.master.tolerance,
            time_limit=time_limit - start_seconds,
            rounds=rounds,
            smoothing=self.scheme.smoothing,
            best=(first.charge, first.bound) if bundle else None,
            known=first.columns,
            judge=bundle.judge if bundle else None,
            exact_master=self._textbook_master if bundle else None,
            progress=progress,
        )
        # the answer: the best pruning that was met, and a bound proven in integers
        master = self.master
        if master.y is not None:
            self.incumbent.offer_levels(master.y)
        pruning, rate = self.incumbent.pruning, exact(lam, "lam")
        objective = integer_objective(self.problem, rate).refined()
        duals = self.coupling.duals(np.zeros(self.coupling.n_rows) if found.charge is None else found.charge, objective)
        bound = proven_bound(self.problem, objective, duals, pruning, rate)
        # what is reported
        stats = {
            "seconds": self.seconds,
            "start_seconds": start_seconds,
            **found.stats(),
            "columns": float(master.n_columns),
            "rows": float(master.n_rows),
            "coupling_rows": float(self.coupling.n_rows),
            "iterations": master.iterations,
        }
        if master.y is not None:
            stats["integral"] = float(is_integral(master.y))
        value = pruning.value(float(lam))
        tolerance, history = max(gap, self.params.proven), found.history()
        how = found.stopped, duals, stats, "dantzig_wolfe", history, found.entered
        solution = DantzigWolfeSolution(self.problem, lam, pruning, value, bound, *how)
        if found.stopped is StopReason.CONVERGED and found.gap > tolerance and solution.status is not Status.OPTIMAL:
            return replace(solution, stopped=StopReason.STALLED)
        return solution

    def _first_master(self, first: _First) -> BundleMaster | FullMaster | OwnMaster:
        """The restricted master with the first columns."""
        master: BundleMaster | FullMaster | OwnMaster
        offer = self.incumbent.offer_levels if self.scheme.look else None
        if self.scheme.master == "bundle":
            master = BundleMaster(self.coupling, self.incumbent, np.zeros(self.coupling.stop.size), first.bound, self.params)
        elif self.scheme.master == "linear program":
            master = FullMaster(self.coupling, offer)
        else:
            master = OwnMaster(self.coupling, self.scheme.master, offer, self.params)
        master.add(first.columns)
        return master

    def _textbook_master(self) -> FullMaster:
        """The linear program with the bundle's columns."""
        assert isinstance(self.master, BundleMaster), "it follows a bundle"
        columns, self.master = self.master.bundle.columns, FullMaster(self.coupling, self.incumbent.offer_levels)
        self.master.add(columns)
        return self.master

    def start(self) -> _First:
        """The first charges, which share each price equally, their bound and the first columns."""
        unpruned = self.problem.ensemble.is_split
        both = [*columns_of(self.coupling, np.zeros_like(unpruned)), *columns_of(self.coupling, unpruned)]
        charge, bound = SoftPrices(self.coupling).shares(np.zeros(unpruned.size))[0], -math.inf
        if self.scheme.master == "bundle":
            found = self.pricing.price(charge)
            charge, bound = found.charge, found.bound
            both += [*columns_of(self.coupling, self.incumbent.pruning.kept), *found.columns]
        return _First(charge, bound, list({c.key: c for c in both}.values()))
