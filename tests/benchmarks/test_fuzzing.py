"""The fuzzers: references and damages are right, they find nothing in a short run, and would find what is wrong."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import prunemodels as pm
from benchmarks.fuzzing import answers, cascades, child, files, limits, mutations, readers, real_numbers, references
from benchmarks.fuzzing.__main__ import main
from benchmarks.fuzzing.child import run_in_child
from benchmarks.fuzzing.references import RefusedError
from formulations import PruningProblem
from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.solution import Solution
from formulations.errors import InvalidInputError
from formulations.instance.limit import Limit
from formulations.instance.papers import two_trees
from solvers import SOLVERS, min_cut, pruning_path
from solvers.within import solve_limits
from tests.loops import looped


@pytest.mark.slow
def test_a_short_run_finds_nothing() -> None:
    """All readers, twelve damaged files each, the same in every run; ``make fuzz`` runs them for longer."""
    report = files.fuzz(3600, seed=2, cases=12 * len(readers.READERS))
    assert report.cases.total() == 12 * len(readers.READERS)
    assert not report.findings, str(report)


@pytest.mark.slow
@looped("name", readers.READERS)
def test_a_case_is_determined_by_its_number(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed and number alone say what a case's file holds; few cases leave the file as it was."""
    monkeypatch.setattr(mutations, "BOMB", 1 << 20)
    some = [files.damaged(name, 5, k) for k in range(8)]
    assert some == [files.damaged(name, 5, k) for k in range(8)]
    assert len({*some} - {*readers.READERS[name].sound()}) >= 4


def _raise(error: BaseException) -> None:
    raise error


@pytest.mark.slow
def test_every_way_to_end_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer, a named error, another error, a signal, an endless loop, and too much memory."""
    assert run_in_child(lambda: [1, "two"]) == child.Outcome("answer", "", [1, "two"])
    assert run_in_child(lambda: _raise(InvalidInputError("no"))).kind == "named"
    assert run_in_child(lambda: _raise(KeyError("no"))).text.startswith("KeyError")
    assert run_in_child(lambda: os.kill(os.getpid(), signal.SIGSEGV)) == child.Outcome("crash", "SIGSEGV")
    assert run_in_child(lambda: os._exit(7)).kind == "crash"
    assert run_in_child(lambda: len(np.zeros(1 << 40))).text.startswith(("MemoryError", "_ArrayMemoryError"))
    monkeypatch.setattr(child, "CPU_SECONDS", 1)
    assert run_in_child(lambda: [None for _ in iter(int, 1)]).kind in ("hang", "raw")


@pytest.mark.slow
def test_what_is_planted_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that takes damaged files for sound ones, and one that fails without a name, are found in a few cases."""
    plain = readers.READERS["matrix .csv"]

    def careless(place: Path) -> Any:
        rows = [[int(x) if x.strip("-").isdigit() else 0 for x in line.split(",")] for line in place.read_text("latin1").split()]
        return {"holds": True, "entries": [[str(x) for x in row] for row in rows], "other": False}

    monkeypatch.setitem(readers.READERS, "planted", readers.Reader(".csv", plain.sound, careless, plain.mutate, plain.wrong))
    report = files.fuzz(60, seed=0, readers=("planted",), cases=25)
    told = " ".join(what for _, what in report.findings)
    assert "'holds' for a damaged file" in told
    assert "wrongly 'holds'" in told


SOUND = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])


def test_references_read_what_is_sound() -> None:
    """Every sound file of a matrix is read as its writer meant it, or the reference cannot tell."""
    for name, reference in (
        ("matrix .npy", references.dense),
        ("matrix .npz", references.sparse),
        ("matrix .mtx", references.market),
        ("matrix .csv", references.commas),
        ("matrix .lp", references.lp),
        ("matrix .mps", references.mps),
    ):
        read = 0
        for content in readers.READERS[name].sound():
            try:
                read += any(reference(content) == [[Fraction(int(x)) for x in row] for row in m] for m in readers.MATRICES)
            except references.UndecidedError:
                read += 1
        assert read == len(readers.READERS[name].sound()), name


def test_references_read_what_the_format_leaves_open() -> None:
    """Two false alarms: a file without the heading of its integers, and one without the sign in front of a row's first term."""
    text = (
        "minimize\n obj: x + 2 y +0.5\nsubject to\n r1: 1.0 x + y<= 1.0\n - 1.0 x + 1.0(x <= 2\nbounds\n 0.0 <= x <= 1.0\n\nend\n"
    )
    for other in (text, text.replace("\n\nend", "\ngeneral\n x\nend"), text.replace("r1: 1.0", "r1: + 1.0")):
        assert references.lp(other.encode()) == [[1, 1, 0], [-1, 0, 1]]
    for damage in (("+ y<=", "y<="), ("r1:", "r1::"), ("<= 2", "2"), ("+ 2 y", "+ + 2 y"), ("\nend", "")):
        with pytest.raises(RefusedError):
            references.lp(text.replace(*damage).encode())


def test_references_refuse_what_is_damaged() -> None:
    """Indices outside, pointers that descend, two entries at one place, and determinants by hand."""
    out = io.BytesIO()
    sparse.save_npz(out, sparse.csr_array(SOUND))
    parts = dict(np.load(io.BytesIO(out.getvalue())))
    for change in (
        {"indices": [0, 99, 1, 2, 0, 2]},
        {"indptr": [0, 4, 2, 6]},
        {"indices": [0, 0, 1, 2, 0, 2]},
        {"indptr": [0, 2, 4, 5]},
    ):
        out = io.BytesIO()
        np.savez(out, **(parts | {name: np.array(value) for name, value in change.items()}))
        with pytest.raises(RefusedError):
            references.sparse(out.getvalue())
    circle = [[Fraction(int(x)) for x in row] for row in SOUND]
    assert not references.totally_unimodular(circle)
    assert references.totally_unimodular(circle[:2])


def test_damages_keep_a_format_where_they_should(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most damages of members leave an archive that opens."""
    monkeypatch.setattr(mutations, "BOMB", 1 << 20)
    rng = np.random.default_rng(0)
    content = readers.READERS["matrix .npz"].sound()[0]
    opened = 0
    for _ in range(20):
        try:
            opened += len(np.load(io.BytesIO(mutations.members(rng, content))).files) > 0
        except Exception:
            opened += 0
    assert opened >= 15


COUNTED = partial(answers.findings, build=answers.random_instance)
LIMITED = partial(limits.findings, build=answers.random_instance)
SEEDS = {
    # prices far apart or rounded, a cost that is the budget, a stalled bundle, rounded multipliers
    "8 479 1005 5012 48 1": COUNTED,
    # real numbers: paths above the optimum, budgets wrong and "optimal", an engine that failed
    "3 7 9 11 13 15 21 5013 5071": answers.findings,
    # mixtures beyond a limit, limits broken by a hair, limits near 0 beside uses that are large
    "29 1066 20026 20083 20085 20300 20370 20454 20578": limits.findings,
    # as `make fuzz`
    " ".join(map(str, range(1000, 1040))): COUNTED,
    "1 4 5 13": LIMITED,
}
"""Seeds on which solvers were wrong, and a few others."""


@pytest.mark.parametrize(
    ("find", "seed"),
    [
        pytest.param(find, int(seed), marks=() if seed == "5012" else pytest.mark.slow)
        for seeds, find in SEEDS.items()
        for seed in seeds.split()
    ],
)
def test_what_was_wrong_is_right(find: Callable[[int], Iterator[str]], seed: int) -> None:
    """Wrong at some time, with all engines, budgets and paths: rounding hides no more than an answer states."""
    assert list(find(seed)) == []


def test_real_numbers_are_drawn_of_all_kinds() -> None:
    """Each kind of weights and of prices occurs, the rare ones seldom; instances are determined by their seeds."""
    drawn = [real_numbers.drawn(np.random.default_rng(seed)) for seed in range(90)]
    for kinds, word in ((real_numbers.WEIGHTS, "weights"), (real_numbers.PRICES, "prices")):
        counts = {name: sum(f"{word} {name}" in d.about for d in drawn) for name in kinds}
        assert all(0 < count < 7 if name in real_numbers.RARE else count > 4 for name, count in counts.items()), counts
    again = real_numbers.drawn(np.random.default_rng(7))
    assert again.about == drawn[7].about
    assert np.array_equal(again.build().node_error, drawn[7].build().node_error)


def test_a_refusal_names_two_numbers_that_are_far_apart() -> None:
    """Everything else that an instance is refused for is found."""
    apart = real_numbers.Drawn([1e-300, 1e300], 0.0, None, two_trees, "far apart")
    assert list(apart.wrong_refusal("a price of 1e-300 does not go together with one of 1e+300")) == []
    assert "does not name two" in str(list(apart.wrong_refusal("a price of 1e-300 is too small")))
    beside = real_numbers.Drawn([0.0, 1e-5, 4.1], 0.0, np.array([0.0, 0.3, 7.5]), two_trees, "in use")
    assert "span 1.0e+07" in str(list(beside.wrong_refusal("a price of 1e-05 beside 4.1")))
    assert list(replace(beside, prices=[0.0], weights=None).wrong_refusal("no price at all: 1"))


def test_a_path_above_the_optimum_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A breakpoint at half its lambda; the gap that a path states is allowed for, and is a finding where it is large."""
    instance = answers.enumerated(two_trees())
    assert instance is not None
    path = pruning_path(two_trees(), certificate=False)
    assert list(answers._judge_path(instance, "smallest")) == []
    halved = replace(path, breakpoints=(*path.breakpoints[:-1], path.breakpoints[-1] / 2))
    monkeypatch.setattr(answers, "pruning_path", lambda *_, **__: halved)
    found = list(answers._judge_path(instance, "smallest"))
    assert any(f"at lambda {float(halved.breakpoints[-1])!r}" in text for text in found), found
    gaps = tuple(Fraction(1, 2) for _ in path.breakpoints)
    monkeypatch.setattr(answers, "pruning_path", lambda *_, **__: replace(halved, gaps=gaps))
    found = list(answers._judge_path(instance, "smallest"))
    assert any("states a relative gap" in text for text in found)
    assert not any("at lambda" in text for text in found)


def test_a_wrong_answer_of_the_public_door_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a lambda, within a budget, and within several: the registries are right, what users call is not."""
    ask = pm.solve

    def liar(problem: PruningProblem, **given: Any) -> Any:
        found = ask(problem, **given)
        if isinstance(found, tuple):
            return found[::-1]
        return replace(found, bound=found.bound + 0.01, **({"error": found.error + 0.01} if hasattr(found, "error") else {}))

    monkeypatch.setattr(answers.pm, "solve", liar)
    instance = answers.enumerated(two_trees())
    assert instance is not None
    rng = np.random.default_rng(0)
    for call, ask_at in answers._doors_at(instance.problem, 0.1, rng):
        assert any("above the optimum" in text for text in answers._judge_solution(instance, ask_at)), call
    for call, ask_within in answers._doors_within(instance.problem, 1.0, rng):
        assert any("recomputed" in text for text in answers._judge_within(instance, ask_within, 1.0)), call
    found = list(answers._judge_budgets(instance, [0.0, 100.0]))
    assert any("costs" in text for text in found)
    assert any("error" in text and "within 100.0" in text for text in found)


def test_a_call_that_never_ends_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is limited, not time, whatever an engine catches."""

    def endless(*_: object, **__: object) -> Solution:
        while True:
            with suppress(Exception):
                answers.enumerated(two_trees())

    monkeypatch.setitem(SOLVERS, "min_cut", endless)
    instance = answers.enumerated(two_trees())
    assert instance is not None
    with pytest.raises(answers.NeverEndsError), answers.limited(1000):
        list(answers._judge_solution(instance, partial(SOLVERS["min_cut"], instance.problem, 0.1)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        (lambda s: {"value": s.value * 1.001}, "recomputed"),
        (lambda s: {"bound": s.bound + 0.001}, "above the optimum"),
        (lambda s: {"pruning": None, "value": s.value}, "raw AssertionError"),
    ],
)
def test_a_wrong_answer_is_found(monkeypatch: pytest.MonkeyPatch, changes: Any, wrong: str) -> None:
    """A value, a bound and a pruning that are not what the engine says."""

    def liar(problem: PruningProblem, lam: float, **options: Any) -> Solution:
        found = min_cut(problem, lam, **options)
        return replace(found, **changes(found))

    monkeypatch.setitem(SOLVERS, "min_cut", liar)
    monkeypatch.setattr(answers, "EVERY_TIME", ("min_cut",))
    found = [f for f in answers.findings(1, build=answers.random_instance) if f.startswith("min_cut")]
    assert any(wrong in text for text in found)


@pytest.mark.slow
def test_the_command_says_how_much_it_tried(capsys: pytest.CaptureFixture[str]) -> None:
    """Status 0 where nothing was found."""
    assert main(["answers", "--cases", "1", "--seed", "2"]) == 0
    assert "1 instances from seed 2 on, 0 wrong answers" in capsys.readouterr().out


@pytest.mark.slow
def test_a_few_cascades_keep_their_word() -> None:
    """Trees of classes and numbers, with weights of 0, validation rows and items paid once among them."""
    assert [wrong for seed in range(4) for wrong in cascades.findings(seed)] == []


def test_glop_solves_what_its_preprocessing_spoils() -> None:
    """Coefficients of 2e-10 beside 1 (found by `fuzzing answers`): GLOP called it abnormal, and answers at the second try."""
    problem = answers.random_instance(np.random.default_rng(700724))
    found = SOLVERS["glop_ip3"](problem, 5.23e-11)
    assert found.value == pytest.approx(min_cut(problem, 5.23e-11).value, rel=1e-9)


def test_an_amount_beyond_64_bits_may_count_nothing() -> None:
    """A price of 35 millions of millions of units (found by `fuzzing answers`) that no example pays: a raw OverflowError."""
    problem = answers.random_instance(np.random.default_rng(700298))
    limit = Fraction(470795747129, 100000000000)
    assert solve_limits(problem, [Limit(limit, each=True)]).pruning.cost <= limit


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        (lambda s: {"uses": tuple(use + 1 for use in s.uses)}, "recomputed"),
        (lambda s: {"bound": s.bound - 1, "error": s.error + 1}, "recomputed"),
        (lambda s: {"error": 2 * s.error + 1, "bound": 2 * s.error + 1}, "above the least error"),
    ],
)
def test_a_wrong_answer_within_limits_is_found(monkeypatch: pytest.MonkeyPatch, changes: Any, wrong: str) -> None:
    """Uses, an error and a bound that are not what the engine says."""

    def liar(problem: PruningProblem, given: Any, **options: Any) -> LimitedSolution:
        found = solve_limits(problem, given, **options)
        return replace(found, **changes(found))

    monkeypatch.setattr(limits, "solve_limits", liar)
    assert any(wrong in f for f in limits.findings(4))
