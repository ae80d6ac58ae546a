"""The prunings that a search has visited, without those that another one beats in both loss and cost."""

from __future__ import annotations

from bisect import bisect_right

from prunemodels.models.boosting.descent import Point


class Pool:
    """Points by rising cost and strictly falling loss; for all others only (cost, loss) is kept.

    Attributes
    ----------
    visited
        (cost, loss) of every point that was visited.
    """

    def __init__(self) -> None:
        self._cost: list[float] = []
        self._points: list[Point] = []
        self.visited: list[tuple[float, float]] = []

    @property
    def points(self) -> tuple[Point, ...]:
        """The points of the pool, by rising cost and falling loss."""
        return tuple(self._points)

    def see(self, cost: float, loss: float) -> bool:
        """Record a visited pruning. Returns whether `add` would keep it: no pruning of the pool is as cheap and as good."""
        self.visited.append((cost, loss))
        k = bisect_right(self._cost, cost)
        return k == 0 or loss < self._points[k - 1].loss

    def add(self, point: Point) -> None:
        """Add a pruning unless another one beats it, and remove those that it beats."""
        k = bisect_right(self._cost, point.cost)
        if k and self._points[k - 1].loss <= point.loss:
            return
        start = k - 1 if k and self._cost[k - 1] == point.cost else k
        stop = k
        while stop < len(self._points) and self._points[stop].loss >= point.loss:
            stop += 1
        self._points[start:stop] = [point]
        self._cost[start:stop] = [point.cost]

    def best(self, lam: float) -> Point:
        """The point of least loss + lam * cost, the cheapest of equals."""
        return min(self._points, key=lambda p: (p.value(lam), p.cost))

    def within(self, budget: float) -> Point:
        """The point of least loss within the budget."""
        k = bisect_right(self._cost, budget)
        return self._points[max(0, k - 1)]

    def above(self, budget: float) -> Point | None:
        """The cheapest pruning that costs more than the budget."""
        k = bisect_right(self._cost, budget)
        return self._points[k] if k < len(self._points) else None
