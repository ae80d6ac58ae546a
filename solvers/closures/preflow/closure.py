"""Maximum-weight closure by push-relabel, from any flow to begin with.

A split's profit may be handed to its parent, again and again, or spent on purchases of the splits on the way. With b the
*balance*, excess where it is positive and deficit where it is negative,

    b_h = profit_h + sum of what its children hand up - what it hands up - the flow on its usage arcs       h a split
    b_j = flow on its arcs - price_j                                                               j a purchase       (1)

Excess is shipped to deficits, along h -> parent(h) and u -> j without limit, and back along both as far as there is flow. For a
closure S with its purchases, sum over S of b = (profits of S) - (prices of S) + what flows into S, so

    value of any closure <= sum of all positive b,                                                                    (2)

with equality if and only if S contains every excess and no deficit, and no residual arc leaves it. Such S exist as soon as no
excess can reach a deficit: the smallest is what excess can reach, the largest what cannot reach a deficit. The remaining excess
need not be shipped back to its source, as a maximum flow requires.

Any start that satisfies (1) with b_h >= min(0, profit_h) is valid. So the flow of an earlier cut, at another lambda and in a
larger network, can be a start, once no split spends more than it has.

Goldberg and Tarjan (1988) for push-relabel, first in, first out; Cherkassky and Goldberg (1997) for exact labels now and then;
Gallo, Grigoriadis and Tarjan (1989) for going on from the flow of another lambda.
"""

from __future__ import annotations

import numpy as np

from formulations.errors import SolverFailedError
from formulations.instance.merging import starts_by_tail
from solvers.closures.cut import Closure, ClosureProblem, Ties
from solvers.closures.preflow.flow import Flow
from solvers.closures.preflow.kernels import cut


def preflow_closure(problem: ClosureProblem, *, ties: Ties = "smallest", start: Flow | None = None) -> tuple[Closure, Flow]:
    """A best closure and the flow that proves it.

    Parameters
    ----------
    problem
        parents before their children, usage arcs grouped by tail in ascending order; the sums of positive profits, of negative
        ones and of prices below 2^62.
    ties
        the smallest or the largest best closure.
    start
        any flow >= 0, also one that does not fit: it is cut down to what the splits have. Not changed.

    Returns
    -------
    Closure, Flow
        the closure's `duals` are the flow on usage arcs.

    Raises
    ------
    SolverFailedError
        if the closure is not worth what the flow leaves over: a fault of this solver.
    """
    flow = Flow.nothing(problem) if start is None else Flow(start.usage_flow.copy(), start.parent_flow.copy())
    keep, left, worth = cut(
        problem.profit,
        problem.parent,
        starts_by_tail(problem.tail, problem.profit.size).astype(np.int32),
        problem.tail,
        problem.head,
        problem.price,
        flow.usage_flow,
        flow.parent_flow,
        start is not None,
        ties == "smallest",
    )
    if left != worth:
        raise SolverFailedError(f"push-relabel left {left}, its closure is worth {worth}; please report this with the instance")
    arcs = problem.tail.size + problem.price.size + problem.profit.size + int(np.count_nonzero(problem.parent >= 0))
    return Closure(keep, int(left), arcs, lambda: flow.usage_flow), flow
