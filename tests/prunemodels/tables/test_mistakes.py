"""What a user gets wrong with tables that are read in chunks, and what the error says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import BrokenFileError, InvalidInputError
from prunemodels.tables import ChunkedTable, problem_from_table


@pytest.fixture(scope="module")
def forest():
    """Trained on the columns a and b."""
    X = table()
    return RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, X["a"] > X["b"])


def table():
    """60 rows."""
    return pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])


def test_files_are_not_taken_for_rows_in_memory(forest, tmp_path):
    """Functions that take rows in memory say which ones take files; an Arrow table is rows in memory."""
    X = table()
    file = tmp_path / "t.parquet"
    X.to_parquet(file)
    problem = pm.problem_from_forest(forest, X, costs=1)
    path = pm.pruning_path(problem)
    calls = [
        lambda given: pm.problem_from_forest(forest, given, costs=1),
        lambda given: pm.problem_from_forest(forest, X, costs=1, errors=pm.samples.Given(given, "y")),
        lambda given: pm.evaluation.held_out_error(forest, given, "y"),
        lambda given: pm.evaluation.held_out_cost(path[0], given),
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
    assert np.array_equal(found.routing.order, problem.routing.order)
    with pytest.raises(InvalidInputError, match="X has the column 'b' in place 0"):
        pm.problem_from_forest(forest, pa.table(X[["b", "a"]]), costs=1)


@pytest.mark.parametrize(
    ("value", "held"),
    [(pd.Timestamp("2020-01-01"), "datetime64"), (pd.Timedelta("1h"), "timedelta64"), (1j, "complex128")],
)
def test_times_and_complex_numbers_are_no_features(forest, value, held, tmp_path):
    """NumPy would make numbers of them; from a file or from memory they are refused alike."""
    rows = table().assign(b=value)
    with pytest.raises(InvalidInputError, match=rf"the table: the column 'b' holds {held}.*, not numbers; encode"):
        problem_from_table(forest, rows, costs=1)
    if held != "complex128":
        rows.to_parquet(tmp_path / "t.parquet")
        with pytest.raises(InvalidInputError, match=r"t.parquet: the column 'b' holds (timestamp|duration)\[.*\], not numbers"):
            problem_from_table(forest, tmp_path / "t.parquet", costs=1)


def test_categories_of_text_are_no_features(forest):
    """Categories of numbers are those numbers."""
    texts = table().assign(b=pd.Categorical(["x", "y"] * 30))
    with pytest.raises(InvalidInputError, match=r"Arrow dataset: the column 'b' holds categories of (large_)?string, not num"):
        problem_from_table(forest, pa.table(texts), costs=1)
    with pytest.raises(InvalidInputError, match="the table, row 1: the column 'b' holds 'x', not a number"):
        problem_from_table(forest, texts, costs=1)
    numbers = table().assign(b=pd.Categorical([0.5, -0.5] * 30))
    whole = pm.problem_from_forest(forest, table().assign(b=[0.5, -0.5] * 30), costs=1)
    for given in (numbers, pa.table(numbers)):
        assert np.array_equal(problem_from_table(forest, given, costs=1).routing.order, whole.routing.order)


def test_endings_are_known_in_capitals(forest, tmp_path):
    """As some systems write them."""
    whole = pm.problem_from_forest(forest, table(), costs=1)
    for name, write in (("T.PARQUET", table().to_parquet), ("T.Csv", lambda file: table().to_csv(file, index=False))):
        write(tmp_path / name)
        assert np.array_equal(problem_from_table(forest, tmp_path / name, costs=1).routing.order, whole.routing.order)


def test_columns_are_named_by_any_sequence(forest):
    """A list, an array, a pandas index: as forests and tables have them."""
    whole = pm.problem_from_forest(forest, table(), costs=1)
    renamed = table().rename(columns={"a": "c"})[["b", "c"]]
    for columns in (["c", "b"], np.array(["c", "b"], dtype=object), pd.Index(["c", "b"])):
        found = problem_from_table(forest, ChunkedTable(renamed, columns=columns), costs=1)
        assert np.array_equal(found.routing.order, whole.routing.order)


def test_what_is_no_table_says_so(forest, tmp_path):
    """Addresses, empty folders, mappings, arrays and chunks of another shape, sizes and columns that make no sense."""
    (tmp_path / "empty").mkdir()
    refusals = [
        (InvalidInputError, "s3://bucket/t.parquet", {}, "is not a local file; give pyarrow.dataset.dataset"),
        (BrokenFileError, tmp_path / "empty", {}, "there is no Parquet file in the folder .*empty"),
        (InvalidInputError, {"a": [1.0], "b": [2.0]}, {}, "dict is no table"),
        (InvalidInputError, np.zeros(2), {}, r"an array of shape \(2,\) is no table"),
        (InvalidInputError, np.zeros((2, 2, 2)), {}, r"an array of shape \(2, 2, 2\) is no table"),
        (InvalidInputError, [[1.0, 2.0]], {}, r"the stream of chunks holds a chunk of shape \(2,\); give chunks of shape"),
        (InvalidInputError, [3.0], {}, r"the stream of chunks holds a chunk of shape \(\); give chunks of shape"),
        (InvalidInputError, ChunkedTable(table()), {}, "given is a ChunkedTable already"),
        (InvalidInputError, table(), {"chunk_rows": 2.5}, "chunk_rows is 2.5; give a whole number >= 1"),
        (InvalidInputError, table(), {"chunk_rows": "9"}, "chunk_rows is '9'; give a whole number"),
        (InvalidInputError, table(), {"columns": ["b", "a", "b"]}, "columns has 'b' more than once"),
    ]
    for kind, given, options, message in refusals:
        with pytest.raises(kind, match=message):
            problem_from_table(forest, ChunkedTable(given, **options), costs=1)
    assert ChunkedTable(table(), chunk_rows=np.int64(7)).chunk_rows == 7
