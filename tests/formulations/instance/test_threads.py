"""Routing from several threads of the user's at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from formulations.instance.routing import route
from tests.instances import ensemble_of, random_tree


def test_threads_may_route_at_once() -> None:
    """Eight threads that route the same rows through the same trees get the same ranges as one."""
    rng = np.random.default_rng(0)
    ensemble, _ = ensemble_of([random_tree(rng, 3, 30, 5) for _ in range(6)], 3)
    rows = rng.integers(0, 5, (2000, 3)).astype(np.float32)
    alone = route(ensemble, rows)
    with ThreadPoolExecutor(8) as pool:
        for routing in pool.map(lambda _: route(ensemble, rows), range(32)):
            assert np.array_equal(routing.order, alone.order)
            assert np.array_equal(routing.start, alone.start)
            assert np.array_equal(routing.stop, alone.stop)
