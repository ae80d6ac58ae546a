"""Who was asked what, and when; values that are never to be bought; other tasks run beside a walk."""

from __future__ import annotations

import asyncio
import logging
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import prunemodels as pm
from prunemodels.errors import AcquisitionFailedError
from prunemodels.example import X_test, X_valid, costs, forest, path, y_valid
from prunemodels.on_demand import UNAVAILABLE, from_table

ROWS = X_test.index[:6]


def test_each_request_leaves_its_lines(caplog: pytest.LogCaptureFixture) -> None:
    """A service that fails once, then leaves a value out: asked, failed, asked again, answered, as a table and as a log."""
    calls: list[Any] = []
    given = from_table(X_test)

    def service(request: Any) -> Any:
        calls.append(request)
        if len(calls) == 1:
            raise OSError("down")
        answer = pd.DataFrame(given(request), index=request.rows, columns=list(request.features)).astype(object)
        if len(calls) == 2:
            answer.iloc[0, 0] = UNAVAILABLE
        return answer

    walk = pm.OnDemandPredictor(forest, costs, service).start(ROWS)
    with caplog.at_level(logging.INFO, "prunemodels.on_demand"):
        with pytest.raises(AcquisitionFailedError):
            walk.run()
        walk.run()
    seen = walk.audit()
    assert seen["event"].tolist()[:4] == ["asked", "failed", "asked", "answered"]
    assert (seen["event"] == "asked").sum() == len(calls) == walk.requests
    first = seen.iloc[0]
    assert (first["request"], first["attempt"], first["rows"]) == (0, 1, tuple(calls[0].rows))
    assert first["features"] == calls[0].features
    assert seen.iloc[1]["told"] == "OSError: down"
    assert seen.iloc[3]["told"] == f"1 of {calls[1].rows.size * len(calls[1].features):,} values did not come"
    assert seen["time"].is_monotonic_increasing
    assert len(caplog.records) == len(seen)
    again = pickle.loads(pickle.dumps(pm.OnDemandPredictor(forest, costs).start(ROWS)))
    assert again.audit().empty


@pytest.mark.parametrize("kind", ["forest", "cascade"])
@pytest.mark.parametrize("cell", [np.nan, UNAVAILABLE])
def test_known_cells_that_are_never_to_be_bought(kind: str, cell: Any) -> None:
    """NaN, which the model reads as missing where it can, and UNAVAILABLE: nobody is asked for either."""
    if kind == "forest":
        predictor = pm.OnDemandPredictor(forest, costs, from_table(X_test))
    else:
        predictor = pm.OnDemandPredictor(pm.exit_path(path, X_valid, y_valid, n_stages=3, n_levels=8), None, from_table(X_test))
    name = _asked(predictor, None)[0][0]
    assert not any(name in features for features in _asked(predictor, {name: [cell] * len(ROWS)}))
    masked = np.ma.array(np.zeros(len(ROWS)), mask=True)
    assert any(name in features for features in _asked(predictor, {name: masked}))


def _asked(predictor: Any, known: Any) -> list[tuple[str, ...]]:
    walk = predictor.start(ROWS, known=known)
    walk.run()
    return list(walk.audit()["features"])


def test_other_tasks_run_beside_a_walk() -> None:
    """Also where `acquire` is no async function: the loop gets its turn between any two requests of a round."""
    given, turns, seen = from_table(X_test), [0], list[int]()

    def service(request: Any) -> Any:
        seen.append(turns[0])
        return given(request)

    async def beside() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    async def both() -> Any:
        task = asyncio.create_task(beside())
        result = await pm.OnDemandPredictor(forest, costs, service, max_rows=1).run_async(ROWS)
        task.cancel()
        return result

    result = asyncio.run(both())
    assert result.requests >= 2 * result.rounds
    assert np.diff(seen).min() > 0
