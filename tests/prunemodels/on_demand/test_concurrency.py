"""Requests in flight together: the same result, and nothing lost when some fail."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prunemodels as pm
from prunemodels.on_demand.errors import AcquisitionFailedError
from prunemodels.on_demand.predictor import OnDemandPredictor
from tests.prunemodels.on_demand.cases import SEEDS, assert_same, random_case, votes
from tests.prunemodels.on_demand.reference import Spy

FOUR = votes(4)


class Line:
    """An asynchronous `acquire` that counts who is in flight, and answers in an order of its own."""

    def __init__(self, spy, delay=lambda request: 0.0, fails=()):
        self.spy, self.delay, self.fails = spy, delay, fails
        self.now = self.most = 0
        self.begun, self.ended = [], []

    async def __call__(self, request):
        """Wait, then serve or fail."""
        self.begun.append(request.items)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            for _ in range(int(self.delay(request))):
                await asyncio.sleep(0)
            if request.items in self.fails:
                raise ConnectionError("the line is dead")
            return self.spy(request)
        finally:
            self.now -= 1
            self.ended.append(request.items)


@settings(max_examples=50, deadline=None)
@given(seed=SEEDS, stops=st.booleans(), limit=st.sampled_from([None, 1, 2]))
def test_the_result_is_that_of_one_after_the_other(seed, stops, limit):
    """In whatever order the answers come, and however many are in flight."""
    case, rng = random_case(seed), np.random.default_rng(seed)
    had = rng.random(case.X.shape) >= 0.2
    options = {"evaluation_cost": case.evaluation, "early_stopping": stops}
    expected = OnDemandPredictor(case.trees, case.costs, Spy(case.X, had), **options).run(len(case.X))
    line = Line(Spy(case.X, had), lambda request: rng.integers(0, 4))
    result = asyncio.run(OnDemandPredictor(case.trees, case.costs, line, **options).run_async(len(case.X), limit=limit))
    assert line.most <= (limit or expected.requests)
    assert_same(
        result, expected, "probabilities", "stopped_early", "fell_back", "trees_finished", "finished", "rounds", "requests"
    )
    assert (result.bought, result.once) == (expected.bought, expected.once)


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


def test_a_walk_that_runs_is_not_run_again():
    """Two runs at once would both see an item as unpaid and buy it twice."""
    line = Line(Spy(np.zeros((2, 4))), lambda request: 3)
    walk = OnDemandPredictor(FOUR, 1, line).start(2)

    async def main():
        both = await asyncio.gather(walk.run_async(), walk.run_async(), return_exceptions=True)
        return sorted(both, key=lambda found: isinstance(found, Exception))

    result, refusal = asyncio.run(main())
    assert isinstance(refusal, pm.errors.InvalidInputError)
    assert "this walk is running already" in str(refusal)
    assert result.exact_cost == (4, 4)
    assert len(line.begun) == len(set(line.begun)) == 4
    assert asyncio.run(walk.run_async()).exact_cost == (4, 4)


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
