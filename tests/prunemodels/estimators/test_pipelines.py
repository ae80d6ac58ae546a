"""Pipelines are pruned, judged, saved and reported at the prices of their raw columns."""

from __future__ import annotations

from dataclasses import astuple
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import prunemodels as pm
from prunemodels.errors import UnsupportedModelError
from tests.instances import way
from tests.prunemodels.models.columns.tables import WORDS, raw_table

X, y = raw_table(240)
TRAIN, VALID = X[:160], X[160:]
PRICES = {"age": 1, "city": 2, "income": 5, "job": 2, "score": 7, "debt": 3}


def steps() -> Any:
    """Three kinds of columns: filled and scaled ones, categories, and one made from two."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return make_column_transformer((numbers, ["age", "income"]), (OneHotEncoder(), WORDS), (PCA(1), ["score", "debt"]))


def pipeline(model: Any = None) -> Pipeline:
    """The steps and a forest."""
    model = RandomForestClassifier(5, max_depth=4, random_state=0) if model is None else model
    return make_pipeline(steps(), model).fit(TRAIN, y[:160])


def judged(model: Any, rows: Any = VALID, costs: Any = PRICES) -> tuple[Any, ...]:
    """What `evaluate` says."""
    return astuple(pm.evaluate(model, rows, y[160:], costs=costs))


def paid_by_hand(pipe: Pipeline, rows: pd.DataFrame, price: dict[str, float]) -> float:
    """The mean cost of predictions, walked node by node: the raw columns of each split, each once a row, found by their names."""
    names = pipe[0].get_feature_names_out().tolist()
    made = pipe[0].transform(rows)
    made = np.asarray(made.toarray() if hasattr(made, "toarray") else made).astype(np.float32)
    total = 0.0
    for x in made:
        bought = set()
        for tree in (estimator.tree_ for estimator in pipe[-1].estimators_):
            h = 0
            while tree.children_left[h] >= 0:
                name = names[tree.feature[h]].removeprefix("missingindicator_")
                bought |= {"score", "debt"} if "pca" in name else {raw for raw in price if raw in name.split("__")[1].split("_")}
                h = (tree.children_left if x[tree.feature[h]] <= tree.threshold[h] else tree.children_right)[h]
        total += sum(price[raw] for raw in bought)
    return total / len(rows)


def test_a_derived_column_costs_what_its_raw_columns_cost() -> None:
    """Costs of predictions, pruned or not, are those of the raw columns that are found by walking the trees by hand."""
    pipe = pipeline()
    result = pm.prune_forest(pipe, VALID, y[160:], costs=PRICES, budget=9)
    for model in (pipe, result.estimator):
        assert pm.evaluate(model, VALID, y[160:], costs=PRICES).cost == pytest.approx(paid_by_hand(model, VALID, PRICES))
    assert result.cost == pytest.approx(paid_by_hand(result.estimator, VALID, PRICES))
    assert 0 < result.cost <= 9


def test_a_pipeline_comes_back_and_predicts_from_raw_rows() -> None:
    """The steps before the forest are kept, the forest is pruned, and the given pipeline is not changed."""
    pipe = pipeline()
    before = pipe.predict_proba(VALID)
    result = pm.prune_forest(pipe, VALID, y[160:], costs=PRICES, budget=9)
    cheap = result.estimator
    assert [name for name, _ in cheap.steps] == [name for name, _ in pipe.steps]
    assert pm.read_forest(cheap).n_splits == result.pruning.n_splits < pm.read_forest(pipe).n_splits
    made = pipe[0].transform(VALID)
    assert (cheap.predict(VALID) == cheap[-1].predict(made)).all()
    assert (pipe.predict_proba(VALID) == before).all()


def test_groups_discounts_and_needs_of_raw_columns() -> None:
    """A table of prices names raw columns: items that they share, and other raw columns that they need."""
    table = pd.DataFrame(
        {
            "feature": ["age", "city", "income", "job", "score", "debt"],
            "cost": [1, 2, 5, 2, 7, None],
            "item": ["form", "form2", "file", "form2", "lab", None],
            "needs": [None, None, "age", None, None, "income"],
        }
    )
    problem = pm.problem_from_forest(pipeline(), VALID, costs=table)
    named = {
        feature: {problem.costs.names[m] for m in items}
        for feature, items in zip(problem.ensemble.names, problem.costs.needs, strict=True)
    }
    assert named["pca__pca0"] == {"lab", "file", "form"}  # of score, and of debt, which needs income, which needs age
    assert named["pipeline__income"] == named["pipeline__missingindicator_income"] == {"file", "form"}
    assert named["onehotencoder__city_Rome"] == named["onehotencoder__job_judge"] == {"form2"}


def test_purchases_and_cards_speak_of_raw_columns() -> None:
    """Shares are those of rows that need any column made from the raw one."""
    result = pm.prune_forest(pipeline(), VALID, y[160:], costs=PRICES, budget=9)
    table = result.purchases()
    assert set(table.index) == set(PRICES)
    assert table["price"].to_dict() == PRICES
    assert table.loc["score", "before"] == table.loc["debt", "before"] > 0
    assert (table["price"] * table["after"]).sum() == pytest.approx(result.cost)
    assert "Asked for: " in str(result)
    assert "onehotencoder" not in str(result)
    assert pm.evaluate(pipeline(), VALID, y[160:], costs=1).features <= 6


@pytest.mark.parametrize("errors", ["in-bag", "data", "out-of-bag", "validation"])
def test_errors_on_samples_of_raw_rows(errors: str) -> None:
    """Error samples take the rows that the pipeline was fitted on."""
    pipe = pipeline()
    in_bag = pm.problem_from_forest(pipe, VALID, costs=PRICES)
    sample = {
        "in-bag": "in-bag",
        "data": pm.samples.InBag(TRAIN, y[:160]),
        "out-of-bag": pm.samples.OutOfBag(TRAIN, y[:160]),
        "validation": pm.samples.Given(VALID, y[160:]),
    }[errors]
    found = pm.problem_from_forest(pipe, VALID, costs=PRICES, errors=sample)
    same = np.allclose(found.node_error, in_bag.node_error)
    assert same == (errors in ("in-bag", "data"))


def test_as_many_derived_columns_as_raw_ones_are_not_confused() -> None:
    """A scaler keeps the number of columns: the rows are scaled all the same, wherever they are taken."""
    numbers = ["age", "score", "debt"]
    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    pipe = make_pipeline(StandardScaler(), forest).fit(TRAIN[numbers], y[:160])
    made = pd.DataFrame(pipe[0].transform(VALID[numbers]))
    plain, price = make_pipeline("passthrough", pipe[-1]), [1, 2, 4]
    rows = made.to_numpy()
    assert judged(pipe, VALID[numbers], price) == judged(plain, rows, price)
    ours = pm.prune_forest(pipe, VALID[numbers], y[160:], costs=price)
    theirs = pm.prune_forest(plain, rows, y[160:], costs=price)
    assert ours.evaluation is not None
    assert theirs.evaluation is not None
    assert ours.evaluation.cost.tolist() == theirs.evaluation.cost.tolist()


def test_boosted_models_at_the_end_of_a_pipeline() -> None:
    """`evaluate` takes them, and so does `prune_boosted`; `prune_forest` names it."""
    xgboost = pytest.importorskip("xgboost")
    dense = make_column_transformer(
        (OneHotEncoder(sparse_output=False), WORDS), ("passthrough", ["age", "income"]), sparse_threshold=0
    )
    pipe = make_pipeline(dense, xgboost.XGBClassifier(n_estimators=4, max_depth=2, n_jobs=1)).fit(TRAIN, y[:160])
    seen = pm.evaluate(pipe, VALID, y[160:], costs=PRICES)
    assert seen.error == pytest.approx((pipe.predict(VALID) != y[160:]).mean())
    plain = pm.evaluate(pipe[-1], dense.transform(VALID), y[160:], costs=[2] * 3 + [2] * 4 + [1, 5])
    assert seen.cost <= plain.cost <= 10
    with pytest.raises(UnsupportedModelError, match=r"XGBClassifier cannot be pruned; what can be: .* and prune_boosted"):
        pm.prune_forest(pipe, VALID, y[160:], costs=PRICES, budget=3)
    assert pm.prune_boosted(pipe, VALID, y[160:], costs=PRICES, budget=3).cost <= 3


def double(table: Any) -> Any:
    """A step of a user's own."""
    return table * 2


def test_functions_of_a_users_own_in_files_are_named_to_be_trusted(tmp_path: Any) -> None:
    """A skops file with a function is refused with its name, and loaded if the caller trusts that name."""
    step = FunctionTransformer(double, feature_names_out="one-to-one")
    pipe = make_pipeline(step, RandomForestClassifier(2, max_depth=2, random_state=0)).fit(TRAIN[["age"]], y[:160])
    file = tmp_path / "pipe.skops"
    pm.save_forest(pipe, file)
    name = f"{double.__module__}.double"
    with pytest.raises(pm.errors.BrokenFileError, match=rf"{name}.*trusted="):
        pm.load_forest(file)
    assert (pm.load_forest(file, trusted=[name]).predict(VALID[["age"]]) == pipe.predict(VALID[["age"]])).all()


def test_an_estimator_of_ours_does_not_grow_pipelines() -> None:
    """It stands at the end of one; the message says so."""
    with pytest.raises(UnsupportedModelError, match="estimator is a Pipeline; put the BudgetPrunedForestClassifier at the end"):
        pm.BudgetPrunedForestClassifier(pipeline(), budget=3).fit(TRAIN, y[:160])


def test_transformed_chunks_in_the_place_of_tables_of_raw_columns() -> None:
    """What the refusal names: the same problem, path and held-out figures as with raw rows in memory, a chunk at a time."""
    pipe = pipeline()
    problem = pm.problem_from_forest(pipe, VALID, costs=PRICES)
    made = problem.ensemble.made
    assert made is not None
    items = pm.CostItems.plain([PRICES[name] for name in X.columns], X.columns).of_made(made.sources)
    table = pm.tables.ChunkedTable(lambda: (pipe[:-1].transform(VALID[k : k + 30]) for k in range(0, len(VALID), 30)))
    in_chunks = pm.tables.problem_from_table(pipe[-1], table, costs=items)
    path, ours = pm.pruning_path(in_chunks), pm.pruning_path(problem)
    assert np.array_equal(path.lam, ours.lam)
    assert np.array_equal(path.cost, ours.cost)
    cheap = pm.apply_pruning(path[path.row_at_cost(9)], pipe)
    assert pm.evaluate(cheap, VALID, y[160:], costs=PRICES).cost == pytest.approx(path.cost[path.row_at_cost(9)])
    seen = pm.evaluate_path(path, table, y[160:])
    assert seen.error == pytest.approx(pm.evaluate_path(ours, VALID, y[160:]).error)


def test_tables_in_chunks_take_no_pipeline() -> None:
    """The refusal says what to give in its place."""
    with pytest.raises(UnsupportedModelError, match=r"(?i)pipeline.*(give|take|read)"):
        pm.tables.problem_from_table(pipeline(), pm.tables.ChunkedTable(VALID), costs=PRICES)


def test_every_pruning_is_priced_by_hand() -> None:
    """On a small pipeline, the least error within each budget is that of all prunings, each priced with sets of raw columns."""
    pipe = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["city"]), (PCA(1), ["score", "debt"]), ("passthrough", ["age"])),
        RandomForestClassifier(2, max_depth=2, random_state=1),
    ).fit(TRAIN, y[:160])
    problem = pm.problem_from_forest(pipe, VALID, costs=PRICES)
    e, rows = problem.ensemble, np.asarray(pipe[0].transform(VALID)).astype(np.float32)
    raw = [{"city"}] * 3 + [{"score", "debt"}, {"age"}]
    splits = np.flatnonzero(e.is_split).tolist()
    best: dict[float, float] = {}
    for kept in product((False, True), repeat=len(splits)):
        keep = dict(zip(splits, kept, strict=True))
        if any(keep[h] and e.parent[h] >= 0 and not keep[e.parent[h]] for h in splits):
            continue
        kept_nodes = np.array([keep.get(h, False) for h in range(e.n_nodes)])
        cost, error = 0.0, 0.0
        ends = set()
        for x in rows:
            bought: set[str] = set()
            for root in e.roots.tolist():
                bought = bought.union(*(raw[f] for f in e.feature[way(e, root, x, kept_nodes)[:-1]]))
            cost += sum(PRICES[name] for name in bought) / len(rows)
        todo = e.roots.tolist()
        while todo:
            h = int(todo.pop())
            todo += [int(e.left[h]), int(e.right[h])] if keep.get(h) else []
            if not keep.get(h):
                ends.add(h)
        error = float(problem.node_error[list(ends)].sum())
        for budget in (1.5, 4.0, 10.5):
            if cost <= budget + 1e-9:
                best[budget] = min(best.get(budget, np.inf), error)
    for budget, error in best.items():
        assert pm.solve(problem, budget=budget, method="exact").pruning.error == pytest.approx(error)
