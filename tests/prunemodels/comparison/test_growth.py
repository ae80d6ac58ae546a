"""Growing instances: what is measured of whom, slopes by hand, and where engines stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import prunemodels as pm
from formulations import InterruptedSolveError, InvalidInputError, PruningProblem, Solution
from formulations.instance.papers import two_trees
from prunemodels.comparison import growth, machine, processes
from prunemodels.comparison.compare import TYPES
from prunemodels.comparison.growth import INSTANCE, Growth, lam_at_share, measure_growth
from solvers import pruning_path
from solvers.price_sharing.run import Run
from tests.instances import random_problem
from tests.solvers.cases import instance, leaves_only

HERE = "tests.prunemodels.comparison.test_growth:"


def refuses_six_splits(problem: PruningProblem, lam: float, *, time_limit: float = math.inf) -> Solution:
    """An engine that refuses whatever is larger than the papers' two trees."""
    if problem.ensemble.n_splits > 5:
        raise InvalidInputError("too large")
    return pm.engines.min_cut(problem, lam)


def keeps_nothing(problem: PruningProblem, lam: float, *, time_limit: float = math.inf) -> Solution:
    """A lazy engine: single leaves, and a bound of zero."""
    leaves = pm.Pruning.all_roots(problem)
    return Solution(problem, lam, leaves, leaves.error, 0.0)


def interrupts_six_splits(problem: PruningProblem, lam: float, *, time_limit: float = math.inf) -> Solution:
    """Ctrl-C on whatever is larger than the papers' two trees."""
    if problem.ensemble.n_splits > 5:
        raise KeyboardInterrupt
    return pm.engines.min_cut(problem, lam)


def large() -> PruningProblem:
    """An instance with more than five splits."""
    problem = instance("iris")
    assert problem.ensemble.n_splits > 5
    return problem


def study(solver: str, sizes: list[int], **columns: list[Any]) -> pd.DataFrame:
    """Rows of a table, all of them usable and optimal if not told otherwise."""
    told: dict[str, Any] = {"status": "optimal", "stopped": "converged", "seconds": 1.0, "usable": True, "usage_arcs": sizes}
    return pd.DataFrame({"solver": solver, "size": sizes} | told | columns)


def of(*studies: pd.DataFrame) -> Growth:
    return Growth(pd.concat(studies, ignore_index=True), "rows", 0.5, 10.0, True, "a machine")


def test_slope_and_standard_error_by_hand() -> None:
    """Logs (0, 0), (1, 1), (2, 3): slope 3 / 2; residuals 1/6, -1/3, 1/6, so se = sqrt((1/6) / 1 / 2)."""
    found = of(study("a", [1, 10, 100], seconds=[1.0, 10.0, 1000.0])).slopes().loc["a"]
    assert found["slope"] == pytest.approx(1.5)
    assert found["se"] == pytest.approx(math.sqrt(1 / 12))


def test_slopes_count_only_what_says_something() -> None:
    """Unusable points, zeros, what is not there and what is below `least` are left out; under three points there is no slope."""
    table = study("a", [1, 10, 100, 1000, 10000], seconds=[0.0, 1.0, 10.0, 100.0, 5.0], usable=[True] * 4 + [False])
    found = of(table, study("b", [1, 10, 100, 1000], seconds=[math.nan, 1.0, 2.0, 9.0]), study("c", [7, 7, 7]))
    slopes = found.slopes()
    assert slopes["points"].to_dict() == {"a": 3, "b": 3, "c": 3}
    assert slopes.loc["a", "slope"] == pytest.approx(1.0)
    assert math.isnan(slopes.loc["c", "slope"])  # one size
    fewer = found.slopes(least=2.0)
    assert fewer["points"].to_dict() == {"a": 2, "b": 2, "c": 0}
    assert fewer[["slope", "se"]].isna().all(axis=None)


def test_slopes_refuse_what_is_no_number() -> None:
    """A text, a yes or no, and a column that is not there are named, with those that there are."""
    found = of(study("a", [1, 2]))
    for name in ("status", "usable", "hours"):
        with pytest.raises(InvalidInputError, match=f"no numbers {name!r}; there are size, seconds"):
            found.slopes(name)
    with pytest.raises(InvalidInputError, match="no numbers 'hours'"):
        found.slopes(against="hours")


def test_reach_tells_where_each_engine_stops_and_why() -> None:
    """Largest sizes usable and proven, the first that was not usable, and the reason in the table's words."""
    usable = [True, True, False]
    late = study("late", [1, 2, 3], usable=usable, seconds=[1.0, 2.0, 12.5])
    bounded = study(
        "bounded", [1, 2, 3], usable=usable, status=["optimal", "feasible", "optimal"], stopped=["converged"] * 2 + ["time limit"]
    )
    refused = study("refused", [1], usable=[False], status=["refused"], stopped=[""])
    reach = of(late, bounded, refused, study("all", [1, 2, 3])).reach()
    assert reach["why"].to_dict() == {"late": "12.5 s of 10", "bounded": "time limit", "refused": "refused", "all": ""}
    assert reach.loc["late", ["usable_to", "proven_to", "stops_at"]].tolist() == [2, 2, 3]
    assert reach.loc["bounded", ["usable_to", "proven_to", "stops_at"]].tolist() == [2, 1, 3]
    assert reach.loc["refused", ["usable_to", "proven_to"]].isna().all()
    assert reach.loc["refused", "stops_at"] == 1
    assert reach.loc["all", ["usable_to", "proven_to"]].tolist() == [3, 3]
    assert math.isnan(reach.loc["all", "stops_at"])


def test_growing_instances_are_measured_in_order() -> None:
    """Ascending sizes whatever the order given; each row has its instance, lambda and optimum, and `done` sees every instance."""
    problems, seen = {2: large(), 1: two_trees()}, []
    found = measure_growth(problems, ["min_cut", HERE + "keeps_nothing"], by="trees", isolate=False, done=seen.append)
    assert list(found.table) == [*INSTANCE, *TYPES, "above_optimum", "usable"]
    assert found.table["size"].tolist() == [1, 1, 2, 2]
    assert [frame["size"].iloc[0] for frame in seen] == [1, 2]
    pd.testing.assert_frame_equal(pd.concat(seen, ignore_index=True), found.table)
    first, lazy = found.table.iloc[0], found.table.iloc[1]
    # the papers' trees: at lambda = 1/4 the optimum costs 2 of 3 and is worth 2/8 + 2/4, the single leaves 1
    assert first[["rows", "trees", "splits_unpruned", "usage_arcs"]].tolist() == [1, 2, 5, 4]
    assert (first["lam"], first["optimum"], first["value"], first["above_optimum"]) == (0.25, 0.75, 0.75, 0)
    assert (lazy["value"], lazy["above_optimum"], lazy["status"]) == (1.0, 1.0, "feasible")
    assert found.table["usable"].all()
    assert (found.by, found.share, found.time_limit, found.isolated) == ("trees", 0.5, 30.0, False)
    assert found.machine == machine.machine()


def test_who_stops_is_not_tried_again() -> None:
    """An engine that refused a size is left out of larger ones, and nothing is run when no engine is left."""
    problems = {1: two_trees(), 2: large(), 3: two_trees()}
    found = measure_growth(problems, ["min_cut", HERE + "refuses_six_splits"], isolate=False)
    assert found.table["solver"].tolist() == ["min_cut", HERE + "refuses_six_splits"] * 2 + ["min_cut"]
    assert found.reach().loc[HERE + "refuses_six_splits", ["usable_to", "stops_at", "why"]].tolist() == [1, 2, "refused"]
    alone = measure_growth(problems, [HERE + "refuses_six_splits"], isolate=False)
    assert alone.sizes == [1, 2]


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[dict[str, Any]]]:
    """Replaces the comparison by rows that were written down; returns the options of all calls."""

    def script(*runs: Mapping[str, Any]) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []

        def compare(problem: PruningProblem, lam: Fraction, names: list[str], **options: Any) -> pd.DataFrame:
            calls.append(options | {"names": names, "lam": lam})
            row = {"solver": names[0], "status": "optimal", "stopped": "converged", "value": 0.75, "bound": 0.75, "note": ""}
            return pd.DataFrame([row | dict(runs[len(calls) - 1])], columns=list(TYPES)).astype(TYPES)

        monkeypatch.setattr(growth, "compare", compare)
        return calls

    return script


def test_given_lambdas_need_no_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each size takes its own; the optimum is the least value found, and a lambda at which nothing is kept misses nothing."""
    monkeypatch.setattr(growth, "pruning_path", None)
    problem, lams = large(), {1: Fraction(1, 100), 2: Fraction(1, 50), 3: Fraction(10**6)}
    engines = [HERE + "keeps_nothing", "min_cut"]
    found = measure_growth(dict.fromkeys(lams, problem), engines, lams=lams, isolate=False).table
    best = {size: pm.engines.min_cut(problem, lam).value for size, lam in lams.items()}  # type: ignore[arg-type]
    assert list(found["lam"]) == [0.01, 0.01, 0.02, 0.02, 1e6, 1e6]
    assert list(found["optimum"]) == [best[size] for size in found["size"]]
    above = found[found["solver"] == HERE + "keeps_nothing"].set_index("size")["above_optimum"]
    assert above[1] == above[2] == pytest.approx(1.0)  # nothing of what can be gained
    assert math.isnan(above[3])


@pytest.mark.parametrize(
    "told", [{"stopped": "time limit"}, {"stopped": "iteration limit"}, {"status": "unknown"}, {"seconds": 9.0}]
)
def test_limits_make_an_engine_unusable(scripted: Callable[..., list[dict[str, Any]]], told: dict[str, Any]) -> None:
    """Stopped by a limit, no pruning, or later than the time limit; a merely feasible answer in time is usable."""
    scripted({"seconds": 1.0} | told)
    assert not measure_growth({1: two_trees()}, ["min_cut"], time_limit=8).table["usable"].any()
    scripted({"seconds": 8.0, "status": "feasible"})
    assert measure_growth({1: two_trees()}, ["min_cut"], time_limit=8).table["usable"].all()


def test_bad_studies_are_refused_before_anything_runs(scripted: Callable[..., list[dict[str, Any]]]) -> None:
    """No instances, sizes that have no logarithm, shares beyond the whole, unknown engines, nothing to prune."""
    calls = scripted()
    good = {1: two_trees()}
    for problems, options, message in (
        ({}, {}, "problems is empty"),
        ({0: two_trees()}, {}, "problems has the size 0; sizes must be above 0"),
        (good, {"share": 1.5}, "share is 1.5"),
        (good, {"share": math.nan}, "share is nan"),
        (good | {2: two_trees()}, {"lams": {2: Fraction(1)}}, "lams has no lambda for the size 1"),
        (good, {"lams": {1: Fraction(-1)}}, r"lams\[1\] is .*negative"),
        (good, {"solvers": ["simplex"]}, "there is no solver 'simplex'"),
        ({3: leaves_only()}, {}, r"problems\[3\] has one optimum for all lambda"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            measure_growth(problems, **options)  # type: ignore[arg-type]
    assert calls == []


def test_interrupted_studies_keep_what_was_done() -> None:
    """Ctrl-C in the second instance: the first one's rows have been handed over."""
    seen: list[pd.DataFrame] = []
    with pytest.raises(InterruptedSolveError):
        measure_growth({1: two_trees(), 2: large()}, [HERE + "interrupts_six_splits"], isolate=False, done=seen.append)
    assert [frame["size"].tolist() for frame in seen] == [[1]]


@pytest.mark.parametrize("ties", ["smallest", "largest"])
def test_lambda_by_hand(ties: Any) -> None:
    """Breakpoints 0, 1/8, 3/8; costs 3 and 2 in between: the middles 1/16 and 1/4, the last where the path jumps too far."""
    path = pruning_path(two_trees(), ties=ties)
    found = [lam_at_share(path, share) for share in (1, 0.9, 2 / 3, 0.5, 0)]
    assert found == [Fraction(1, 16), Fraction(1, 4), Fraction(1, 4), Fraction(1, 4), Fraction(1, 4)]
    # a share beyond the whole, and a path on which nothing changes, are refused
    for share in (-0.1, 1.1, math.nan):
        with pytest.raises(InvalidInputError, match=f"share is {share}"):
            lam_at_share(pruning_path(two_trees()), share)
    with pytest.raises(InvalidInputError, match="one breakpoint"):
        lam_at_share(pruning_path(leaves_only()), 0.5)


@given(seed=st.integers(0, 200), share=st.floats(0, 1), ties=st.sampled_from(["smallest", "largest"]))
@settings(max_examples=40, deadline=None)
def test_lambda_lies_between_breakpoints_and_pays_the_share(seed: int, share: float, ties: Any) -> None:
    """The optimum there costs at most the share, or is the last one that costs anything; the interval before costs more."""
    path = pruning_path(random_problem(seed), ties=ties)
    assume(len(path.breakpoints) >= 2)
    lam = lam_at_share(path, share)
    k = int(np.searchsorted([float(b) for b in path.breakpoints], float(lam))) - 1
    assert path.breakpoints[k] < lam < path.breakpoints[k + 1]
    limit = share * path.cost[0]
    assert path.at_lam(lam).cost <= limit * (1 + 1e-12) or k == len(path.breakpoints) - 2
    if k > 0:
        assert path.at_lam((path.breakpoints[k - 1] + path.breakpoints[k]) / 2).cost > limit * (1 - 1e-12)


def test_price_sharing_is_warmed_up_with_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The papers' two trees would be cut at once, and rounds compiled on the clock."""
    rounds: list[int] = []
    real = Run.round
    monkeypatch.setattr(Run, "round", lambda run: (rounds.append(1), real(run))[1])
    processes._warm_up(pm.engines.price_sharing)
    assert len(rounds) >= 10
    processes._warm_up(pm.engines.min_cut)


def test_wide_has_a_row_an_engine_and_a_column_a_size() -> None:
    """Engines in the order asked for, sizes ascending, NaN where an engine was not tried."""
    found = of(study("z", [1, 30], seconds=[1.0, 2.0]), study("a", [1], status=["refused"]))
    wide = found.wide()
    assert wide.index.tolist() == ["z", "a"] == found.engines
    assert wide.columns.tolist() == [1, 30] == found.sizes
    assert wide.columns.name == "rows"
    np.testing.assert_array_equal(wide.to_numpy(), [[1.0, 2.0], [1.0, math.nan]])
    assert found.wide("status").loc["a", 1] == "refused"
    with pytest.raises(InvalidInputError, match=r"no quantity 'hours'; there are solver, size"):
        found.wide("hours")
