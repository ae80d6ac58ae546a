"""A fingerprint changes with everything that it is of, and with nothing else."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from formulations.instance.papers import two_trees
from formulations.stored_arrays import fingerprint
from solvers.price_sharing.checkpoint import problem_fingerprint


def test_different_parts_differ() -> None:
    """Values, types, shapes, nesting and order all count."""
    parts: list[Any] = [
        1,
        1.0,
        "1",
        True,
        None,
        Fraction(1, 2),
        0.5,
        [1],
        [[1]],
        ["a", "b"],
        ["ab"],
        ["b", "a"],
        {"a": "b"},
        np.zeros(2),
        np.zeros(3),
        np.zeros((1, 2)),
        np.zeros(2, dtype=np.float32),
        np.array(["a", "b"], dtype=object),
        np.array(["a", "c"], dtype=object),
        pd.DataFrame({"a": [1]}),
        pd.DataFrame({"b": [1]}),
        DecisionTreeClassifier(),
        DecisionTreeClassifier(max_depth=2),
        DecisionTreeClassifier,
    ]
    assert len({fingerprint(part) for part in parts}) == len(parts)
    assert fingerprint("a", "b") != fingerprint("ab")


def test_equal_parts_agree_however_they_were_made() -> None:
    """Equality of values counts: not which objects are the same, nor how an array lies in memory."""
    half = Fraction(1, 2)
    assert fingerprint((half, half)) == fingerprint((Fraction(1, 2), Fraction(2, 4)))
    assert fingerprint(np.float64(0.5)) == fingerprint(0.5)
    table = np.arange(6).reshape(2, 3)
    assert fingerprint(table) == fingerprint(np.asfortranarray(table))
    assert fingerprint(np.arange(6)[::2]) == fingerprint(np.array([0, 2, 4]))


def _leaves(part: Any, place: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The fields of a dataclass, of those in it, and so on."""
    if not is_dataclass(part):
        return [place]
    return [leaf for field in fields(part) for leaf in _leaves(getattr(part, field.name), (*place, field.name))]


def _changed(part: Any, place: tuple[str, ...]) -> Any:
    """The dataclass with another value at one of its leaves."""
    copy = replace(part) if all(field.init for field in fields(part)) else _plain_copy(part)
    inner = getattr(part, place[0])
    object.__setattr__(copy, place[0], _changed(inner, place[1:]) if len(place) > 1 else _other(inner))
    return copy


def _plain_copy(part: Any) -> Any:
    copy = object.__new__(type(part))
    for field in fields(part):
        object.__setattr__(copy, field.name, getattr(part, field.name))
    return copy


def _other(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, np.ndarray):
        other = value.copy()
        other.flat[0] = not other.flat[0] if other.dtype == bool else other.flat[0] + 1
        return other
    if isinstance(value, tuple):
        return (*value, value[0]) if value else ("new",)
    if isinstance(value, str):
        return value + "x"
    return ("new",) if value is None else value + 1


def test_every_field_of_an_instance_counts() -> None:
    """No field of trees, prices, errors, routing or integers can change unnoticed, but for the rows' features: routes say all."""
    problem = two_trees()
    before, places = problem_fingerprint(problem), _leaves(problem)
    assert ("usage", "routing", "order") in places
    assert ("usage", "evaluation") in places
    unnoticed = [place for place in places if problem_fingerprint(_changed(problem, place)) == before]
    assert unnoticed == [("usage", "X")]
