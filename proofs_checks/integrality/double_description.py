"""The extreme rays of a cone: double description, in integers.

    C = {r :  E r = 0,  A r >= 0}                                                                                (1)

Constraints are taken up one by one, with the extreme rays and the lines of what there is so far. A new one, a, keeps the rays
with a r >= 0, and for every adjacent pair p, q with a p > 0 > a q adds

    (a p) q - (a q) p,                                                                                             (2)

over its greatest common divisor. Two rays are adjacent if and only if no third one is tight wherever both are (Motzkin, Raiffa,
Thompson and Thrall 1953; Fukuda and Prodon 1996). The next constraint is the one with the fewest pairs to look at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.errors import InvalidInputError
from proofs_checks.verdict import DEFAULTS


@dataclass(frozen=True, eq=False)
class Cone:
    """The generators of (1): its elements are the sums of rays with factors >= 0 and of lines with any factors."""

    rays: NDArray[Any]  # int64 or Python's integers, one a row, without common divisors.
    lines: NDArray[Any]
    most_rays: int  # the largest number of rays at any step.


def extreme_rays(equations: NDArray[Any], inequalities: NDArray[Any], most_rays: int) -> Cone:
    """The extreme rays and lines of (1), for integers E and A, with at most `most_rays` rays at any step."""
    state = _RaysSoFar(inequalities.shape[1], len(inequalities), most_rays)
    for a in equations:
        if state.crosses_a_line(a):
            state.project(a)
            state.dimension -= 1
    remaining = np.arange(len(inequalities))
    while remaining.size:
        crossing = next((k for k in remaining if state.crosses_a_line(inequalities[k])), None)
        if crossing is not None:
            state.bound_a_line(inequalities[crossing])
            remaining = remaining[remaining != crossing]
            continue
        value = _product(state.rays, inequalities[remaining].T)
        below, above = (value < 0).sum(axis=0), (value > 0).sum(axis=0)
        cutting = np.flatnonzero(below)  # the others cut nothing off, now or later
        if not cutting.size:
            break
        chosen = cutting[np.argmin(below[cutting] * above[cutting])]
        state.cut(value[:, chosen], len(cutting) - 1)
        remaining = np.delete(remaining, chosen)[np.isin(np.delete(np.arange(len(remaining)), chosen), cutting)]
    return Cone(state.rays, state.lines, state.most_rays)


class _RaysSoFar:
    """The rays and lines so far. Bit k % 64 of word k // 64 of `tight` says whether a ray is tight at the k-th inequality."""

    def __init__(self, width: int, inequalities: int, most_rays: int) -> None:
        self.lines: NDArray[Any] = np.eye(width, dtype=np.int64)
        self.rays: NDArray[Any] = np.zeros((0, width), dtype=np.int64)
        self.tight = np.zeros((0, inequalities // 64 + 1), dtype=np.uint64)
        self.n_added = 0
        self.dimension = width
        self.limit = most_rays
        self.most_rays = 0

    def crosses_a_line(self, a: NDArray[Any]) -> bool:
        """Whether a line leaves a r = 0."""
        return bool((_product(self.lines, a) != 0).any())

    def project(self, a: NDArray[Any]) -> NDArray[Any]:
        """Project all generators onto a r = 0 along a line that crosses it, and remove that line. Returns it, with a r > 0."""
        value = _product(self.lines, a)
        crossing = np.flatnonzero(value != 0)
        chosen = int(crossing[np.argmin(np.abs(value[crossing]))])
        sign = 1 if value[chosen] > 0 else -1
        line: NDArray[Any] = self.lines[chosen] * sign
        height = value[chosen] * sign
        others = np.delete(np.arange(len(self.lines)), chosen)
        self.rays = _combined(self.rays, height, line, -_product(self.rays, a))
        self.lines = _combined(self.lines[others], height, line, -value[others])
        return line

    def bound_a_line(self, a: NDArray[Any]) -> None:
        """Add a r >= 0 that a line crosses: half of the line becomes a ray, which is tight at all constraints but this one."""
        line = self.project(a)
        _mark(self.tight, self.n_added)
        own = np.zeros((1, self.tight.shape[1]), dtype=np.uint64)
        for k in range(self.n_added):
            _mark(own, k)
        self.rays, self.tight = _stacked(self.rays, line[None, :]), np.vstack([self.tight, own])
        self.n_added += 1

    def cut(self, value: NDArray[Any], n_remaining: int) -> None:
        """Add a r >= 0 that no line crosses, by (2), given a r of all rays."""
        positive, negative = np.flatnonzero(value > 0), np.flatnonzero(value < 0)
        needed = self.dimension - len(self.lines) - 2
        stays = np.flatnonzero(value >= 0)
        room = self.limit - stays.size  # below 0 where the limit is smaller than the cone that all begins with
        p, q = _adjacent(self.tight, positive, negative, needed, max(0, room))
        if p.size > room:
            raise InvalidInputError(
                f"the polyhedron is too large to enumerate: over {self.limit:,} rays with {n_remaining} constraints left to "
                "take up; take a smaller instance, or raise most_rays"
            )
        added = _combined(self.rays[q], value[p], self.rays[p], -value[q])
        shared = self.tight[p] & self.tight[q]
        kept = self.tight[stays]
        is_tight = value[stays] == 0
        kept[is_tight] = _mark(kept[is_tight], self.n_added)
        self.rays, self.tight = _stacked(self.rays[stays], added), np.vstack([kept, _mark(shared, self.n_added)])
        self.n_added += 1
        self.most_rays = max(self.most_rays, len(self.rays))


def _mark(tight: NDArray[np.uint64], k: int) -> NDArray[np.uint64]:
    """Set the k-th bit, in place."""
    tight[:, k // 64] |= np.uint64(1 << (k % 64))
    return tight


def _product(rows: NDArray[Any], a: NDArray[Any]) -> NDArray[Any]:
    """Rows times a vector or matrix."""
    if rows.dtype == object or a.dtype == object or _largest(rows) * _largest(a) * max(rows.shape[1], 1) >= DEFAULTS.int64_safe:
        rows, a = rows.astype(object), a.astype(object)
    product: NDArray[Any] = rows @ a
    return product


def _combined(rows: NDArray[Any], factor: Any, others: NDArray[Any], other_factor: Any) -> NDArray[Any]:
    """Add factor * rows and other_factor * others, row by row, over the greatest common divisor of each."""
    if not len(rows):
        return rows
    first, second = np.asarray(factor), np.asarray(other_factor)
    objects = object in (rows.dtype, others.dtype, first.dtype, second.dtype)
    if objects or _largest(rows) * _largest(first) + _largest(others) * _largest(second) >= DEFAULTS.int64_safe:
        rows, others, first, second = (x.astype(object) for x in (rows, others, first, second))
    total = first.reshape(-1, 1) * rows + second.reshape(-1, 1) * others
    divisor = np.gcd.reduce(total, axis=1)
    reduced: NDArray[Any] = total // np.where(divisor == 0, 1, divisor)[:, None]
    return reduced


def _stacked(rows: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    """One set of rows below the other, in int64 where they fit."""
    both: NDArray[Any] = np.vstack([rows, more])
    return both.astype(np.int64) if both.dtype == object and _largest(both) < DEFAULTS.int64_safe else both


def _largest(numbers: NDArray[Any]) -> int:
    """The largest absolute value, as Python's integer."""
    return max(int(numbers.max()), -int(numbers.min())) if numbers.size else 0


@njit(cache=True)
def _adjacent(tight, positive, negative, needed, most):  # type: ignore[no-untyped-def]
    """Adjacent pairs of a positive and a negative ray; the search stops once there are more than `most`."""
    room = min(most + 1, 1024)
    p, q = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    n, words = 0, tight.shape[1]
    common = np.empty(words, dtype=np.uint64)
    for i in positive:
        for j in negative:
            # constraints at which both are tight: with too few, they span more than an edge
            count = 0
            for w in range(words):
                common[w] = tight[i, w] & tight[j, w]
                bits = common[w]
                while bits:
                    bits &= bits - np.uint64(1)
                    count += 1
            if count < needed:
                continue
            # adjacent where no third ray is tight at all of these
            alone = True
            for k in range(tight.shape[0]):
                if k != i and k != j:
                    inside = True
                    for w in range(words):
                        inside = inside and common[w] & ~tight[k, w] == 0
                    if inside:
                        alone = False
                        break
            # note the pair, in arrays that double
            if alone:
                if n == room:
                    room = min(most + 1, 2 * room)
                    p, q = np.append(p, np.empty(room - n, dtype=np.int64)), np.append(q, np.empty(room - n, dtype=np.int64))
                p[n], q[n] = i, j
                n += 1
                if n > most:
                    return p[:n], q[:n]
    return p[:n], q[:n]
