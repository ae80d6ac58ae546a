"""Whatever goes wrong, and whatever is in flight together, what was bought is known and kept."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

import numpy as np
import pytest

import prunemodels as pm
from prunemodels.on_demand.predictor import OnDemandPredictor
from prunemodels.on_demand.request import AcquisitionFailedError, InterruptedAcquisitionError
from tests.prunemodels.on_demand.cases import Line, Spy, forest_of, stump, votes

THREE = votes(3)


def test_a_failing_lab_by_hand():
    """The second of three requests fails: the first is kept and paid, the third was not asked; going on asks for two."""
    spy = Spy(np.array([[0, 1, 1.0], [0, 0, 0]]), fails=frozenset([1]))
    with pytest.raises(AcquisitionFailedError, match="the line is dead") as caught:
        OnDemandPredictor(THREE, [3, 4, 5], spy).run(["p", "q"])
    error = caught.value
    assert isinstance(error.__cause__, ConnectionError)
    assert (error.request.items, error.request.features, list(error.request.rows)) == (("x1",), ("x1",), ["p", "q"])
    assert "request 1 (item 'x1' for 2 rows) failed" in str(error)
    assert error.others == ()
    partial = error.walk.result()
    assert partial.bought == (("x0",), ("x0",))
    assert partial.exact_cost == (3, 3)
    assert not partial.finished.any()
    assert (partial.rounds, partial.requests) == (1, 2)
    assert "2 not finished" in repr(partial)
    assert not error.walk.finished
    result = error.walk.run()
    assert [r.items for r in spy.requests] == [("x0",), ("x1",), ("x2",)]
    assert result.predictions.tolist() == ["class 1", "class 0"]
    assert result.exact_cost == (12, 12)
    assert error.walk.finished
    assert not partial.finished.any()  # an earlier result stays as it was


def test_what_cannot_be_had_by_hand():
    """What is not delivered is not paid; the split that tests it answers with its own prediction, and the row is flagged."""
    forest = forest_of(stump(0, (1, 0), (0, 1), root=(0.2, 0.8)), stump(1, (1, 0), (0, 1)), n_features=2)
    had = np.array([[False, True], [True, True]])
    result = OnDemandPredictor(forest, [3, 4], Spy(np.zeros((2, 2)), had)).run(2)
    assert result.probabilities.tolist() == [[0.6, 0.4], [1.0, 0.0]]
    assert result.fell_back.tolist() == [True, False]
    assert result.bought == (("x1",), ("x0", "x1"))
    assert result.exact_cost == (4, 7)
    assert result.finished.all()
    assert result.trees_finished.tolist() == [2, 2]
    assert "1 fell back" in repr(result)


def test_an_item_is_paid_if_it_brings_something():
    """Of a group one feature is lost: the group is paid. Of two items, one of which brings nothing by itself: neither is paid."""
    forest = forest_of(stump(0, (1, 0), (0, 1)), stump(1, (1, 0), (0, 1)), n_features=2)
    group = pm.CostItems.grouped(["g", "g"], {"g": 5})
    result = OnDemandPredictor(forest, group, Spy(np.zeros((1, 2)), np.array([[False, True]]))).run(1)
    assert result.exact_cost == (5,)
    blood = pm.CostItems.from_items({"a": 1, "blood": 2}, [["a", "blood"], ["blood"]])
    spy = Spy(np.zeros((1, 2)), np.array([[False, False]]))
    result = OnDemandPredictor(forest, blood, spy).run(1)
    assert [(r.items, r.features) for r in spy.requests] == [(("a", "blood"), ("x0", "x1"))]
    assert (result.exact_cost, result.bought) == ((0,), ((),))


def test_ctrl_c_carries_the_walk():
    """An interruption while `acquire` works is a KeyboardInterrupt that carries what was bought, and the walk goes on."""
    X = np.zeros((2, 3))
    spy = Spy(X)

    def acquire(request):
        if request.items == ("x1",) and len(spy.requests) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return spy(request)

    with pytest.raises(KeyboardInterrupt) as caught:
        OnDemandPredictor(THREE, [3, 4, 5], acquire).run(2)
    assert isinstance(caught.value, InterruptedAcquisitionError)
    walk = caught.value.walk
    assert walk.result().exact_cost == (3, 3)
    spy.requests.clear()
    assert walk.run().exact_cost == (12, 12)
    assert [r.items for r in spy.requests if r.items != ("x1",)] == [("x2",)]


def test_an_answer_that_arrived_is_entered_after_an_interruption(monkeypatch):
    """An answer that was handed over before the interruption struck is not asked for again."""
    spy = Spy(np.zeros((2, 3)))
    walk = OnDemandPredictor(THREE, [3, 4, 5], spy).start(2)
    settle, calls = walk._settle, []

    def interrupted():
        calls.append(len(walk._arrived))
        if len(calls) == 5:  # one of the run's, and two for each answer
            raise KeyboardInterrupt
        settle()

    monkeypatch.setattr(walk, "_settle", interrupted)
    with pytest.raises(InterruptedAcquisitionError):
        walk.run()
    monkeypatch.undo()
    assert walk.result().bought == (("x0", "x1"), ("x0", "x1"))
    assert walk.run().exact_cost == (12, 12)
    assert len(spy.asked()) == 6


def test_a_refused_answer_is_a_failure_that_keeps_the_walk():
    """An answer of the wrong shape names item and row count, is not paid, and can be asked for again."""
    answers = iter([np.zeros((2, 1)), np.zeros((5, 1)), np.zeros((2, 1)), np.zeros((2, 1))])
    with pytest.raises(
        AcquisitionFailedError, match=r"request 1 \(item 'x1' for 2 rows\) is refused: it has shape \(5, 1\)"
    ) as caught:
        OnDemandPredictor(THREE, [3, 4, 5], lambda request: next(answers)).run(2)
    assert isinstance(caught.value.__cause__, pm.errors.InvalidInputError)
    assert caught.value.walk.run().exact_cost == (12, 12)


FOUR = votes(4)


@pytest.mark.parametrize(("limit", "together"), [(None, 4), (3, 3), (1, 1)])
def test_independent_requests_are_in_flight_together(limit, together):
    """Four trees that wait for four features: four requests at once, or as many as the limit allows."""
    line = Line(Spy(np.zeros((2, 4))), lambda request: 3)
    predictions = asyncio.run(OnDemandPredictor(FOUR, 1, line).predict_async(2, limit=limit))
    assert line.most == together
    assert predictions.tolist() == ["class 0", "class 0"]


def test_after_a_failure_what_is_in_flight_is_kept():
    """Of three in flight the first fails first: the two others are awaited and kept, the fourth is never begun."""
    spy = Spy(np.zeros((2, 4)))
    line = Line(spy, lambda request: 1 if request.items == ("x0",) else 5, fails=[("x0",)])
    with pytest.raises(AcquisitionFailedError, match="item 'x0' for 2 rows") as caught:
        asyncio.run(OnDemandPredictor(FOUR, 1, line).run_async(2, limit=3))
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert line.begun == [("x0",), ("x1",), ("x2",)]
    assert line.now == 0
    assert caught.value.walk.result().bought == (("x1", "x2"),) * 2
    line.fails = ()
    result = asyncio.run(caught.value.walk.run_async())
    assert sorted(line.begun[3:]) == [("x0",), ("x3",)]
    assert result.exact_cost == (4, 4)


def test_cancelling_keeps_what_was_delivered():
    """A cancelled task cancels what is in flight, leaves no task behind, and the walk goes on from what came before."""
    spy = Spy(np.zeros((2, 4)))
    line = Line(spy, lambda request: 0 if request.items == ("x0",) else 10**9)
    walk = OnDemandPredictor(FOUR, 1, line).start(2)

    async def main():
        task = asyncio.create_task(walk.run_async())
        while not spy.requests:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert line.now == 0
    assert walk.result().bought == (("x0",),) * 2
    line.delay = lambda request: 0
    assert asyncio.run(walk.run_async()).exact_cost == (4, 4)
    assert len(spy.asked()) == len(set(spy.asked())) == 8


def test_a_request_that_cancels_itself_is_a_failure():
    """An `acquire` whose own task was cancelled has failed; the walk was not cancelled."""

    async def acquire(request):
        raise asyncio.CancelledError

    with pytest.raises(AcquisitionFailedError, match="CancelledError"):
        asyncio.run(OnDemandPredictor(FOUR, 1, acquire).run_async(1))


def test_a_walk_is_not_run_again_from_its_own_request_or_another_thread():
    """The same lock serves plain runs, whichever thread asks."""
    X, refusals = np.zeros((1, 4)), []

    def acquire(request):
        other = threading.Thread(target=attempt)
        other.start()
        other.join()
        attempt()
        return X[request.positions[:, None], request.columns]

    def attempt():
        try:
            walk.run()
        except pm.errors.InvalidInputError as error:
            refusals.append(str(error))

    walk = OnDemandPredictor(FOUR, 1, acquire).start(1)
    assert walk.run().exact_cost == (4,)
    assert len(refusals) == 8
    assert all("running already" in told for told in refusals)
