"""The smallest or the largest of all closures that are optimal together with a guess, found without a cut.

Let A be optimal for all lambda of an open interval, as every closure between two breakpoints is. If removing a
set D leaves another optimum, D has value 0 at two lambdas, so it has neither gain nor price of its own. The same holds for every
single subtree of D, because none can have a negative value. Therefore

    A is the smallest optimum   <=>   no split of A has a subtree within A whose gains add up to nothing                    (1)
    A is the largest optimum    <=>   no closure outside A that A has paid for has gains that add up to nothing             (2)

Both are conditions on A alone. So an optimal guess that satisfies the condition is the optimum that `ties` asks for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solvers.closures.cut import ClosureProblem, Ties
from solvers.closures.tree_pass import best_closure_of_forest


def extreme(
    problem: ClosureProblem, gain: NDArray[np.int64], free: NDArray[np.bool_], keep: NDArray[np.bool_], ties: Ties
) -> NDArray[np.bool_]:
    """Take from the closure `keep` what violates (1), or add to it what violates (2); it is worth no less afterwards.

    Parameters
    ----------
    gain
        int64, shape (k,).
    free
        bool, shape (k,): splits whose evaluation costs nothing.
    """
    if ties == "smallest":
        return best_closure_of_forest(problem.parent, gain, keep, "smallest")
    paid = np.zeros(problem.price.size, dtype=bool)
    paid[problem.head[keep[problem.tail]]] = True
    allowed = free & ~keep
    allowed[problem.tail[~paid[problem.head]]] = False
    # a subtree below a kept split is a tree of its own
    parent = np.where(keep[problem.parent], np.int32(-1), problem.parent)
    return keep | best_closure_of_forest(parent, gain, allowed, "largest")
