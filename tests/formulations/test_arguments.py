"""Annotations as checks of arguments, and the structure of sparse matrices, at every door that takes them."""

from __future__ import annotations

import asyncio
import inspect
import math
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

import numpy as np
import pandas as pd
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import InvalidInputError
from formulations.arguments import Count, NotNegative, Range, Seconds, Seed, Share, at_the_door, check_argument, checked, kind_of
from formulations.instance.cost_items import Price
from formulations.instance.papers import two_trees
from formulations.instance.routing import as_rows
from formulations.sparse_arrays import check_sparse, without_duplicates
from proofs_checks import check_total_unimodularity, read_matrix, read_polyhedron
from tests.loops import looped


class Measure(Protocol):
    """Something that measures."""

    unit: str

    def measure(self, x: float) -> float:
        """One number."""
        ...


class Ruler:
    """Has what `Measure` asks for."""

    unit = "m"

    def measure(self, x: float) -> float:
        return x


class Action(Protocol):
    """A function with a name."""

    def __call__(self, x: float) -> float:
        """One number."""
        ...


NUMBERS = (3, 2.5, np.float64(0.5), np.int32(2), Fraction(1, 3))
JUNK = ("x", object(), None, math.nan, [], {}, b"z", 1j)


@looped(
    ("hint", "good", "bad"),
    [
        (float, NUMBERS, (*JUNK, True, np.nan, np.array(1.0), Decimal(1))),
        (int, (3, np.int64(-1)), (*JUNK, 3.0, True, np.True_)),
        (bool, (True, np.False_), (*JUNK, 0, 1)),
        (str, ("x", ""), (3, None, b"x", Path("x"))),
        (str | Path, ("x", Path("x")), (3, None, b"x", ["x"])),
        (Price, (*NUMBERS, Decimal("0.1")), (*JUNK, True, Decimal("nan"), Decimal("sNaN"))),
        (Seconds, (0, 1e9, math.inf), (*JUNK, -1e-9)),
        (NotNegative | None, (0, None), ("x", -1)),
        (Share, (0.5, Fraction(1, 2)), (*JUNK, 0, 1, 1.5)),
        (Count, (1, 10**40), (*JUNK, 0, 1.0)),
        (Seed, (0, 2**32 - 1), (*JUNK, -1, 2**32)),
        (Annotated[float, Range(0, 2, open_below=True)], (2, 0.1), (0, 2.1, math.inf)),
        (Literal["smallest", "largest"], ("smallest", "largest"), (*JUNK, "Smallest", "small", 1, np.str_("large"))),
        (
            Sequence[str],
            (["a"], ("a",), [], np.array(["a"]), pd.Index(["a"])),
            ("a", b"a", 3, None, {"a": 1}, [1], np.array("a")),
        ),
        (Sequence[float], ([1, 2.5], np.arange(3), pd.Series([1.0])), ([1, "a"], np.array(["a"]), np.eye(2), 3.0)),
        (Iterable[str], (["a"], {"a"}, iter(["a"])), ("a", 3, None, np.array("a"))),
        (Mapping[str, float], ({}, {"a": 1.0}), ([], {"a": "b"}, None)),
        (tuple[float, ...], ((), (1.0, 2)), ([], (1, "a"), None)),
        (tuple[float, str], ((1.0, "a"),), ((1.0,), ("a", 1.0), [1.0, "a"])),
        (ArrayLike, ([1], np.eye(2), pd.Series([1])), ("x", 3, None, object(), np.array(3.0))),
        (ArrayLike | None, ([1], None), ("x", 3, object())),
        (NDArray[np.bool_], (np.ones(2, dtype=bool),), ([True], None, "x", np.array(True))),
        (Callable[[float], float], (abs, Ruler), ("x", None, 3)),
        (Measure, (Ruler(),), (Ruler, object(), None, "x")),
        (Action, (abs,), (3, None)),
        (Ruler, (Ruler(),), (Ruler, object(), None)),
    ],
)
def test_each_annotation_takes_its_kind_and_nothing_else(hint: Any, good: Sequence[Any], bad: Sequence[Any]) -> None:
    """What a type checker would take passes, and everything else is refused with the argument's name."""
    for value in good:
        check_argument("size", value, hint)
    for value in bad:
        with pytest.raises(InvalidInputError, match=r"^size(\[.*\])? is .*; give "):
            check_argument("size", value, hint)


def test_anything_and_type_variables_are_not_looked_at() -> None:
    """`Any` and `object` say that the function itself reads the argument, alone or in a union."""
    assert all(kind_of(hint) is None for hint in (Any, object, Any | None, int | Any))


@looped(
    ("hint", "value", "message"),
    [
        (Literal["a", "b"] | None, "c", "x is 'c'; give one of 'a', 'b' or None"),
        (Literal["a"], None, "x is None; give 'a'"),
        (Price | None, "c", "x is 'c'; give a number or None"),
        (Share, 1, "x is 1; give a number between 0 and 1"),
        (Seconds, -1, "x is -1; give a number >= 0"),
        (Annotated[float, Range(0, open_below=True)], 0, "x is 0; give a number above 0"),
        (Sequence[str] | None, ["a", 3], "x[1] is 3; give a string"),
        (Mapping[str, Sequence[float]], {"a": [1, None]}, "x['a'][1] is None; give a number"),
        (Annotated[str, "the name of a column"] | ArrayLike, 3, "x is 3; give the name of a column or an array or a sequence"),
        (int, "y" * 200, f"x is '{'y' * 56}...; give a whole number"),
        (str, 10**5000, "x is a number of very many digits; give a string"),
        (int, pd.DataFrame({"a": [1]}), "x is a DataFrame; give a whole number"),
        (int, np.zeros(0), "x is a ndarray; give a whole number"),
        (int, Ruler, "x is the class Ruler; give a whole number"),
        (Ruler, 3, "x is 3; give a Ruler"),
    ],
)
def test_messages_name_the_argument_the_value_and_the_remedy(hint: Any, value: Any, message: str) -> None:
    """A message is one line, whatever the value is."""
    with pytest.raises(InvalidInputError) as refusal:
        check_argument("x", value, hint)
    assert str(refusal.value) == message


@checked
def weighed(x: float, *rest: Any, unit: Literal["g", "kg"] = "g", **options: Any) -> tuple[Any, ...]:
    """Return all that is given."""
    return x, rest, unit, options


weigh = at_the_door(weighed, __name__, "weigh")


@checked
@dataclass(frozen=True)
class Parcel:
    """A class whose constructor is generated."""

    weight: NotNegative
    label: str = ""

    @classmethod
    @checked
    def of(cls, weights: Sequence[float]) -> Parcel:
        """The sum."""
        return cls(sum(weights))


def test_decimals_arrive_as_the_fractions_that_they_are() -> None:
    """Alone, in collections and by name; what no fraction can stand for is refused as it was written."""
    assert weigh(Decimal("0.1")) == weigh(x=Decimal("0.1")) == (Fraction(1, 10), (), "g", {})
    assert weigh(Decimal("Infinity"))[0] == math.inf
    assert Parcel.of([Decimal("0.1"), 2]) == Parcel.of((Decimal("0.1"), 2)) == Parcel(Fraction(21, 10))
    assert weigh(1, Decimal(2), note=Decimal(3)) == (1, (Decimal(2),), "g", {"note": Decimal(3)})
    for bad, message in (
        (Decimal("NaN"), r"x is Decimal\('NaN'\); give a number"),
        (Decimal("1e99999999"), r"x is Decimal\('1E\+99999999'\); give a number that a float can hold"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            weigh(bad)


def test_functions_keep_their_face() -> None:
    """Name, signature, docstring and pickling are those of the function; the arguments arrive as they were given."""
    assert weigh(1, "a", unit="kg", more=2) == (1, ("a",), "kg", {"more": 2})
    assert list(inspect.signature(weigh).parameters) == ["x", "rest", "unit", "options"]
    assert (weigh.__name__, weigh.__doc__) == ("weighed", "Return all that is given.")
    assert pickle.loads(pickle.dumps(weigh)) is weigh
    assert pickle.loads(pickle.dumps(Parcel(2.0))) == Parcel(2.0)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        weigh()  # type: ignore[call-arg]


def test_functions_are_checked_at_the_door_alone() -> None:
    """Our own code calls a function as it is; what is not marked is the same at the door."""
    assert weighed("a", unit="t")[0] == "a"  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="x is 'a'; give a number"):
        weigh("a")  # type: ignore[arg-type]
    registry = {"fixed": partial(weighed, unit="kg"), "free": abs}
    assert at_the_door(registry, __name__, "registry") is registry


@pytest.mark.parametrize("names", ["SOLVERS", "BUDGET_SOLVERS"])
def test_the_registries_of_engines_are_their_users_too(names: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`pm.SOLVERS` is the registry that `compare` and `solve` read; each engine refuses wrong arguments, and can be pickled."""
    registry = getattr(pm, names)
    goal: dict[str, Any] = {"lam": 0.1} if names == "SOLVERS" else {"budget": 1}
    for engine in registry.values():
        with pytest.raises(InvalidInputError, match="problem is 3; give a PruningProblem"):
            engine(3, 0.1)
        assert pickle.loads(pickle.dumps(engine)).__class__ is engine.__class__
    assert pm.SOLVERS["min_cut"] is pm.engines.min_cut
    monkeypatch.setitem(registry, "of a user", registry["brute_force"])
    assert pm.compare(two_trees(), **goal, solvers=["of a user"], isolate=False).status[0] == "optimal"
    assert pm.solve(two_trees(), **goal, method="of a user").method == "of a user"
    with pytest.raises(InvalidInputError, match="gap is -1"):
        pm.solve(two_trees(), lam=0.1, method="price_sharing", gap=-1)


def test_classes_are_checked_where_they_are_built() -> None:
    """The generated constructor of a dataclass, and class methods, are functions like others."""
    assert Parcel.of([1, 2]) == Parcel(3)
    assert list(inspect.signature(Parcel).parameters) == ["weight", "label"]
    for call, name in [(lambda: Parcel(-1), "weight"), (lambda: Parcel(1, 2), "label"), (lambda: Parcel.of("12"), "weights")]:  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match=rf"^{name} is"):
            call()


def test_coroutines_stay_coroutines() -> None:
    """An async function is refused its argument when it is awaited, and is still recognised as one."""

    @checked
    async def answer(x: int) -> int:
        return x

    later = at_the_door(answer, __name__, "later")
    assert inspect.iscoroutinefunction(later)
    assert asyncio.run(later(3)) == 3
    with pytest.raises(InvalidInputError, match="x is 'a'"):
        asyncio.run(later("a"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("array", "place", "number", "message"),
    [
        ("indices", 1, 99, "entry 1 has the index number 99, which is not among 0 to 1"),
        ("indices", 1, -5, "entry 1 has the index number -5"),
        ("indptr", 1, 10**6, "pointer 2 is 3; they must ascend"),
        ("indptr", 2, 10**6, "pointer 2 is 1000000; they must ascend from 0 to at most the number of entries, 3"),
        ("indptr", 0, 1, "pointer 0 is 1"),
    ],
)
def test_what_points_outside_is_refused_at_every_door(array: str, place: int, number: int, message: str) -> None:
    """Of a matrix that was changed where scipy does not see it the first wrong number is named: by checks, polyhedra, tables."""
    doors = (check_sparse, read_matrix, read_polyhedron, lambda m: as_rows(m, 2), lambda m: pm.tables.ChunkedTable(m))
    for door in doors:
        matrix = sparse.csr_array(np.array([[1.0, 1.0], [1.0, 0.0]]))
        getattr(matrix, array)[place] = number
        with pytest.raises(InvalidInputError, match=message):
            door(matrix)


@pytest.mark.parametrize("layout", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_sound_matrices_pass_in_every_format(layout: str) -> None:
    """Also without any entry, and with rows and columns that are empty."""
    for entries in (np.eye(4), np.zeros((2, 4)), np.array([[0, 0, 1, 0], [0, 0, 0, 0]])):
        check_sparse(getattr(sparse, f"{layout}_array")(entries), duplicates=False)
    check_sparse(np.eye(2))


def test_two_entries_at_one_place() -> None:
    """They add up for a user, who built them so; in files they are refused, and the place is named in every format."""
    twice = sparse.coo_array(([1, 1, 1], ([0, 1, 1], [0, 2, 2])), shape=(2, 3))
    by_column = sparse.csc_array((np.ones(3), np.array([0, 1, 1]), np.array([0, 1, 1, 3])), shape=(2, 3))
    by_row = sparse.csr_array((np.ones(3), np.array([0, 2, 2]), np.array([0, 1, 3])), shape=(2, 3))
    for matrix in (twice, by_column, by_row):
        check_sparse(matrix)
        with pytest.raises(InvalidInputError, match="two entries in row 1, column 2"):
            check_sparse(matrix, duplicates=False)


def test_shapes_beyond_the_memory() -> None:
    """A matrix with one entry in a quadrillion rows is refused before anything of that length is made."""
    matrix = sparse.coo_array(([1], ([0], [0])), shape=(10**15, 2))
    with pytest.raises(InvalidInputError, match="64 PB of memory"):
        read_matrix(matrix)
    with pytest.raises(InvalidInputError, match="as an array; give fewer rows at a time"):
        as_rows(sparse.coo_array(([1.0], ([0], [0])), shape=(10**7, 10**7)), 10**7)


@pytest.mark.parametrize(
    ("entries", "dtype", "total"),
    [
        ([255, 2], np.uint8, 257),
        ([127, 127, 3], np.int8, 257),
        ([2**62, 2**62, 1], np.int64, None),
        ([2**63, 2**63 - 1], np.uint64, 2**64 - 1),
        ([2.0**24, 1, -(2.0**24)], np.float32, 1),
        ([2.0**53, 1], np.float64, None),
        ([0.25, 0.75], np.float64, 1),
        ([True, True], np.bool_, True),
    ],
)
@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_entries_at_one_place_are_summed_exactly(layout: str, entries: list[float], dtype: Any, total: int | None) -> None:
    """Scipy adds up in the type of the entries: of bytes, 255 + 2 was 1, and a checker said 'holds'."""
    other, places = np.zeros(len(entries), dtype=np.int32), np.array([0, len(entries)])
    parts: Any = (other, other) if layout == "coo" else None
    held = np.array(entries, dtype=dtype)
    make = getattr(sparse, f"{layout}_array")
    matrix = make((held, parts), shape=(1, 1)) if layout == "coo" else make((held, other, places), shape=(1, 1))
    if total is None:
        with pytest.raises(InvalidInputError, match=r"several entries in row 0, column 0, and \w+64 does not hold their sum"):
            without_duplicates(matrix)
        return
    summed = without_duplicates(matrix)
    assert summed.format == layout
    assert summed.toarray().tolist() == [[total]]
    assert matrix.nnz == len(entries)
    assert check_total_unimodularity(matrix).holds is (total in (0, 1))
    assert read_polyhedron(matrix).entry.tolist() == [total]


def test_estimators_and_problems_count_sums() -> None:
    """A table whose entries are split in two gives the model and the rows of the sums; scikit-learn's fit did not end."""
    X, y = load_iris(return_X_y=True)
    X = np.round(4 * X) / 4  # sums of quarters are exact
    X[:, 1] = 0
    whole = sparse.csr_array(X.astype(np.float32))
    order = np.repeat(np.arange(whole.nnz), 2)
    split = whole.data[order] * np.tile(np.array([5, -4], dtype=np.float32), whole.nnz)
    double = sparse.csr_array((split, whole.indices[order], 2 * whole.indptr), shape=whole.shape)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    fitted = [pm.BudgetPrunedForestClassifier(forest, costs=1.0, random_state=0).fit(table, y) for table in (whole, double)]
    np.testing.assert_array_equal(*[model.predict_proba(X) for model in fitted])
    np.testing.assert_array_equal(*[fitted[0].predict_proba(table) for table in (whole, double)])
    np.testing.assert_array_equal(as_rows(double, 4, "X"), whole.toarray())
