"""Walks that the caller drives: which requests come next, and one feature at a time."""

from __future__ import annotations

import pickle
import threading
from queue import Empty, Queue
from typing import Any

import numpy as np
import pandas as pd
import pytest

import prunemodels as pm
from prunemodels.on_demand.predictor import OnDemandPredictor
from tests.prunemodels.on_demand.cases import votes

THREE = votes(3)


def test_requests_by_hand():
    """Open requests are returned again, answered ones are not, and when all are answered the walk is finished."""
    walk = OnDemandPredictor(THREE, [3, 4, 5]).start(["p", "q"])
    first = walk.next_requests()
    assert [(r.items, list(r.rows)) for r in first] == [((f"x{f}",), ["p", "q"]) for f in range(3)]
    walk.take(first[1], [1, 0])
    assert [r.number for r in walk.next_requests()] == [0, 2]
    for request in walk.next_requests():
        walk.take(request, [1, 0])
    assert walk.next_requests() == []
    assert walk.finished
    assert walk.result().predictions.tolist() == ["class 1", "class 0"]
    assert walk.rounds == 1


def test_a_request_is_taken_once():
    """A second answer, and a request that another walk made, are refused: nothing is paid or overwritten twice."""
    walk = OnDemandPredictor(THREE, [3, 4, 5]).start(["p", "q"])
    first, second, _ = walk.next_requests()
    walk.take(first, [1, 1])
    with pytest.raises(pm.errors.InvalidInputError, match=r"request 0 \(item 'x0' for 2 rows\) is not open in this walk"):
        walk.take(first, [0, 0])
    other = OnDemandPredictor(THREE, [3, 4, 5]).start(["p", "r"]).next_requests()[1]
    with pytest.raises(pm.errors.InvalidInputError, match=r"request 1 .* is not open in this walk"):
        walk.take(other, [0, 0])
    walk.take(pickle.loads(pickle.dumps(second)), [1, 1])  # a request may be kept elsewhere until its answer is there
    assert walk.result().bought == (("x0", "x1"), ("x0", "x1"))


def test_next_features_by_hand():
    """Nothing known: x0, the cheapest; x0 known: x1; all known: nothing. A row decided with early stopping needs nothing."""
    X = np.ones((4, 3))
    known = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=bool)
    assert OnDemandPredictor(THREE, [3, 4, 5]).next_features(X, known).tolist() == [0, 1, 2, -1]
    assert OnDemandPredictor(THREE, [3, 4, 5], early_stopping=True).next_features(X, known).tolist() == [0, 1, -1, -1]
    assert OnDemandPredictor(THREE, [3, 4, 5], max_cost=8).next_features(X, known).tolist() == [0, 1, -1, -1]
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])[["x2", "x1", "x0"]]
    assert OnDemandPredictor(THREE, [3, 4, 5]).next_features(frame, known).tolist() == [0, 1, 2, -1]


def test_known_series_are_looked_up_by_their_labels():
    """The values belong to the rows that the index names, in whatever order they stand."""
    known = {f"x{f}": pd.Series([1.0, 0.0], index=["q", "p"]) for f in range(3)}
    assert OnDemandPredictor(THREE, 1, print).predict(["p", "q"], known=known).tolist() == ["class 0", "class 1"]


@pytest.mark.slow
def test_threads_bring_answers_side_by_side() -> None:
    """Eight threads answer a round from one queue: each value is asked for once, and the answers are the forest's."""
    from prunemodels.example import X_test, costs, forest

    walk = OnDemandPredictor(forest, costs, max_rows=1, early_stopping=True).start(X_test.index)
    asked, wrong = list[tuple[Any, str]](), list[BaseException]()

    def serve(requests: Queue[Any]) -> None:
        while True:
            try:
                request = requests.get_nowait()
            except Empty:
                return
            asked.extend((row, feature) for row in request.rows for feature in request.features)
            try:
                walk.take(request, X_test.loc[request.rows, list(request.features)])
            except BaseException as error:
                wrong.append(error)

    while requests := walk.next_requests():
        queue: Queue[Any] = Queue()
        for request in requests:
            queue.put(request)
        threads = [threading.Thread(target=serve, args=(queue,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, wrong[0]
    assert len(asked) == len(set(asked))
    assert np.array_equal(walk.result().predictions, forest.predict(X_test))
