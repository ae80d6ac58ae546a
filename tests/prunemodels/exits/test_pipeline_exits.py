"""Exits along the path of a pipeline: raw rows at raw prices, as by hand on the rows that its steps return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prunemodels as pm
from formulations.errors import InvalidInputError
from prunemodels.exits import forest_exits
from prunemodels.on_demand import from_table
from tests.prunemodels.on_demand.test_pipelines import X, random_pipeline, y

QUICK: dict[str, Any] = {"n_stages": 4, "n_levels": 8, "random_state": 0}


def exits_of(seed: int) -> tuple[Any, pm.CostItems, pm.exits.ExitPath]:
    """A random pipeline, prices of its raw columns, and exits along its path."""
    pipe, items = random_pipeline(seed)
    errors = pm.samples.Given(X, y)
    path = pm.pruning_path(pm.problem_from_forest(pipe, X, costs=items, errors=errors, evaluation_cost=0.01))
    return pipe, items, pm.exit_path(path, X, y, doubt="margin", **QUICK)


@pytest.mark.parametrize("seed", range(3))
def test_raw_rows_are_predicted_and_paid_as_by_hand(seed: int) -> None:
    """Predictions and costs are those of the last step's path on transformed rows at the prices of what they are made from."""
    pipe, items, exits = exits_of(seed)
    model = exits.at_lam(1e-3)
    rows, of_made = pipe[:-1].transform(X), items.of_made(pm.read_forest(pipe).made.sources)
    errors = pm.samples.Given(rows, y)
    by_hand = pm.pruning_path(pm.problem_from_forest(pipe[-1], rows, costs=of_made, errors=errors, evaluation_cost=0.01))
    other = pm.exit_path(by_hand, rows, y, doubt="margin", **QUICK).at_lam(1e-3)
    assert np.array_equal(model.predict_proba(X), other.predict_proba(rows))
    assert np.array_equal(model.prediction_cost(X), other.prediction_cost(rows))
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert pm.evaluate(model, X, y, costs=items).cost == pytest.approx(model.prediction_cost(X).mean())


@pytest.mark.parametrize("cap", [None, 6])
def test_on_demand_raw_columns_are_bought(cap: int | None) -> None:
    """Suppliers are asked for raw columns; classes and costs are those on full data, and no row pays more than a cap."""
    _, items, exits = exits_of(0)
    model = exits.at_lam(1e-3)
    asked: set[str] = set()

    def lab(request: Any) -> Any:
        asked.update(request.features)
        return from_table(X)(request)

    bought = pm.OnDemandPredictor(model, items, lab, max_cost=cap).run(X.index)
    assert asked <= set(X.columns)
    if cap is None:
        assert np.array_equal(bought.predictions, model.predict(X))
        assert np.allclose(bought.cost, model.prediction_cost(X))
    else:
        assert bought.cost.max() <= cap
        assert bought.capped.any()


def test_other_prices_are_refused() -> None:
    """A price that is not the cascade's is named by its raw column."""
    _, _, exits = exits_of(0)
    with pytest.raises(InvalidInputError, match="costs: 'age' needs 'age' at 1, the cascade was made with 'visit' at 3"):
        pm.OnDemandPredictor(exits.at_lam(1e-3), 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": X.drop(columns="city")}, "the step 'columntransformer' of the pipeline refuses the rows: .*city"),
        ({"y": np.full(len(X), "no such label")}, "no such label"),
        ({"sample_weight": [1.0]}, "sample_weight"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_work(change: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, labels and weights are tried before a pruning is computed."""
    pipe, items = random_pipeline(0)
    path = pm.pruning_path(pm.problem_from_forest(pipe, X, costs=items, errors=pm.samples.Given(X, y)))
    monkeypatch.setattr(forest_exits, "path_stages", lambda *_: pytest.fail("work was done"))
    with pytest.raises(InvalidInputError, match=message):
        pm.exit_path(path, **{"X": X, "y": y, **change})
