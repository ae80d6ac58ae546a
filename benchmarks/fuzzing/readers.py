"""Every reader of files: sound contents to damage, what is done with the damaged file, and which answers are wrong.

An answer about a damaged file is wrong if an independent reading (`benchmarks.fuzzing.references`) says that the file is none, or
that it holds something else. Where the reference cannot tell, every answer passes.
"""

from __future__ import annotations

import csv
import io
import json
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import skops.io
from scipy import io as matrix_market
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier, ExtraTreesRegressor, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from benchmarks.fuzzing import mutations, references
from benchmarks.fuzzing.child import run_in_child
from benchmarks.fuzzing.mutations import Mutation
from formulations.programs.files import write_program
from formulations.programs.linear_program import Block, LinearProgram, Names
from proofs_checks import check_total_unimodularity
from proofs_checks.matrices.network_matrix import check_network_matrix, paths_in_tree
from proofs_checks.matrices.sign_matrix import read_matrix
from prunemodels.cascades.cascade_files import load_cascade, save_cascade
from prunemodels.command_line.cli import main
from prunemodels.data_files import read_table, take_column, take_features
from prunemodels.files.forests import load_forest
from prunemodels.files.matrices import load_matrix, load_network, save_network
from prunemodels.models.costs import items_from_table
from prunemodels.models.forests.reading import read_forest
from prunemodels.models.libraries.model_forest import ModelForest
from prunemodels.models.libraries.reading import read_model
from solvers.price_sharing import price_sharing

BYTES = (mutations.bits, mutations.cut, mutations.blocks)
TEXT = (*BYTES, mutations.numbers, mutations.numbers, mutations.words, mutations.lines)
JSON = (*TEXT, *[mutations.json_values] * 6)
ARCHIVE = (*BYTES, *[mutations.members] * 5)
NAMES = ("a", "b", "c", "d")


@dataclass(frozen=True)
class Reader:
    """A kind of file: contents of sound ones, what is done with one in a child process, and damages that fit the format. `wrong`
    tells of the bytes of the file and the answer what is wrong with the answer, or None.
    """

    ending: str
    sound: Callable[[], tuple[bytes, ...]]
    read: Callable[[Path], Any]
    mutate: tuple[Mutation, ...]
    wrong: Callable[[bytes, Any], str | None] = lambda content, answer: None


def written(ending: str, write: Callable[[Path], Any]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / f"it{ending}"
        write(place)
        return place.read_bytes()


# Matrices


MATRICES = tuple(
    np.array(rows)
    for rows in (
        [[1, 1, 0], [0, 1, 1], [1, 0, 1]],
        [[1, -1, 0, 0], [0, 1, -1, 0], [0, 0, 1, -1]],
        [[1, 1, 0], [0, 1, 1], [-1, 0, 1], [0, 0, 1]],
        [[1, 1, 1, 0], [0, 1, 0, 1], [1, 1, 0, 1]],
        [[1, 0], [1, 1]],
    )
)


def _decide(place: Path) -> Any:
    matrix = load_matrix(place)
    verdict = check_total_unimodularity(matrix)
    entries = [[str(int(x)) for x in row] for row in matrix.dense()]
    if matrix.other is not None:
        entries[matrix.other[0]][matrix.other[1]] = str(matrix.other[2])
    return {"holds": verdict.holds, "entries": entries, "other": matrix.other is not None}


def _wrong_decision(reference: Callable[[bytes], references.Matrix], content: bytes, answer: Any) -> str | None:
    try:
        truth = reference(content)
    except references.UndecidedError:
        return None
    except references.RefusedError as why:
        return f"answers {_word(answer['holds'])} for a damaged file ({why.args[0].split()[0]})"
    if not answer["other"] and [[Fraction(x) for x in row] for row in answer["entries"]] != truth:
        return f"answers {_word(answer['holds'])} for another matrix than the file's"
    try:
        return None if answer["holds"] in (None, references.totally_unimodular(truth)) else f"wrongly {_word(answer['holds'])}"
    except references.UndecidedError:
        return None


def _word(holds: bool | None) -> str:
    return {True: "'holds'", False: "'refuted'", None: "'undecided'"}[holds]


Save = Callable[[Path, np.ndarray[Any, Any]], Any]


def _matrices(ending: str, ways: Sequence[Save]) -> tuple[bytes, ...]:
    """Each matrix, saved in each way."""
    return tuple(written(ending, lambda place, m=m, save=save: save(place, m)) for m in MATRICES for save in ways)


SPARSE = (sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.dia_array, sparse.bsr_array, sparse.csc_matrix)
PROGRAMS: list[Save] = [lambda place, m, k=k: write_program(_program(m, k), place) for k in (False, True)]

FORMATS: dict[str, tuple[list[Save], tuple[Mutation, ...], Callable[[bytes], references.Matrix]]] = {
    ".npy": (
        [lambda place, m, k=k: np.save(place, m.astype(k)) for k in (np.int64, np.float64, np.int8)],
        (*BYTES, mutations.array, mutations.header),
        references.dense,
    ),
    ".npz": ([lambda place, m, k=k: sparse.save_npz(place, k(m)) for k in SPARSE], ARCHIVE, references.sparse),
    ".mtx": (
        [lambda place, m, k=k: matrix_market.mmwrite(place, k(m)) for k in (sparse.coo_array, np.asarray)],
        TEXT,
        references.market,
    ),
    ".csv": ([lambda place, m: np.savetxt(place, m, delimiter=",", fmt="%d")], TEXT, references.commas),
    ".lp": (PROGRAMS, TEXT, references.lp),
    ".mps": (PROGRAMS, TEXT, references.mps),
}
"""Files of matrices: ways to save one, damages, and the independent reading."""


def _program(rows: np.ndarray[Any, Any], integer: bool) -> LinearProgram:
    m, n = rows.shape
    names = [Names((Block(name, (np.arange(k),)),)) for name, k in (("x", n), ("r", m))]
    free = np.full(m, -np.inf)
    return LinearProgram(
        np.arange(1.0, n + 1), 0.0, sparse.csr_array(rows.astype(float)), free, np.arange(1.0, m + 1), np.zeros(n), np.ones(n),
        np.full(n, integer), *names,
    )  # fmt: skip


PATHS = np.array([[1, 1, 0], [0, 1, 1], [0, 0, -1]])


def _networks() -> tuple[bytes, ...]:
    network = paths_in_tree(read_matrix(PATHS), np.array([0, 1, 3]), np.array([1, 2, 2]))
    assert network is not None
    return (written(".npz", partial(save_network, network)),)


def _check_network(place: Path) -> Any:
    network = load_network(place)
    arrays = {name: getattr(network, name).tolist() for name in ("tail", "head", "start", "end")}
    return arrays | {"transposed": network.transposed, "holds": check_network_matrix(PATHS, network).holds}


def _wrong_network(content: bytes, answer: Any) -> str | None:
    if not answer["holds"]:
        return None
    truth = [[Fraction(int(x)) for x in row] for row in (PATHS.T if answer["transposed"] else PATHS)]
    arcs = list(zip(answer["tail"], answer["head"], strict=False))
    holds = references.network_holds(truth, arcs, list(zip(answer["start"], answer["end"], strict=False)))
    return None if holds else "wrongly 'holds'"


# Forests


@cache
def _rows() -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    X, y = load_iris(return_X_y=True)
    return pd.DataFrame(X[::3], columns=list(NAMES)), y[::3]


@cache
def _forests() -> tuple[Any, ...]:
    X, y = _rows()
    return (
        RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y),
        ExtraTreesRegressor(2, max_depth=3, bootstrap=True, random_state=0).fit(X.to_numpy(), y),
        DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y > 0),
        BaggingClassifier(DecisionTreeClassifier(max_depth=2), 3, max_features=0.75, random_state=0).fit(X, y),
    )


@cache
def _forest_files() -> tuple[bytes, ...]:
    return tuple(written(".skops", partial(skops.io.dump, forest)) for forest in _forests())


def _prune_forest(place: Path) -> Any:
    X, _ = _rows()
    forest = load_forest(place)
    ensemble = read_forest(forest)
    table: Any = X if ensemble.feature_names else X.to_numpy()
    problem = pm.problem_from_forest(forest, table, costs=1.0)
    path = pm.pruning_path(problem)
    return [len(path), np.asarray(pm.apply_pruning(path.at_lam(0.02), forest).predict(table)).shape[0]]


@cache
def _cascade() -> Any:
    X, y = _rows()
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    problem = pm.problem_from_forest(forest, X, costs=1.0)
    return pm.exit_path(pm.pruning_path(problem), X, y, random_state=0).at_cost(2.0)


def _run_cascade(place: Path) -> Any:
    X, _ = _rows()
    cascade = load_cascade(place)
    return [len(cascade.predict(X)), len(cascade.prediction_cost(X))]


# Boosted models of other libraries


def _boosted(library: str) -> tuple[Any, ...]:
    """Classes, numbers, averages and categories; one thread, because child processes lack the others."""
    X, y = _rows()
    shifted, own = X.to_numpy() + 0.01, {"n_estimators": 4, "n_jobs": 1, "random_state": 0}
    if library == "xgboost":
        import xgboost

        own |= {"max_depth": 3}
        table = X.assign(a=pd.Categorical(X["a"].round().astype(int)))
        return (
            xgboost.XGBClassifier(**own).fit(shifted, y > 0),
            xgboost.XGBClassifier(**own).fit(shifted, y),
            xgboost.XGBRegressor(**own).fit(X, y),
            xgboost.XGBRFClassifier(**own).fit(shifted, y > 0),
            xgboost.XGBClassifier(**own, booster="dart", rate_drop=0.5).fit(shifted, y > 0),
            xgboost.XGBRegressor(**own, enable_categorical=True, max_cat_to_onehot=1).fit(table, y),
            xgboost.XGBClassifier(**own, early_stopping_rounds=1).fit(X, y > 1, eval_set=[(X, y > 1)], verbose=False),
        )
    import lightgbm

    own |= {"num_leaves": 5, "min_child_samples": 3, "verbose": -1}
    table = X.assign(a=pd.Categorical(X["a"].round().astype(int)))
    return (
        lightgbm.LGBMClassifier(**own).fit(shifted, y > 0),
        lightgbm.LGBMClassifier(**own).fit(shifted, y),
        lightgbm.LGBMRegressor(**own).fit(X, y),
        lightgbm.LGBMRegressor(**own, boosting_type="rf", subsample=0.6, subsample_freq=1).fit(X, y),
        lightgbm.LGBMRegressor(**own).fit(table, y),
    )


def _boosted_files(library: str, ending: str) -> tuple[bytes, ...]:
    """Trained in a child process, so that this one starts no threads."""

    def write(model: Any, place: Path) -> None:
        (model if library == "xgboost" else model.booster_).save_model(place)

    made = run_in_child(lambda: [written(ending, partial(write, m)).decode("latin1") for m in _boosted(library)])
    assert made.kind == "answer", made
    return tuple(content.encode("latin1") for content in made.answer)


def _catboost_files() -> tuple[bytes, ...]:
    stored = json.loads(CATBOOST.read_text(encoding="utf-8"))
    return tuple(json.dumps(entry["model"]).encode() for entry in stored.values())


CATBOOST = Path(__file__).parents[2] / "tests" / "prunemodels" / "models" / "libraries" / "catboost_models.json"
"""Models that CatBoost wrote."""

ROWS = 12


def _predict_boosted(place: Path) -> Any:
    """The margins of the trees as we read them, and as the library does."""
    model = load_forest(place)
    forest = model if isinstance(model, ModelForest) else read_model(model)
    X = np.resize(_rows()[0].to_numpy()[::4] + 0.01, (ROWS, forest.n_columns))  # no zeros, which may count as missing
    ours = forest.margins(forest.rows(X)).reshape(ROWS, -1)
    library = type(model).__module__.split(".")[0]
    theirs = ours
    if library == "xgboost":
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        best = booster.attr("best_iteration")
        booster = booster if best is None else booster[: int(best) + 1]
        import xgboost

        booster.set_param({"nthread": 1})
        data = xgboost.DMatrix(X, feature_names=booster.feature_names, feature_types=booster.feature_types, nthread=1)
        theirs = booster.predict(data, output_margin=True, validate_features=False).reshape(ROWS, -1)
    elif library == "lightgbm":
        theirs = model.predict(X, raw_score=True, num_threads=1).reshape(ROWS, -1)
        if "\naverage_output\n" in model.model_to_string():
            theirs = theirs / (model.num_trees() // theirs.shape[1])
    return [ours.tolist(), np.asarray(theirs, dtype=float).tolist()]


def _wrong_margins(content: bytes, answer: Any) -> str | None:
    """Whether the margins are others than those of the library, which is the reference."""
    ours, theirs = (np.array(margins) for margins in answer)
    same = ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-4, atol=1e-4, equal_nan=True)
    return None if same else "other margins than the library's"


# Checkpoints


@cache
def _problem() -> Any:
    X, _ = _rows()
    return pm.problem_from_forest(_forests()[0], X, costs=[1, 2, 3, 4])


LAM = 0.01


def _go_on_scores(place: Path) -> Any:
    found = price_sharing(_problem(), LAM, checkpoint=place)
    return [str(found.status), float(found.value)]


def _wrong_value(content: bytes, answer: Any) -> str | None:
    status, value = answer
    truth = pm.pruning_path(_problem()).at_lam(LAM).value(LAM)
    is_right = math.isclose(value, truth, rel_tol=1e-9, abs_tol=1e-12)
    return "a wrong value with status optimal" if status.lower().endswith("optimal") and not is_right else None


# Tables


@cache
def _forest_folder() -> dict[str, bytes]:
    X, y = _rows()
    table = X.assign(label=y).to_csv(index=False).encode()
    path = pm.pruning_path(pm.problem_from_forest(_forests()[0], X, costs=1.0)).to_frame().to_csv(index=False).encode()
    return {"forest.skops": _forest_files()[0], "data.csv": table, "path.csv": path}


def _check_path_table(place: Path) -> Any:
    for name, content in _forest_folder().items():
        place.with_name(name).write_bytes(content)
    forest, data = (str(place.with_name(name)) for name in ("forest.skops", "data.csv"))
    return main(["check", "path", forest, "--data", data, "--label", "label", "--costs", "1", "--table", str(place), "--quiet"])


def _wrong_path_table(content: bytes, answer: Any) -> str | None:
    if answer != 0:
        return None
    ours, theirs = (_cells(text) for text in (_forest_folder()["path.csv"], content))
    if theirs is None or len(theirs) != len(ours or ()):
        return "'holds' for a damaged table"
    cells = [(one[name], other.get(name) or "nan") for one, other in zip(ours or (), theirs, strict=True) for name in one]
    try:
        numbers = [(float(cell), float(said)) for cell, said in cells]
    except ValueError:
        return "'holds' for a table with text"
    if any(math.isnan(said) for _, said in numbers):
        return "'holds' for gaps"
    return "'holds' for another table" if any(abs(a - b) > 1e-11 * abs(a) for a, b in numbers) else None


def _cells(content: bytes) -> list[dict[str, str]] | None:
    """The rows of a CSV file by Python's own reader; None for rows of other lengths than the header, and for a name twice."""
    try:
        rows = [row for row in csv.reader(io.StringIO(content.decode("utf-8"), newline=""), strict=True) if row]
    except (ValueError, csv.Error):
        return None
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows) or len(set(rows[0])) < len(rows[0]):
        return None
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def _cost_tables() -> tuple[bytes, ...]:
    return (
        b"feature,cost\na,1\nb,2.5\nc,0\nd,7.27\n",
        b"feature,cost,item,once\na,1,x,0\nb,1,x,0\nc,3,y,1\nd,4,,0\n",
        b"feature,cost,discount_cost,shared_group\na,3,1,g\nb,4,2,g\nc,1,,\nd,2,,\n",
        b"feature,cost,needs\na,1,\nb,2,\nc,,a;b\nd,4,c\n",
    )


def _read_costs(place: Path) -> Any:
    costs = items_from_table(read_table(place), NAMES)
    is_plain = costs.needs == ((0,), (1,), (2,), (3,))
    return {"plain": is_plain, "prices": [str(p) for p in costs.prices], "names": list(costs.names)}


def _wrong_costs(content: bytes, answer: Any) -> str | None:
    rows = _cells(content)
    if rows is None:
        return "prices from a damaged table"
    if set(rows[0]) != {"feature", "cost"} or not answer["plain"]:
        return None
    truth = {row["feature"].strip(): row["cost"].strip() for row in rows}
    for name, price in zip(answer["names"], answer["prices"], strict=True):
        try:
            if name not in truth or Fraction(repr(float(truth[name]))) != Fraction(price):
                return "other prices than the table's"
        except (ValueError, OverflowError):
            return "prices from a table with text"
    return None


def _data_tables() -> tuple[bytes, ...]:
    return (_forest_folder()["data.csv"][:400].rpartition(b"\n")[0] + b"\n",)


def _read_data(place: Path) -> Any:
    table = read_table(place)
    label = [str(x) for x in take_column(table, "label", "--label", str(place))]
    return [np.nan_to_num(take_features(table, NAMES, str(place)).to_numpy(), nan=-777.0).tolist(), label]


def _wrong_data(content: bytes, answer: Any) -> str | None:
    rows = _cells(content)
    if rows is None:
        return "rows of a damaged table"
    if len(rows) != len(answer[0]):
        return "another number of rows than the table's"
    for row, ours in zip(rows, answer[0], strict=True):
        for name, value in zip(NAMES, ours, strict=True):
            cell = row.get(name, "").strip()
            try:
                if cell and value != -777.0 and not math.isclose(float(cell), value, rel_tol=1e-12):
                    return "other cells than the table's"
            except ValueError:
                if cell.lower() not in ("true", "false"):
                    return "numbers from cells of text"
    return None


def _chunked(place: Path) -> Any:
    return pm.tables.problem_from_table(_forests()[0], place, costs=1.0).usage.n_rows


def _arrow_tables(ending: str) -> tuple[bytes, ...]:
    table = _rows()[0].assign(label=_rows()[1])
    return (written(ending, table.to_parquet if ending == ".parquet" else table.to_feather),)


READERS: dict[str, Reader] = {
    **{
        f"matrix {ending}": Reader(ending, partial(_matrices, ending, ways), _decide, mutate, partial(_wrong_decision, reference))
        for ending, (ways, mutate, reference) in FORMATS.items()
    },
    "certificate": Reader(".npz", _networks, _check_network, ARCHIVE, _wrong_network),
    "forest": Reader(".skops", _forest_files, _prune_forest, ARCHIVE),
    "cascade": Reader(".skops", lambda: (written(".skops", partial(save_cascade, _cascade())),), _run_cascade, ARCHIVE),
    "boosted .txt": Reader(".txt", partial(_boosted_files, "lightgbm", ".txt"), _predict_boosted, TEXT, _wrong_margins),
    "boosted .json": Reader(".model.json", partial(_boosted_files, "xgboost", ".json"), _predict_boosted, JSON, _wrong_margins),
    "boosted .ubj": Reader(".ubj", partial(_boosted_files, "xgboost", ".ubj"), _predict_boosted, BYTES, _wrong_margins),
    "boosted of CatBoost": Reader(
        ".catboost.json", _catboost_files, _predict_boosted, (*BYTES, *[mutations.json_values] * 3, mutations.numbers)
    ),
    "checkpoint of scores": Reader(
        ".scores",
        lambda: (written(".scores", lambda place: price_sharing(_problem(), LAM, checkpoint=place)),),
        _go_on_scores,
        ARCHIVE,
        _wrong_value,
    ),
    "table of a path": Reader(".csv", lambda: (_forest_folder()["path.csv"],), _check_path_table, TEXT, _wrong_path_table),
    "table of costs": Reader(".csv", _cost_tables, _read_costs, TEXT, _wrong_costs),
    "table of data": Reader(".csv", _data_tables, _read_data, TEXT, _wrong_data),
    "table in chunks": Reader(".csv", _data_tables, _chunked, TEXT),
    "table .parquet": Reader(
        ".parquet", partial(_arrow_tables, ".parquet"), lambda place: [len(read_table(place)), _chunked(place)], BYTES
    ),
    "table .feather": Reader(".feather", partial(_arrow_tables, ".feather"), _chunked, BYTES),
}
"""All readers by name."""

COLD = (".lp", ".mps", ".parquet", ".feather", ".txt", ".model.json", ".ubj")
"""Endings of files that only child processes read: HiGHS, Arrow and XGBoost start threads, which a later child would lack."""
