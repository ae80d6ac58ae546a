"""The best mixture of some prunings: a small convex program, to high accuracy.

    minimise  phi(a) = L(sum_k a_k F_k) + sum_k a_k c_k        a_k >= 0,   sum_k a_k = 1                              (1)

F_k are the predictions of pruning k, and c_k is lam times its cost. The cost is convex, so (1) is at least (ENS) at the mixture
of the prunings' splits. (1) is solved by Newton's method: each step minimises a quadratic model of phi over the simplex by an
active-set method, and is shortened until phi falls. For the squared loss the model is phi itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.instance.ensemble_loss import EnsembleProblem

MOST_NEWTON_STEPS = 60
"""Most Newton steps; the squared loss takes one or two, the log loss about ten."""

ACCURACY = 1e-9
"""(1) counts as solved if its Frank-Wolfe gap is at most this share of |phi|."""

RIDGE = 1e-9
"""This share of the mean curvature is added to the quadratic model, so that equal predictions have unique weights."""


@dataclass(frozen=True, eq=False)
class ConvexCombination:
    """Weights of (1), the mixed predictions, and the value of phi."""

    weights: NDArray[np.float64]
    predictions: NDArray[np.float64]
    value: float


def best_combination(
    problem: EnsembleProblem, F: NDArray[np.float64], costs: NDArray[np.float64], start: NDArray[np.float64]
) -> ConvexCombination:
    """Solve (1).

    Parameters
    ----------
    F
        float64, shape (K, R, C): predictions of K prunings.
    costs
        shape (K,): lam times cost.
    start
        shape (K,), weights in the simplex. The answer is never worse than these.
    """
    a = start
    mixed, value = _at(problem, F, costs, a)
    for _ in range(MOST_NEWTON_STEPS):
        gradient = np.tensordot(F, problem.slopes(mixed), axes=2) + costs
        if float(a @ gradient - gradient.min()) <= ACCURACY * abs(value):
            break
        curvature = problem.share[:, None] * problem.loss.curvatures(mixed)
        flat = F.reshape(len(F), -1)
        model = (flat * curvature.ravel()) @ flat.T
        model[np.diag_indices_from(model)] += RIDGE * float(np.trace(model)) / len(F) + 1e-300
        towards = minimise_on_simplex(model, gradient - model @ a, a)
        taken = _shortened(problem, F, costs, (a, mixed, value), towards, float(gradient @ (towards - a)))
        if taken is None:
            break
        a, mixed, value = taken
    return ConvexCombination(a, mixed, value)


def minimise_on_simplex(Q: NDArray[np.float64], b: NDArray[np.float64], start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimise a.Q.a / 2 + b.a over the simplex for a positive definite Q, by an active-set method from a feasible `start`."""
    a, free = start.copy(), start > 0
    for _ in range(10 * b.size + 10):
        goal = _on_face(Q, b, free)
        below = goal < 0
        if below.any():  # go to the boundary of the simplex, and fix the first weight that becomes 0 there
            room = np.full(b.size, np.inf)
            room[below] = a[below] / (a[below] - goal[below])
            k = int(np.argmin(room))
            a = a + room[k] * (goal - a)
            free[k] = False
            a[~free] = 0.0
            continue
        a = goal
        slope = Q @ a + b
        floor = float(a @ slope)
        k = int(np.argmin(slope))
        if free[k] or slope[k] >= floor - 1e-13 * float(np.abs(slope).max()):
            break
        free[k] = True
    a = np.maximum(a, 0.0)
    return np.asarray(a / a.sum())


def _on_face(Q: NDArray[np.float64], b: NDArray[np.float64], free: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The minimum over sum a = 1 where only `free` weights are not 0. The last free weight is 1 less the sum of the others.

    With a multiplier for the sum instead, numbers as large as 1 / RIDGE would cancel, and slopes would be wrong by 1e-7.
    """
    *others, last = np.flatnonzero(free).tolist()
    a = np.zeros(b.size)
    model = Q[np.ix_(others, others)] - Q[others, last][:, None] - Q[last, others] + Q[last, last]
    a[others] = np.linalg.solve(model, b[last] - b[others] + Q[last, last] - Q[others, last])
    a[last] = 1.0 - a[others].sum()
    return a


def _at(
    problem: EnsembleProblem, F: NDArray[np.float64], costs: NDArray[np.float64], a: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """The mixed predictions and phi at the weights a."""
    mixed: NDArray[np.float64] = np.tensordot(a, F, axes=1)
    return mixed, problem.loss_of(mixed) + float(a @ costs)


def _shortened(
    problem: EnsembleProblem,
    F: NDArray[np.float64],
    costs: NDArray[np.float64],
    current: tuple[NDArray[np.float64], NDArray[np.float64], float],
    towards: NDArray[np.float64],
    slope: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float] | None:
    """The first of the steps 1, 1/2, 1/4 ... that lowers phi by at least a hundredth of what its slope predicts, or None."""
    a, _, value = current
    step = 1.0
    while step > 1e-9 and slope < 0:
        trial = a + step * (towards - a)
        mixed, trial_value = _at(problem, F, costs, trial)
        if trial_value <= value + 0.01 * step * slope:
            return trial, mixed, trial_value
        step /= 2
    return None
