"""Tables that are read in chunks: the same answers as in memory, in bounded memory, and clear refusals."""

from __future__ import annotations

import decimal
import pickle
import tracemalloc
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import scipy.sparse
from pyarrow import csv, feather, parquet
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import prunemodels as pm
from formulations import BrokenFileError, CapacityOverflowError, InterruptedSolveError, InvalidInputError
from prunemodels.models.forests.reading import ReadForest
from prunemodels.tables import problem as problem_module
from prunemodels.tables.problem import GivenTable, problem_from_table
from prunemodels.tables.table import ChunkedTable
from tests.loops import looped

N = 500
NAMES = ["a", "b", "c", "d", "e"]
SIZE = 70


@dataclass(frozen=True, eq=False)
class Data:
    """A forest, the examples as they are in memory, and the table with everything in another order."""

    forest: Any
    X: pd.DataFrame
    y: np.ndarray
    w: np.ndarray
    table: pd.DataFrame


def made(*, regression: bool = False, names: bool = True) -> Data:
    """Half of the weights are 0, a tenth of the cells are missing, one column is text, one feature is constant."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N + 200, 5)).round(1), columns=NAMES)
    X = X.mask(rng.random(X.shape) < 0.1).assign(e=1.0)
    score = X["a"].fillna(0) - X["b"].fillna(0) + rng.normal(scale=0.5, size=len(X))
    y = score.to_numpy() if regression else np.where(score > 0, "yes", "no")
    kind = RandomForestRegressor if regression else RandomForestClassifier
    forest = kind(6, max_depth=5, random_state=0)
    forest.fit(X[N:] if names else X[N:].to_numpy(), y[N:])
    X, y, w = X[:N], y[:N], rng.choice([0.0, 1.0, 2.5], N)
    table = X.assign(y=y, w=w, note="text")[["note", "y", "c", "b", "a", "w", "e", "d"]]
    return Data(forest, X, y, w, table)


@pytest.fixture(scope="module")
def data() -> Data:
    return made()


def pieces(table, size=SIZE):
    """Slices of a table."""
    return (table[k : k + size] for k in range(0, len(table), size))


def write_folder(table, folder):
    for k, piece in enumerate(pieces(table, 130)):
        piece.to_parquet(folder / f"part{k}.parquet", row_group_size=60)
    return folder


def write_csv(table, file):
    table.to_csv(file, index=False)
    return file


def write_parquet(table, file):
    table.to_parquet(file, row_group_size=200)
    return file


def write_feather(table, file):
    feather.write_feather(pa.table(table), file)
    return file


def csv_dataset(table, folder):
    csv.write_csv(pa.table(table), folder / "t.csv")
    return ds.dataset(folder / "t.csv", format="csv")


SOURCES = {
    "parquet": lambda t, folder: write_parquet(t, folder / "t.parquet"),
    "name": lambda t, folder: str(write_parquet(t, folder / "t.parquet")),
    "folder": write_folder,
    "feather": lambda t, folder: write_feather(t, folder / "t.feather"),
    "csv": lambda t, folder: write_csv(t, folder / "t.csv"),
    "csv.gz": lambda t, folder: write_csv(t, folder / "t.csv.gz"),
    "dataset": lambda t, folder: ds.dataset(write_folder(t, folder), format="parquet"),
    "csv dataset": csv_dataset,
    "filtered dataset": lambda t, folder: ds.dataset(pa.table(pd.concat([t, t.assign(w=-1)]))).filter(ds.field("w") >= 0),
    "arrow table": lambda t, _: pa.table(t),
    "pandas": lambda t, _: t,
    "polars": lambda t, _: pl.from_pandas(t),
    "list of pandas": lambda t, _: list(pieces(t)),
    "function of polars": lambda t, _: lambda: pieces(pl.from_pandas(t)),
    "iterator of batches": lambda t, _: iter(pa.table(t).to_batches(max_chunksize=90)),
    "reader": lambda t, _: pa.table(t).to_reader(max_chunksize=90),
    "with empty chunks": lambda t, _: [t[:0], t[:9], t[9:9], t[9:]],
}


def assert_same(one, other):
    """Two instances are equal bit for bit, to their usage arcs."""
    for part in ("order", "start", "stop"):
        assert np.array_equal(getattr(one.usage.routing, part), getattr(other.usage.routing, part))
    for part in ("usage.rows", "usage.weights", "node_error", "purchase_price"):
        a, b = (attrgetter(part)(p) for p in (one, other))
        a, b = (a(), b()) if callable(a) else (a, b)
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)
    arcs = one.usage.arcs(), other.usage.arcs()
    assert np.array_equal(arcs[0].tail, arcs[1].tail)
    assert np.array_equal(arcs[0].head, arcs[1].head)
    for part in ("gain", "price", "weight", "evaluation", "gain_unit", "price_unit"):
        assert np.array_equal(getattr(one.numbers, part), getattr(other.numbers, part))


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("scratch", [False, True])
def test_every_source_gives_the_instance_of_the_whole_table(data, kind, scratch, tmp_path):
    """Whatever the table is kept in, in whatever order and with whatever else: routing, arcs, prices are those in memory."""
    (tmp_path / "table").mkdir()
    source = SOURCES[kind](data.table, tmp_path / "table")
    found = problem_from_table(
        data.forest,
        ChunkedTable(source, chunk_rows=SIZE),
        costs=[1, 2, 0.5, 1, 1],
        sample_weight="w",
        evaluation_cost=0.1,
        scratch=tmp_path if scratch else None,
    )
    whole = pm.problem_from_forest(data.forest, data.X, costs=[1, 2, 0.5, 1, 1], sample_weight=data.w, evaluation_cost=0.1)
    assert_same(found, whole)
    if kind == "parquet":
        assert np.array_equal(pm.pruning_path(found).level, pm.pruning_path(whole).level)


@pytest.mark.parametrize("kind", ["array", "memmap", "sparse", "arrays", "lists", "dataframe"])
def test_tables_without_names_are_taken_as_they_stand(kind, tmp_path):
    """A forest trained on arrays takes arrays of any kind, and weights as an array."""
    data = made(names=False)
    X = data.X.fillna(0.0).to_numpy()
    np.save(tmp_path / "x.npy", X)
    source = {
        "array": X,
        "memmap": np.load(tmp_path / "x.npy", mmap_mode="r"),
        "sparse": scipy.sparse.coo_matrix(X),
        "arrays": list(pieces(X)),
        "lists": [piece.tolist() for piece in pieces(X)],
        "dataframe": pd.DataFrame(X),
    }[kind]
    found = problem_from_table(data.forest, ChunkedTable(source, chunk_rows=SIZE), costs=1, sample_weight=data.w)
    assert_same(found, pm.problem_from_forest(data.forest, X, costs=1, sample_weight=data.w))


def test_columns_of_a_forest_without_names_are_all_others_or_those_named(tmp_path):
    """All but weights and labels, where that is the right number; else the user names them, in the order of training."""
    data = made(names=False)
    file = write_parquet(data.table, tmp_path / "t.parquet")
    whole = pm.problem_from_forest(data.forest, data.X.to_numpy(), costs=1)
    with pytest.raises(InvalidInputError, match=r"t.parquet has 8 columns for features, .* on 5, without names; .*columns="):
        problem_from_table(data.forest, file, costs=1)
    assert_same(problem_from_table(data.forest, ChunkedTable(file, columns=NAMES), costs=1), whole)
    only_weights = write_parquet(data.X.assign(w=1.0), tmp_path / "w.parquet")
    assert_same(problem_from_table(data.forest, only_weights, costs=1, sample_weight="w"), whole)


def test_cells_of_every_kind_are_what_pandas_makes_of_them(tmp_path):
    """Integers, booleans, decimals, categories, half floats, nullable columns, all-empty ones: routed as from memory."""
    rng = np.random.default_rng(1)
    n = 300
    whole = rng.integers(0, 9, n)
    X = pd.DataFrame({"a": whole, "b": rng.random(n) < 0.5, "c": rng.random(n), "d": rng.integers(0, 3, n), "e": rng.random(n)})
    forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, rng.integers(0, 2, n))
    X["e"] = np.nan
    X.loc[X.index[:250], "e"] = 0.25
    empty = rng.random(n) < 0.2
    table = pa.table(
        {
            "a": pa.array(whole, mask=empty, type=pa.int16()),
            "b": pa.array(X["b"].to_numpy()),
            "c": pa.array([decimal.Decimal(f"{c:.3f}") for c in X["c"]]),
            "d": pa.array(X["d"].astype(str).tolist()).cast(pa.string()).cast(pa.int64()).dictionary_encode(),
            "e": pa.array(X["e"].to_numpy(), from_pandas=True, type=pa.float16()),
        }
    )
    as_in_memory = X.assign(a=np.where(empty, np.nan, whole), c=X["c"].map("{:.3f}".format).astype(float))
    problem = pm.problem_from_forest(forest, as_in_memory, costs=1)
    parquet.write_table(table, tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet"):
        assert_same(problem_from_table(forest, ChunkedTable(source, chunk_rows=100), costs=1), problem)
    nullable = as_in_memory.convert_dtypes()
    assert_same(problem_from_table(forest, ChunkedTable(nullable, chunk_rows=100), costs=1), problem)
    all_null = pa.table({**{n: table[n] for n in "abcd"}, "e": pa.nulls(n)})
    nan = pm.problem_from_forest(forest, as_in_memory.assign(e=np.nan), costs=1)
    assert_same(problem_from_table(forest, all_null, costs=1), nan)


def test_only_columns_that_trees_split_on_are_read(data, tmp_path, monkeypatch):
    """Neither text columns nor features that no tree asks for are read; a pruned forest reads fewer."""
    seen = []
    iter_batches = parquet.ParquetFile.iter_batches

    def watched(self, **options):
        seen.append(options["columns"])
        return iter_batches(self, **options)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", watched)
    table = ChunkedTable(write_parquet(data.table, tmp_path / "t.parquet"))
    problem = problem_from_table(data.forest, table, costs=1, sample_weight="w")
    assert seen == [["a", "b", "c", "d", "w"]]
    path = pm.pruning_path(problem)
    small = pm.apply_pruning(path[len(path) - 2], data.forest)
    pm.evaluate(small, table, "y", costs=1)
    used = sorted({NAMES[f] for tree in small.estimators_ for f in tree.tree_.feature if f >= 0})
    assert seen[1] == [*used, "y"]
    assert len(used) < 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "pandas", "function of polars", "csv"])
def test_evaluations_are_those_in_memory(data, kind, tmp_path):
    """`evaluate` and `evaluate_path` bit for bit; `hold_out` too at these prices; with weights, and evaluation prices."""
    table = ChunkedTable(SOURCES[kind](data.table, tmp_path), chunk_rows=SIZE)
    prices = dict(zip(NAMES, [1, 2, 0.5, 1, 7], strict=True))
    whole = pm.evaluate(data.forest, data.X, data.y, costs=prices, evaluation_cost=0.25)
    found = pm.evaluate(data.forest, table, "y", costs=prices, evaluation_cost=0.25)
    for part in ("cost", "features", "error", "splits", "n"):
        assert getattr(found, part) == getattr(whole, part)
    problem = pm.problem_from_forest(data.forest, data.X[:50], costs=prices, evaluation_cost=0.25)
    path = pm.pruning_path(problem)
    for vote in ("mean", "majority"):
        one = pm.evaluate_path(path, data.X, data.y, sample_weight=data.w, vote=vote)
        other = pm.evaluate_path(path, table, "y", sample_weight="w", vote=vote)
        for part in ("n", "cost", "cost_se", "error", "error_se", "increase_se", "best", "above_best", "above_best_se"):
            assert np.array_equal(getattr(one, part), getattr(other, part))
    for weights, column in ((None, None), (data.w, "w")):
        one = pm.hold_out(path[len(path) // 2], data.forest, data.X, data.y, sample_weight=weights)
        other = pm.hold_out(path[len(path) // 2], data.forest, table, "y", sample_weight=column)
        assert (one.cost, one.error) == (other.cost, other.error)
    assert pm.hold_out(path[0], data.forest, table).error is None


def test_errors_of_the_nodes_are_counted_over_chunks(data, tmp_path):
    """`GivenTable` is `Given` bit for bit, alone and in a blend, of labels in a file and beside it."""
    table = ChunkedTable(write_parquet(data.table, tmp_path / "t.parquet"), chunk_rows=SIZE)
    half = pm.samples.Blend([(0.5, pm.samples.InBag()), (0.5, pm.samples.Given(data.X, data.y, data.w))])
    blend = pm.samples.Blend([(0.5, pm.samples.InBag()), (0.5, GivenTable(table, "y", "w"))])
    pairs = [
        (GivenTable(table, "y"), pm.samples.Given(data.X, data.y)),
        (GivenTable(data.X, data.y), pm.samples.Given(data.X, data.y)),
        (blend, half),
    ]
    for found, whole in pairs:
        one = problem_from_table(data.forest, table, costs=1, errors=found)
        assert_same(one, pm.problem_from_forest(data.forest, data.X, costs=1, errors=whole))


def test_the_problem_reads_rows_again_where_they_are_asked_for(data, tmp_path):
    """Its X is a reference: single trees, other prices and pickles work as with a table in memory."""
    file = write_parquet(data.table, tmp_path / "t.parquet")
    problem = problem_from_table(data.forest, ChunkedTable(file, chunk_rows=SIZE), costs=1, sample_weight="w")
    whole = pm.problem_from_forest(data.forest, data.X, costs=1, sample_weight=data.w)
    assert_same(problem.only_tree(2), whole.only_tree(2))
    X = pickle.loads(pickle.dumps(problem)).X
    assert len(X) == N
    assert np.array_equal(np.asarray(X), data.X.assign(e=0.0).to_numpy(np.float32), equal_nan=True)  # no tree splits on e
    assert np.asarray(X, dtype=np.float64).dtype == np.float64
    assert np.array_equal(X[np.array([3, 400])], np.asarray(X)[[3, 400]], equal_nan=True)
    assert np.array_equal(X[2:5], np.asarray(X)[2:5], equal_nan=True)
    assert X[np.array([], dtype=int)].shape == (0, 5)
    with pytest.raises(InvalidInputError, match="in rising order only"):
        X[np.array([3, 2])]
    with pytest.raises(IndexError, match="has 500 rows"):
        X[np.array([N])]
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(X, copy=False)


def changed(table, **cells):
    """The table with one cell of row 201 changed."""
    table = table.copy()
    for name, value in cells.items():
        if not isinstance(value, float):
            table[name] = table[name].astype(object)
        table.loc[200, name] = value
    return table


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"a": np.inf}, "t.csv, row 201: the column 'a' is infinite as a float32"),
        ({"a": -1e300}, "t.csv, row 201: the column 'a' is infinite as a float32"),
        ({"b": "much"}, "t.csv, row 201: the column 'b' holds 'much', not a number"),
        ({"w": -2.0}, "t.csv, row 201: the column 'w' is -2.0; weights must be finite and >= 0"),
        ({"w": np.nan}, "t.csv, row 201: the column 'w' is nan; weights must be finite and >= 0"),
        ({"y": None}, "t.csv, row 201: no value of 'y'; fill it or drop the row"),
        ({"y": "perhaps"}, "errors: .*t.csv, row 201: y is the label 'perhaps', the model was trained on"),
    ],
)
def test_bad_cells_are_named_by_file_column_and_row(data, cells, message, tmp_path):
    """Rows are counted over all chunks, from 1."""
    file = write_csv(changed(data.table, **cells), tmp_path / "t.csv")
    table = ChunkedTable(file, chunk_rows=SIZE)
    with pytest.raises(InvalidInputError, match=message):
        problem_from_table(data.forest, table, costs=1, sample_weight="w", errors=GivenTable(table, "y"))


def small():
    """60 rows of numbers."""
    return pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])


def saved(write, name):
    """Writes a table to a file of that name."""
    return lambda t, folder: write(t, folder / name)


def text(content, name):
    return lambda _, folder: (folder / name).write_bytes(content) and folder / name


def twice(t):
    return pd.concat([t, t[["a"]]], axis=1)


WHOLE, STREAM = saved(write_parquet, "t.parquet"), "the stream of chunks"
ARRAY = made(names=False).X.to_numpy()

REFUSED: list[Any] = [
    # columns and weights; by name, with what there is, most before a row is read
    (lambda t, f: WHOLE(t.drop(columns="b"), f), {}, r"has no column 'b'; it has 'note', 'y'"),
    (lambda t, f: WHOLE(t.drop(columns=["b", "e"]), f), {}, r"has no column 'b' \(2 are missing\)"),
    (lambda t, f: WHOLE(t.assign(b="x"), f), {}, r"the column 'b' holds .*string, not numbers"),
    (WHOLE, {"sample_weight": "weight"}, "has no column 'weight'"),
    (WHOLE, {"sample_weight": "note"}, "the column 'note' holds .*string, not numbers"),
    (lambda t, f: WHOLE(t.assign(w=0.0), f), {"sample_weight": "w"}, "sample_weight is 0 everywhere"),
    (lambda t, f: WHOLE(t[:0], f), {}, "holds no examples"),
    (WHOLE, {"sample_weight": np.ones(499)}, r"sample_weight has shape \(499,\), .* has 500 rows"),
    (WHOLE, {"sample_weight": np.ones(501)}, r"sample_weight has shape \(501,\), .* has 500 rows"),
    (WHOLE, {"sample_weight": np.ones((500, 1))}, r"sample_weight has shape \(500, 1\)"),
    (WHOLE, {"sample_weight": np.full(500, "x")}, "sample_weight is not numeric"),
    (WHOLE, {"costs": [1, 2]}, "costs has 2 prices, the forest was trained on 5 features"),
    (lambda t, f: WHOLE(t.drop(columns="c"), write_folder(t, f)) and f, {}, r"t.parquet has no column 'c'"),
    # what only shows when a chunk comes
    (lambda t, _: [t[:9], t[9:].drop(columns="a")], {}, f"{STREAM} has no column 'a'"),
    (lambda t, _: [t[:9], twice(t)[9:]], {}, f"{STREAM} has the column 'a' more than once"),
    (lambda t, _: [ARRAY], {"sample_weight": "w"}, f"sample_weight is the column 'w', {STREAM} has no names"),
    (lambda t, _: [ARRAY[:, :4]], {}, f"{STREAM} has 4 columns"),
    (lambda t, _: [np.ones((3, 5)), np.full((2, 5), np.inf)], {}, rf"{STREAM}\[3, 0\] is infinite"),
    (lambda t, _: [t], {"sample_weight": np.ones(499)}, rf"sample_weight has shape \(499,\), {STREAM} has 500 rows or more"),
    (lambda t, _: [t], {"sample_weight": np.ones(501)}, r"sample_weight has shape \(501,\)"),
    (lambda t, _: [t, t], {"sample_weight": np.r_[np.ones(700), -1, np.ones(299)]}, f"{STREAM}, row 701: sample_weight is -1.0"),
    (lambda t, _: iter([]), {}, f"{STREAM} holds no examples"),
    (lambda t, _: [[1.0, 2.0]], {}, rf"{STREAM} holds a chunk of shape \(2,\); give chunks of shape"),
    (lambda t, _: [3.0], {}, rf"{STREAM} holds a chunk of shape \(\); give chunks of shape"),
    # what is no table
    (lambda t, _: 7, {}, "int is no table; give a file"),
    (lambda t, _: {"a": [1.0]}, {}, "dict is no table"),
    (lambda t, _: np.zeros(2), {}, r"an array of shape \(2,\) is no table"),
    (lambda t, _: np.zeros((2, 2, 2)), {}, r"an array of shape \(2, 2, 2\) is no table"),
    (lambda t, _: "s3://bucket/t.parquet", {}, "is not a local file; give pyarrow.dataset.dataset"),
    (text(b"a,b\n1,2\n", "t.txt"), {}, "t.txt is no table that can be read; give a file ending in .parquet"),
    (text(b"1,2\n3,4\n", "n.csv"), {}, r"n.csv has no header row \(its first row is \['1', '2'\]"),
    (lambda t, f: f / "x.parquet", {}, "there is no file .*x.parquet"),
    (text(b"PAR1 no more", "t.parquet"), {}, "t.parquet cannot be read as a table"),
    (text(b"not zipped", "t.csv.gz"), {}, "t.csv.gz cannot be read as a table"),
    (lambda t, f: f, {}, "there is no Parquet file in the folder"),
    # how it is to be read
    (lambda t, _: ChunkedTable(ChunkedTable(t)), {}, "given is a ChunkedTable already"),
    (lambda t, _: ChunkedTable(t, chunk_rows=0), {}, "chunk_rows is 0; give a whole number >= 1"),
    (lambda t, _: ChunkedTable(t, columns="abcde"), {}, "columns is 'abcde'; give a sequence or None"),
    (lambda t, _: ChunkedTable(t, columns=["b", "a", "b"]), {}, "columns has 'b' more than once"),
    (lambda t, _: ChunkedTable(t, columns=["a", "b"]), {}, "columns has 2 names, the forest was trained on 5"),
    # columns of other kinds, of which NumPy would make numbers
    (lambda t, _: t.assign(b=pd.Timestamp("2020")), {}, "the table: the column 'b' holds datetime64.*, not numbers; encode"),
    (lambda t, _: t.assign(b=pd.Timedelta("1h")), {}, "the table: the column 'b' holds timedelta64.*, not numbers; encode"),
    (lambda t, _: t.assign(b=1j), {}, "the table: the column 'b' holds complex128.*, not numbers; encode"),
    (lambda t, f: WHOLE(t.assign(b=pd.Timestamp("2020-01-01")), f), {}, r"'b' holds timestamp\[.*\], not numbers"),
    (lambda t, f: WHOLE(t.assign(b=pd.Timedelta("1h")), f), {}, r"'b' holds duration\[.*\], not numbers"),
    (lambda t, _: pa.table(t.assign(b=pd.Categorical(["x", "y"] * 250))), {}, "'b' holds categories of (large_)?string, not num"),
    (lambda t, _: t.assign(b=pd.Categorical(["x", "y"] * 250)), {}, "row 1: the column 'b' holds 'x', not a number"),
]


@looped(("given", "options", "message"), REFUSED)
def test_tables_that_do_not_fit_are_refused(data, given, options, message, tmp_path_factory):
    """Columns, weights, chunks, things that are no table, and how to read one: each is named, with what there is."""
    with pytest.raises((InvalidInputError, BrokenFileError), match=message):
        problem_from_table(data.forest, given(data.table, tmp_path_factory.mktemp("t")), **{"costs": 1, **options})


def test_categories_of_numbers_are_those_numbers(data):
    """Of pandas and of Arrow."""
    halves = [0.5, -0.5] * 250
    whole = pm.problem_from_forest(data.forest, data.X.assign(b=halves), costs=1)
    given = data.table.assign(b=pd.Categorical(halves))
    for same in (given, pa.table(given)):
        assert np.array_equal(problem_from_table(data.forest, same, costs=1).usage.routing.order, whole.usage.routing.order)


def test_chunks_are_read_in_the_units_of_the_whole_file(tmp_path: Path) -> None:
    """Thousands, decimal commas and words for gaps in a file between semicolons: the errors of the table itself, in any chunks;
    a number that may be two is refused with the option that decides.
    """
    rng, n = np.random.default_rng(0), 90
    table = pd.DataFrame({"a": rng.integers(300, 9000, n).astype(float), "b": rng.normal(50, 9, n).round(1)})
    table["y"] = np.where(table["a"] > 4000, "p", "q")
    forest = RandomForestClassifier(4, random_state=0).fit(table[["a", "b"]], table["y"])
    table.loc[::7, "a"] = np.nan
    written = table.assign(a=table["a"].map(lambda x: "?" if np.isnan(x) else f"{x:,.0f}".replace(",", ".")))
    written.to_csv(tmp_path / "t.csv", sep=";", decimal=",", index=False)
    truth = pm.evaluate(forest, table[["a", "b"]], table["y"], costs=1)
    for rows in (1, 7, 100):
        seen = pm.evaluate(forest, ChunkedTable(tmp_path / "t.csv", chunk_rows=rows), "y", costs=1)
        assert (seen.error, seen.cost) == (truth.error, truth.cost)
    written.assign(b=1).to_csv(tmp_path / "open.csv", sep=";", index=False)
    with pytest.raises(
        InvalidInputError, match=r"row 2: .* 'a' holds '\d\.\d\d\d', .*; give ChunkedTable\(..., decimal='point'\)"
    ):
        pm.evaluate(forest, str(tmp_path / "open.csv"), "y", costs=1)
    told = ChunkedTable(tmp_path / "open.csv", decimal="comma")
    assert (
        pm.evaluate(forest, told, "y", costs=1).error
        == pm.evaluate(forest, table.assign(b=1)[["a", "b"]], table["y"], costs=1).error
    )


def test_iterators_serve_one_pass_only(data):
    """A path needs several: refused before the first chunk is taken; the problem's rows cannot be read again either."""
    chunks = iter(list(pieces(data.table)))
    problem = problem_from_table(data.forest, data.table, costs=1)
    with pytest.raises(InvalidInputError, match="can be read only once, but a path needs several passes"):
        pm.evaluate_path(pm.pruning_path(problem), ChunkedTable(chunks), "y")
    again = problem_from_table(data.forest, chunks, costs=1)
    assert_same(again, problem)
    with pytest.raises(InvalidInputError, match=r"holds no examples"):
        again.only_tree(0)


def test_too_many_purchases_are_refused_before_reading(data, monkeypatch):
    """Where the rows are known beforehand, nothing is read; else it is noticed at the end."""
    monkeypatch.setattr("formulations.instance.cost_sample.MOST_PURCHASES", 2000)

    def never(*_):
        raise AssertionError("was read")

    table = ChunkedTable(data.table)
    object.__setattr__(table.source, "chunks", never)
    with pytest.raises(CapacityOverflowError, match="the table has 500 rows and costs 5 items: 2,500 possible purchases"):
        problem_from_table(data.forest, table, costs=1)
    with pytest.raises(CapacityOverflowError, match="the stream of chunks has 500 rows"):
        problem_from_table(data.forest, [data.table], costs=1)


@pytest.mark.parametrize("kind", ["parquet", "csv", "folder"])
def test_files_that_change_meanwhile_are_an_error(data, kind, tmp_path, monkeypatch):
    """Truncated, appended to, replaced or removed between two chunks, or after the table was opened: never another answer."""
    (tmp_path / "t").mkdir()
    source = SOURCES[kind](data.table, tmp_path / "t")
    file = sorted(Path(source).iterdir())[-1] if kind == "folder" else Path(source)
    content = file.read_bytes()
    add = problem_module.ChunkedRouting.add
    disturbances: list[Any] = []

    def disturbed(self, rows):
        add(self, rows)
        disturbances[-1]()

    monkeypatch.setattr(problem_module.ChunkedRouting, "add", disturbed)
    for disturb in (
        lambda: file.write_bytes(content[: len(content) // 2]),
        lambda: file.write_bytes(content + b"1"),
        lambda: file.unlink(missing_ok=True),
    ):
        disturbances.append(disturb)
        file.write_bytes(content)
        table = ChunkedTable(source, chunk_rows=SIZE)
        with pytest.raises(BrokenFileError, match=f"{file.name} changed, from|there is no file .*{file.name}"):
            problem_from_table(data.forest, table, costs=1, scratch=tmp_path)
        assert [p.name for p in tmp_path.iterdir()] == ["t"]
    file.write_bytes(content)
    table = ChunkedTable(source)
    file.write_bytes(b"?" * len(content))
    with pytest.raises(BrokenFileError, match="changed, though not its size, since it was opened"):
        problem_from_table(data.forest, table, costs=1)


def test_damage_behind_the_header_is_an_error(data, tmp_path):
    """A Parquet file with broken pages and a CSV with a broken line cannot be read to their end; the file is named."""
    file = write_parquet(data.table, tmp_path / "t.parquet")
    content = bytearray(file.read_bytes())
    content[4:3000] = bytes(2996)
    file.write_bytes(content)
    with pytest.raises(BrokenFileError, match=r"t.parquet cannot be read to its end"):
        problem_from_table(data.forest, file, costs=1)
    lines = write_csv(data.table, tmp_path / "t.csv")
    lines.write_text(lines.read_text() + '"no end of the text\n')
    with pytest.raises(BrokenFileError, match=r"t.csv, line 502, has 1 field, but the header names 8 columns"):
        problem_from_table(data.forest, lines, costs=1)


def test_ctrl_c_ends_cleanly(data, tmp_path, monkeypatch):
    """A word on how far it came; no file stays in the scratch folder."""

    def interrupted():
        yield data.table[:200]
        raise KeyboardInterrupt

    with pytest.raises(InterruptedSolveError, match="interrupted while routing, after 200 rows; nothing was kept"):
        problem_from_table(data.forest, interrupted, costs=1, scratch=tmp_path)
    with pytest.raises(InterruptedSolveError, match="while counting errors, after 200 rows"):
        GivenTable(interrupted, "y").measure(ReadForest.of(data.forest))
    with pytest.raises(InterruptedSolveError, match="while evaluating, after 200 rows"):
        pm.evaluate(data.forest, ChunkedTable(interrupted), "y", costs=1)
    path = pm.pruning_path(pm.problem_from_forest(data.forest, data.X, costs=1))
    with pytest.raises(InterruptedSolveError, match="while reading labels, after 200 rows"):
        pm.evaluate_path(path, ChunkedTable(interrupted), "y")
    monkeypatch.setattr("prunemodels.tables.reading.RowsInTurn._next", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(InterruptedSolveError, match="while evaluating the path"):
        pm.evaluate_path(path, ChunkedTable(data.table), "y")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "memmap"])
def test_memory_does_not_grow_with_the_features(kind, tmp_path, monkeypatch):
    """Of a table of 51 MB, never more than the instance's own and some chunks are in memory: NumPy's and Arrow's together."""
    n_rows, n_features, n_trees, size = 160_000, 40, 6, 8192
    rng = np.random.default_rng(0)
    X = rng.random((1000, n_features))
    forest = RandomForestClassifier(n_trees, max_depth=4, random_state=0).fit(X, X[:, 0] > 0.5)
    table = tmp_path / "t.parquet"
    with parquet.ParquetWriter(table, pa.schema([(f"x{j}", pa.float64()) for j in range(n_features)])) as writer:
        for _ in range(n_rows // 20_000):
            columns = rng.random((20_000, n_features)).T
            writer.write_table(pa.table(list(columns), names=[f"x{j}" for j in range(n_features)]))
    mapped = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float64, shape=(n_rows, n_features))
    mapped[:] = 0.5
    held: list[int] = []
    add = problem_module.ChunkedRouting.add

    def watched(self, rows):
        held.append(tracemalloc.get_traced_memory()[1] + pa.total_allocated_bytes())
        add(self, rows)

    monkeypatch.setattr(problem_module.ChunkedRouting, "add", watched)
    chunked = ChunkedTable({"parquet": table, "memmap": mapped}[kind], chunk_rows=size)
    problem_from_table(forest, rng.random((9, n_features)), costs=1)  # compiled before anything is measured
    tracemalloc.start()
    try:
        problem = problem_from_table(forest, chunked, costs=1)
        held.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
    own = 4 * n_rows * n_trees + 24 * n_rows
    assert problem.usage.n_rows == n_rows
    assert max(held) < own + 2 * n_rows * n_trees + 20_000_000 < 8 * n_rows * n_features


def test_labels_must_be_given_where_errors_are_counted(data):
    """Forgotten labels are an error, not a forest without errors."""
    with pytest.raises(InvalidInputError, match=r"y is None; give .* the name of the column of labels"):
        pm.evaluate(data.forest, ChunkedTable(data.table), None, costs=1)


def test_a_table_that_holds_less_than_it_announced_is_an_error(data):
    """A source that ends early is not taken for a smaller one."""
    table = ChunkedTable(data.table, chunk_rows=SIZE)
    chunks = table.source.chunks
    object.__setattr__(table.source, "chunks", lambda *args: list(chunks(*args))[:-1].__iter__())
    with pytest.raises(BrokenFileError, match="the table gave 490 rows, but announced 500"):
        problem_from_table(data.forest, table, costs=1)


@pytest.fixture(scope="module")
def forest():
    """Trained on the columns a and b."""
    return RandomForestClassifier(3, max_depth=3, random_state=0).fit(small(), small()["a"] > small()["b"])


def test_files_are_not_taken_for_rows_in_memory(forest, tmp_path):
    """Functions that take rows in memory say which ones take files; an Arrow table is rows in memory."""
    X = small()
    file = tmp_path / "t.parquet"
    X.to_parquet(file)
    problem = pm.problem_from_forest(forest, X, costs=1)
    calls = [
        lambda given: pm.problem_from_forest(forest, given, costs=1),
        lambda given: pm.problem_from_forest(forest, X, costs=1, errors=pm.samples.Given(given, "y")),
    ]
    kinds = {
        "str": str(file),
        "PosixPath|WindowsPath": file,
        "FileSystemDataset": ds.dataset(file),
        "ChunkedTable": ChunkedTable(X),
    }
    for call in calls:
        for kind, given in kinds.items():
            with pytest.raises(InvalidInputError, match=rf"X is a ({kind}), not rows in memory; .* problem_from_table"):
                call(given)
    found = pm.problem_from_forest(forest, pa.table(X), costs=1)
    assert np.array_equal(found.usage.routing.order, problem.usage.routing.order)
    with pytest.raises(InvalidInputError, match="X has the column 'b' in place 0"):
        pm.problem_from_forest(forest, pa.table(X[["b", "a"]]), costs=1)


def test_endings_in_capitals_and_columns_of_any_sequence(forest, tmp_path):
    """As some systems write them; columns are a list, an array, a pandas index, as forests and tables have them."""
    whole = pm.problem_from_forest(forest, small(), costs=1)
    for name, write in (("T.PARQUET", small().to_parquet), ("T.Csv", lambda file: small().to_csv(file, index=False))):
        write(tmp_path / name)
        assert np.array_equal(problem_from_table(forest, tmp_path / name, costs=1).usage.routing.order, whole.usage.routing.order)
    renamed = small().rename(columns={"a": "c"})[["b", "c"]]
    for columns in (["c", "b"], np.array(["c", "b"], dtype=object), pd.Index(["c", "b"])):
        found = problem_from_table(forest, ChunkedTable(renamed, columns=columns), costs=1)
        assert np.array_equal(found.usage.routing.order, whole.usage.routing.order)
