"""An answer within limits in a file, with the proof of its bound: a stranger reads it and checks it against the instance.

An .npz archive: arrays of all steps one after the other, where each begins, and ``about``, JSON in UTF-8. Numbers that are exact
stay so, as texts p/q. Rows of limits are stored as their numbers. Nothing that is read is believed: `check_solution` decides.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.limited_solution import LimitedSolution, LP1Relaxation
from formulations.answers.pruning import Pruning
from formulations.answers.search_proof import (
    Branch,
    Closed,
    Exceeded,
    Fixed,
    Payments,
    Priced,
    SearchProof,
    SearchWindow,
    Step,
    TooMuch,
)
from formulations.answers.solution import FixingStage, SharedPrices, StopReason
from formulations.arguments import checked
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.instance.limit import Limit, members_of
from formulations.instance.problem import PruningProblem
from formulations.stored_arrays import read_arrays, stored_fraction, stored_json

ENDING = ".npz"

COLUMNS = {
    "split": np.int32,
    "item": np.int32,
    "row": np.int32,
    "paid": np.int64,
    "dual": np.int64,
    "ids": np.int32,
    "score": np.float32,
}
"""What the arrays of all steps hold: payments, duals, splits that are decided, and scores."""

PAYMENTS = ("split", "item", "row", "paid")
"""The columns of payments, which have the same length."""


@checked
def save_solution(solution: LimitedSolution, file: str | Path) -> None:
    """Write an answer of `solve` within a budget or limits, with its proof, to an .npz file.

    Parameters
    ----------
    file
        ending in ``.npz``; a file that is there is replaced.

    Raises
    ------
    InvalidInputError
        for another ending.

    Examples
    --------
    >>> import os, tempfile
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = os.path.join(folder, "answer.npz")
    ...     pm.budgets.save_solution(pm.solve(problem, budget=10), place)
    ...     read = pm.budgets.load_solution(place, problem)
    ...
    >>> read
    LimitedSolution(optimal, cost 10 of 10, error 0.137, bound 0.137)
    >>> pm.checks.check_solution(problem, read).holds
    True
    """
    if Path(file).suffix != ENDING:
        raise InvalidInputError(f"file is {str(file)!r}; give one that ends in {ENDING}")
    table = _Writer()
    relaxation, proof = solution.relaxation, solution.proof
    table.about |= {
        "limits": [table.limit(solution.problem, k, limit) for k, limit in enumerate(solution.limits)],
        "at_most": [str(most) for most in solution.at_most],
        "uses": [str(use) for use in solution.uses],
        "error": solution.error,
        "bound": solution.bound,
        "stopped": str(solution.stopped),
        "method": solution.method,
        "relaxation": {
            "value": _written(relaxation.value),
            "multipliers": [_written(mu) for mu in relaxation.multipliers],
            "weights": [_written(weight) for _, weight in relaxation.mixture],
            "budget": None if relaxation.budget is None else str(relaxation.budget),
        },
        "steps": None if proof is None else [table.step(step) for step in proof.steps],
    }
    # the prunings: the answer, the mixture's, and the ends of the window
    prunings = [solution.pruning.kept, *(pruning.kept for pruning, _ in relaxation.mixture)]
    if proof is not None and (window := proof.window) is not None:
        prunings += [window.inner, window.outer]
        table.about["window"] = [None if end is None else table.priced(end) for end in (window.high, window.low)]
    arrays: dict[str, Any] = {name: np.concatenate([np.zeros(0, dtype), *table.columns[name]]) for name, dtype in COLUMNS.items()}
    about = np.frombuffer(json.dumps(table.about).encode(), dtype=np.uint8)
    np.savez_compressed(file, about=about, prunings=np.array(prunings), **arrays)


@checked
def load_solution(file: str | Path, problem: PruningProblem) -> LimitedSolution:
    """Read an answer that `save_solution` wrote, as one to this instance; `prunemodels.checks.check_solution` checks it.

    Raises
    ------
    BrokenFileError
        where there is no such file, or it is damaged or of another instance.

    Examples
    --------
    >>> import os, tempfile
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = os.path.join(folder, "answer.npz")
    ...     pm.budgets.save_solution(pm.solve(problem, budget=12), place)
    ...     print(pm.budgets.load_solution(place, problem).proof)
    ...
    SearchProof(8 steps, 2 of them leaves)
    """
    place = Path(file)
    if not os.path.isfile(place):
        raise BrokenFileError(f"there is no file {place}; give one that save_solution wrote")
    arrays = read_arrays(place, ("about", "prunings", *COLUMNS))
    about = stored_json(arrays["about"].astype(np.uint8).tobytes(), str(place))
    try:
        return _Reader(place, problem, arrays).solution(about)
    except BrokenFileError:
        raise
    except Exception as error:  # a damaged file can cause any error
        raise BrokenFileError(
            f"{place} holds no answer to this instance ({type(error).__name__}: {str(error)[:200]}); write it again"
        ) from error


def _written(number: Fraction | float | Any) -> str | float:
    """A float as it is, everything exact as p/q."""
    return number if isinstance(number, float) else str(Fraction(number))


def _read(value: Any) -> Fraction | float:
    return float(value) if isinstance(value, float) else stored_fraction(value, "a number")


class _Writer:
    """Columns of arrays, and what stands in JSON beside them."""

    def __init__(self) -> None:
        self.columns: dict[str, list[NDArray[Any]]] = {name: [] for name in COLUMNS}
        self._length = dict.fromkeys(COLUMNS, 0)
        self.about: dict[str, Any] = {}

    def put(self, name: str, array: NDArray[Any]) -> list[int]:
        """Append an array to a column; where it begins and ends there."""
        self.columns[name].append(array.astype(COLUMNS[name]))
        first = self._length[name]
        self._length[name] += array.size
        return [first, first + int(array.size)]

    def limit(self, problem: PruningProblem, k: int, limit: Limit) -> dict[str, Any]:
        of = limit.of if isinstance(limit.of, str) else {name: _written(amount) for name, amount in limit.of.items()}
        rows = None
        if limit.rows is not None:
            rows = self.put("ids", problem.usage.rows[members_of(problem.usage, limit, f"limits[{k}]")])
        return {"at_most": _written(limit.at_most), "of": of, "rows": rows, "each": limit.each, "name": limit.name or limit.title}

    def priced(self, priced: Priced) -> dict[str, Any]:
        multipliers = [[k, row, str(mu)] for k, row, mu in priced.multipliers]
        found = priced.payments
        if isinstance(found, Payments):
            places = [self.put(name, getattr(found, name)) for name in PAYMENTS]
            return {"multipliers": multipliers, "payments": places[0], "unit": str(found.unit)}
        stages = [
            [self.put("ids", s.nodes), self.put("score", s.score), self.put("ids", s.fixed_in), self.put("ids", s.fixed_out)]
            for s in found.stages
        ]
        kept = np.zeros(0, dtype=np.int32) if priced.kept is None else np.flatnonzero(priced.kept)
        return {
            "multipliers": multipliers,
            "stages": stages,
            "nodes": self.put("ids", found.nodes),
            "score": self.put("score", found.score),
            "dual": None if found.dual is None else self.put("dual", found.dual),
            "unit": str(found.unit),
            "lam": str(found.lam),
            "kept": self.put("ids", kept),
        }

    def step(self, step: Step) -> dict[str, Any]:
        """A step by its name."""
        told: dict[str, Any] = {"step": type(step).__name__}
        if isinstance(step, Branch):
            return told | {"split": step.split}
        if isinstance(step, Exceeded):
            return told | {"limit": step.limit, "row": step.row}
        if isinstance(step, TooMuch):
            return told | {"limit": step.limit, "row": step.row, "splits": self.put("ids", step.splits)}
        told["priced"] = self.priced(step.priced)
        if isinstance(step, Fixed):
            told |= {"kept": self.put("ids", step.kept), "pruned": self.put("ids", step.pruned)}
        return told


class _Reader:
    """The same backwards."""

    def __init__(self, place: Path, problem: PruningProblem, arrays: dict[str, NDArray[Any]]) -> None:
        self.place, self.problem, self.arrays = place, problem, arrays
        for name, dtype in COLUMNS.items():
            if arrays[name].ndim != 1 or arrays[name].dtype != dtype:
                raise BrokenFileError(f"{place}: {name} is not a list of {np.dtype(dtype).name}")

    def solution(self, about: dict[str, Any]) -> LimitedSolution:
        limits = tuple(self._limit(entry) for entry in about["limits"])
        # the prunings stand in the order in which `save_solution` writes them
        prunings = [Pruning(self.problem, np.ascontiguousarray(kept)) for kept in self.arrays["prunings"]]
        told, weights = about["relaxation"], [_read(weight) for weight in about["relaxation"]["weights"]]
        mixture = tuple(zip(prunings[1 : 1 + len(weights)], weights, strict=True))
        budget = None if told["budget"] is None else stored_fraction(told["budget"], "the budget")
        relaxation = LP1Relaxation(_read(told["value"]), tuple(_read(mu) for mu in told["multipliers"]), mixture, budget)
        proof = None
        if about["steps"] is not None:
            steps, window = tuple(self._step(step) for step in about["steps"]), None
            if "window" in about:
                ends = [None if end is None else self._priced(end) for end in about["window"]]
                window = SearchWindow(prunings[-2].kept, prunings[-1].kept, ends[0], ends[1])
            proof = SearchProof(steps, window)
        return LimitedSolution(
            self.problem,
            limits,
            tuple(stored_fraction(most, "a limit") for most in about["at_most"]),
            tuple(stored_fraction(use, "a use") for use in about["uses"]),
            prunings[0],
            float(about["error"]),
            float(about["bound"]),
            relaxation,
            proof,
            StopReason(about["stopped"]),
            {},
            str(about["method"]),
        )

    def _array(self, name: str, place: Sequence[int]) -> NDArray[Any]:
        first, last = place
        if not 0 <= first <= last <= self.arrays[name].size:
            raise BrokenFileError(f"{self.place}: {name} has {self.arrays[name].size} entries, not those from {first} to {last}")
        return self.arrays[name][first:last]

    def _limit(self, entry: dict[str, Any]) -> Limit:
        of = entry["of"] if isinstance(entry["of"], str) else {name: _read(amount) for name, amount in entry["of"].items()}
        rows = None if entry["rows"] is None else self._array("ids", entry["rows"]).astype(np.int64)
        return Limit(_read(entry["at_most"]), of, rows=rows, each=bool(entry["each"]), name=entry["name"])

    def _priced(self, entry: dict[str, Any]) -> Priced:
        multipliers = tuple((k, row, stored_fraction(mu, "a multiplier")) for k, row, mu in entry["multipliers"])
        unit = stored_fraction(entry["unit"], "a unit")
        if "payments" in entry:
            split, item, row, paid = (self._array(name, entry["payments"]) for name in PAYMENTS)
            return Priced(multipliers, Payments(split, item, row, paid, unit))
        stages = tuple(
            FixingStage(self._array("ids", n), self._array("score", s), self._array("ids", i), self._array("ids", o))
            for n, s, i, o in entry["stages"]
        )
        dual = None if entry["dual"] is None else self._array("dual", entry["dual"])
        nodes, score = self._array("ids", entry["nodes"]), self._array("score", entry["score"])
        shared = SharedPrices(stages, nodes, score, dual, unit, stored_fraction(entry["lam"], "lambda"))
        kept = np.zeros(self.problem.ensemble.n_nodes, dtype=bool)
        kept[self._array("ids", entry["kept"])] = True
        return Priced(multipliers, shared, kept)

    def _step(self, entry: dict[str, Any]) -> Step:
        kind = entry["step"]
        if kind == "Branch":
            return Branch(int(entry["split"]))
        if kind == "Exceeded":
            return Exceeded(int(entry["limit"]), entry["row"])
        if kind == "TooMuch":
            return TooMuch(int(entry["limit"]), entry["row"], self._array("ids", entry["splits"]))
        if kind == "Closed":
            return Closed(self._priced(entry["priced"]))
        if kind == "Fixed":
            kept, pruned = (self._array("ids", entry[name]) for name in ("kept", "pruned"))
            return Fixed(self._priced(entry["priced"]), kept, pruned)
        raise BrokenFileError(f"{self.place}: {kind!r} is no step of a proof")
