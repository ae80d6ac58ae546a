"""Every public function refuses arguments of another kind by name, before it does anything."""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import InvalidInputError
from formulations.arguments import argument_kinds
from solvers import SOLVERS
from solvers.within import BUDGET_SOLVERS
from tests.loops import looped

OURS = ("formulations", "solvers", "proofs_checks", "prunemodels")
JUNK = ("x", 5, -1, object(), None, math.nan, [], {}, b"z", [object()], 1j, np.array("x"), RandomForestClassifier(), int)

ANSWERS = """
    AllPrunings Chain CheapestPrunings SearchProof MasterAnswer
    BoostedPath BoostedPruning BuiltProgram DantzigWolfeSolution
    LimitUse LimitedSolution
    Evaluation ExitPath HeldOut HeldOutChange HeldOutCost MemoryNeeds
    ModelForest OnDemandResult PathEvaluation PrunedForest LP1Relaxation PruningPath PruningProblem Relaxation
    Request Solution TradeoffCurve Verdict Walk
    ShardedProblem ShardedSolution SmallForest
"""
"""Classes of answers, which nobody but an engine makes."""


def public_objects() -> dict[str, Any]:
    """All public names, and the engines of the registries."""
    spaces = {name: getattr(pm, name) for name in pm.__all__ if isinstance(getattr(pm, name), ModuleType)}
    found = {name: getattr(pm, name) for name in pm.__all__ if name not in spaces}
    for space, module in spaces.items():
        found |= {f"{space}.{name}": getattr(module, name) for name in module.__all__}
    return found | {f"SOLVERS.{name}": engine for name, engine in (SOLVERS | BUDGET_SOLVERS).items()}


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions, the methods of classes, and the constructors of classes that users build. Estimators check the arguments of
    their constructors in `fit`, as scikit-learn's do.
    """
    for name, given in public_objects().items():
        thing = given.func if isinstance(given, functools.partial) else given
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing) and issubclass(thing, object) and not issubclass(thing, BaseException):
            if getattr(thing, "_is_protocol", False) or thing.__module__.split(".")[0] not in OURS:
                continue
            for member, inner in inspect.getmembers(thing, inspect.isroutine):
                ours = (getattr(inner, "__module__", None) or "").split(".")[0] in OURS
                public = not member.startswith("_") or member == "__getitem__"
                if not isinstance(inspect.getattr_static(thing, member), (FunctionType, classmethod, staticmethod)):
                    continue  # scikit-learn's available_if
                if ours and public and not (issubclass(thing, BaseEstimator) and member == "fit"):
                    yield f"{name}.{member}", inner
            if inspect.isfunction(thing.__init__) and not (issubclass(thing, BaseEstimator) or thing.__name__ in ANSWERS.split()):
                yield name, thing


def kinds(function: Callable[..., Any]) -> dict[str, Any]:
    """What each argument has to be."""
    plain = function.__init__ if inspect.isclass(function) else getattr(function, "__func__", function)
    return argument_kinds(plain)


def test_the_public_face_is_covered() -> None:
    """The functions of the front page are among those that are looked at, and most of them have checked arguments."""
    functions = dict(public_functions())
    assert {"solve", "pruning_path", "PruningPath.at_cost", "PruningPath.__getitem__", "Pruning", "plots.plot_cut"} <= set(
        functions
    )
    assert {name for name in functions if name.startswith("SOLVERS.")} == {f"SOLVERS.{n}" for n in SOLVERS | BUDGET_SOLVERS}
    assert sum(bool(kinds(function)) for function in functions.values()) > 150


def test_what_only_its_reader_can_judge_is_refused_by_name() -> None:
    """Models, tables, matrices and polyhedra of other libraries may be anything; their readers refuse the rest."""
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    forest = RandomForestClassifier(2, random_state=0).fit(X, y)
    path = pm.pruning_path(pm.problem_from_forest(forest, X, costs=1))
    for junk in ("x", 5, None, object(), {}, [], b"z", math.nan, [["a"]], np.array("x")):
        for reader in (
            lambda given: pm.read_forest(given),
            lambda given: pm.problem_from_forest(forest, given, costs=1),
            lambda given: pm.evaluate(given, X, y, costs=1),
            lambda given: pm.evaluate(forest, given, y, costs=1),
            lambda given: pm.evaluate(forest, X, given, costs=1),
            lambda given: pm.evaluate_path(path, given, y),
            lambda given: pm.hold_out(path[0], given, X, y),
            lambda given: pm.hold_out(path[0], forest, given, y),
            lambda given: pm.apply_pruning(path[0], given),
            lambda given: pm.read_model(given),
            lambda given: pm.programs.solve_model(given),
            lambda given: pm.checks.read_matrix(given),
            lambda given: pm.checks.check_integral_vertices(given),
            lambda given: pm.OnDemandPredictor(given, 1, pm.on_demand.from_table(X)),
        ):
            with pytest.raises(pm.errors.PruneModelsError):
                reader(junk)


def call(function: Callable[..., Any], argument: str, value: object) -> None:
    """Give one argument alone; a coroutine is started."""
    answer = function(**{argument: value})
    if inspect.isawaitable(answer):
        asyncio.run(answer)  # type: ignore[arg-type]


@pytest.mark.slow
@looped(("name", "function"), public_functions)
def test_junk_is_refused_by_name(name: str, function: Callable[..., Any]) -> None:
    """What the annotation does not allow is refused with the argument's name, before anything else is looked at."""
    for argument, kind in kinds(function).items():
        assert not kind.accepts(object()), f"{name}: {argument} takes anything"
        for junk in (junk for junk in JUNK if not kind.accepts(junk)):
            with pytest.raises(InvalidInputError, match=rf"^{argument}(\[.*\])? is "):
                call(function, argument, junk)
