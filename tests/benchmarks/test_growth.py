"""The benchmarks of growth, of scale and of big tables, on tiny instances: what is measured, kept, told and drawn."""

from __future__ import annotations

import importlib
import json
import math
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks import big_tables, growth, hepmass_like, scale, yahoo_like
from benchmarks.growth import Growth
from benchmarks.instances import lam_at_share
from formulations import InvalidInputError, PruningProblem, Solution
from formulations.instance.papers import two_trees
from formulations.programs.matrix import MATRICES
from solvers import price_sharing, pruning_path

TINY = {n: partial(growth.grown, n, trees=3, depth=4, n_train=300) for n in (50, 100, 200)}
STUDY = growth.Study("cost rows", TINY, ("price_sharing", "benchmarks.growth:highs_simplex"), programs=True)


@pytest.fixture(scope="module", autouse=True)
def small_blocks() -> Iterator[None]:
    """Rows are generated a few hundred at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hepmass_like, "events", partial(hepmass_like.events, block=300))
        patch.setattr(yahoo_like, "documents", partial(yahoo_like.documents, block=20))
        yield


@pytest.fixture(scope="module")
def measured(small_blocks: None) -> Growth:
    """A study of three sizes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(growth.STUDIES, "rows", STUDY)
        return growth.study("rows", isolate=False)


@pytest.mark.slow
def test_a_study_measures_every_engine_at_every_size(measured: Growth) -> None:
    """Each size at the lambda of half its cost, with IP3's nonzeros beside; both engines find the optimum."""
    table = measured.table
    assert list(table["size"]) == [50, 50, 100, 100, 200, 200]
    assert (table["value"] - table["optimum"]).abs().max() < 1e-9
    for size, make in TINY.items():
        problem = make()
        lam = growth.half_cost(problem)
        here = table[table["size"] == size]
        assert set(here["lam"]) == {float(lam)}
        assert set(here["nonzeros"]) == {MATRICES["IP3"](problem, lam=lam, relax=True).matrix.nnz}
        assert 0 < price_sharing(problem, lam).pruning.cost <= pruning_path(problem).cost[0] / 2  # type: ignore[arg-type, union-attr]


def test_only_price_sharing_is_tried_where_a_network_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond `MOST_ARCS` nobody else is; without it nothing is left to measure. All take the common lambda."""
    study = replace(STUDY, engines=("price_sharing", "min_cut"), programs=False, common=TINY[100])
    monkeypatch.setitem(growth.STUDIES, "rows", study)
    monkeypatch.setattr(growth, "MOST_ARCS", TINY[100]().n_usage_arcs)
    table = growth.study("rows", isolate=False).table
    assert list(table["solver"]) == ["price_sharing", "min_cut"] * 2 + ["price_sharing"]
    assert set(table["lam"]) == {float(growth.half_cost(TINY[100]()))}
    with pytest.raises(SystemExit, match="nothing to measure"):
        growth.study("rows", ["min_cut"], isolate=False, sizes=[200])


def refuses(problem: PruningProblem, lam: float, *, time_limit: float = math.inf) -> Solution:
    """An engine that takes no instance."""
    raise InvalidInputError("too large")


def test_who_refused_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One engine refuses the first size already; the other goes on."""
    mine = f"{__name__}:refuses"
    monkeypatch.setitem(growth.STUDIES, "rows", replace(STUDY, engines=(mine, "min_cut"), programs=False))
    table = growth.study("rows", isolate=False).table
    assert list(table["solver"]) == [mine, "min_cut", "min_cut", "min_cut"]
    assert table["status"][0] == "refused"


def test_figures_are_read_as_they_were_written(measured: Growth, tmp_path: Path) -> None:
    """Four digits of every number, counts as they are, engines and sizes in order."""
    file = tmp_path / "new" / "growth-rows.json"
    growth.write(measured, file)
    again = growth.read(file)
    for column in ("size", "usage_arcs", "solver", "usable", "nonzeros"):
        assert list(measured.table[column]) == list(again.table[column])
    np.testing.assert_allclose(again.table["seconds"], measured.table["seconds"], rtol=1e-3)
    assert (again.by, again.machine, again.time_limit) == ("cost rows", measured.machine, 60.0)
    growth.write(again, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == file.read_text()


def test_what_is_measured_again_takes_the_place_of_what_was(measured: Growth) -> None:
    """An engine and size at a time, the others stay."""
    table = measured.table
    again = table[(table["solver"] == "price_sharing") & (table["size"] == 100)].assign(seconds=7.0)
    both = growth.merged(measured, replace(measured, table=again, machine="another"))
    assert list(both.table["size"]) == [50, 50, 100, 100, 200, 200]
    seconds = both.table.set_index(["solver", "size"])["seconds"]
    assert seconds["price_sharing", 100] == 7.0
    assert seconds["benchmarks.growth:highs_simplex", 100] != 7.0
    assert both.machine == "another"


def by_hand() -> Growth:
    """Figures by hand: two engines, of which the second is not usable at 400."""
    answers = [
        {"size": size, "usage_arcs": size**2, "solver": name, "seconds": size / 100, "peak_memory_mb": 10.0 * size}
        | {"usable": name == "price_sharing" or size < 400, "iterations": 10.0, "nonzeros": 7}
        for size in (100, 200, 400)
        for name in ("price_sharing", "a.module:mine")
    ]
    return Growth(pd.DataFrame(answers), "trees", 60.0, "a machine")


def test_tables_have_slopes_and_brackets() -> None:
    """Seconds that grow with the size: slope 1; unusable in brackets, and two points make no line."""
    assert growth.table(by_hand()).splitlines() == [
        "| trees | 100 | 200 | 400 | slope |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| usage arcs | 10,000 | 40,000 | 160,000 | 2.00 ± 0.00 |",
        "| IP3's nonzeros | 7 | 7 | 7 | 0.00 ± 0.00 |",
        "| `price_sharing`, s | 1 | 2 | 4 | 1.00 ± 0.00 |",
        "| `mine`, s | 1 | 2 | (4) |  |",
        "| `price_sharing`, MB | 1e+03 | 2e+03 | 4e+03 | 1.00 ± 0.00 |",
        "| `mine`, MB | 1e+03 | 2e+03 | (4e+03) |  |",
        "| rounds | 10 | 10 | 10 |  |",
    ]


def test_the_picture_is_the_table() -> None:
    """A line an engine, its slope, a cross where it stopped, the limit, and slope 1 through the last point of price sharing."""
    (ax,) = growth.picture(by_hand()).axes
    points = {str(line.get_label()): np.asarray(line.get_xydata()).tolist() for line in ax.get_lines()}
    assert points["price_sharing   1.00"] == points["mine"] == [[100, 1.0], [200, 2.0], [400, 4.0]]
    others = [points[name] for name in points if name.startswith("_")]
    assert others == [[], [[400, 4.0]], [[100, 1.0], [400, 4.0]]]
    assert "time limit, 60 s" in points
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_xlabel(), ax.get_ylabel()) == ("log", "log", "trees", "seconds")


def test_slope_and_standard_error_by_hand() -> None:
    """Logs (0, 0), (1, 1), (2, 3): slope 3 / 2; residuals 1/6, -1/3, 1/6, so se = sqrt((1/6) / 1 / 2)."""
    size, seconds = pd.Series([1, 10, 100]), pd.Series([1.0, 10.0, 1000.0])
    assert growth.slope(size, seconds) == pytest.approx((1.5, math.sqrt(1 / 12)))
    # two points, one size, and figures below the least say nothing
    for x, y, least in ((size[:2], seconds[:2], 0.0), (pd.Series([7, 7, 7]), seconds, 0.0), (size, seconds, 5.0)):
        assert np.isnan(growth.slope(x, y, least)).all()


@pytest.mark.parametrize(
    ("told", "usable"),
    [
        ({"stopped": "time limit"}, False),
        ({"stopped": "iteration limit"}, False),
        ({"status": "unknown"}, False),
        ({"seconds": 9.0}, False),
        ({"seconds": 8.0, "status": "feasible"}, True),
    ],
)
def test_limits_make_an_engine_unusable(monkeypatch: pytest.MonkeyPatch, told: dict[str, object], usable: bool) -> None:
    """Stopped by a limit, no pruning, or later than the time limit; a merely feasible answer in time is usable."""
    row = {"solver": "min_cut", "status": "optimal", "stopped": "converged", "seconds": 1.0, "value": 0.75} | told
    monkeypatch.setattr(growth.pm, "compare", lambda *_, **__: pd.DataFrame([row]))
    assert growth.answers(two_trees(), 1, Fraction(1, 4), ["min_cut"], 8.0)["usable"].tolist() == [usable]


@pytest.mark.parametrize("ties", ["smallest", "largest"])
def test_lambda_by_hand(ties: Any) -> None:
    """Breakpoints 0, 1/8, 3/8; costs 3 and 2 in between: the middles 1/16 and 1/4, the last where the path jumps too far."""
    found = [lam_at_share(pruning_path(two_trees(), ties=ties), share) for share in (1, 0.9, 2 / 3, 0.5, 0)]
    assert found == [Fraction(1, 16), Fraction(1, 4), Fraction(1, 4), Fraction(1, 4), Fraction(1, 4)]


@pytest.mark.slow
def test_the_command_adds_to_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sizes piece by piece, one table in the end; unknown sizes are refused before anything is measured."""
    monkeypatch.setitem(growth.STUDIES, "rows", replace(STUDY, engines=("price_sharing",), programs=False))
    monkeypatch.setattr(growth, "study", partial(growth.study, isolate=False))
    for size in ("50", "200", "100"):
        monkeypatch.setattr(sys, "argv", ["growth", "--sizes", size, "--out", str(tmp_path)])
        growth.main()
    growth.show(tmp_path)
    assert capsys.readouterr().out.count("| cost rows | 50 | 100 | 200 | slope |") == 2
    monkeypatch.setattr(sys, "argv", ["growth", "--sizes", "60", "--out", str(tmp_path)])
    with pytest.raises(SystemExit, match="2"):
        growth.main()
    assert "--sizes 60: no such instance" in capsys.readouterr().err


@pytest.mark.slow
def test_the_site_draws_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture for every study that is kept, those of `docs/big_data.md` among them; drawn again only when figures are newer."""
    pytest.importorskip("sphinx", reason='the site needs pip install "prunemodels[docs]"')
    docs = Path(__file__).parents[2] / "docs"
    monkeypatch.syspath_prepend(str(docs / "_ext"))
    pictures = importlib.import_module("growth_pictures")
    monkeypatch.setattr(pictures, "PICTURES", tmp_path)
    pictures.write(None)
    shown = re.findall(r"\(_build/pictures/(\S+)\)", (docs / "big_data.md").read_text())
    assert shown
    assert set(shown) <= {file.name for file in tmp_path.iterdir()}
    drawn = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    pictures.write(None)
    assert drawn == {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    os.utime(tmp_path / shown[0], (0, 0))
    pictures.write(None)
    assert (tmp_path / shown[0]).stat().st_mtime > 0


@pytest.mark.slow
def test_events_are_the_same_however_many() -> None:
    """Half of HEPMASS-like events are signal, the first rows do not depend on their number, and masses tell the classes apart."""
    X, y = hepmass_like.events(3000, 0)
    shorter, fewer = hepmass_like.events(500, 0)
    np.testing.assert_array_equal(X[:500], shorter)
    np.testing.assert_array_equal(y[:500], fewer)
    assert X.shape == (3000, 28)
    assert X.dtype == np.float32
    assert np.isfinite(X).all()
    assert 0.45 < y.mean() < 0.55
    assert X[y == 1, 25].mean() - X[y == 0, 25].mean() > 0.3  # the mass of all that is seen, as a logarithm
    assert not np.array_equal(hepmass_like.events(500, 1)[0], shorter)


def test_documents_are_those_of_queries() -> None:
    """Some 24 documents share a query's features, three of four are relevant, the first rows do not depend on their number."""
    X, y = yahoo_like.documents(1500, 0, block=20)
    shorter, fewer = yahoo_like.documents(700, 0, block=20)
    np.testing.assert_array_equal(X[:700], shorter)
    np.testing.assert_array_equal(y[:700], fewer)
    assert X.shape == (1500, 519)
    assert len(np.unique(X, axis=0)) == 1500
    assert ((X >= 0) & (X <= 1)).all()
    assert 0.6 < y.mean() < 0.85
    kind = yahoo_like._Features().kind
    of_query = X[:, (kind == 0) & (yahoo_like._Features().steps == 4096)]
    both = (of_query[1:] > 0) & (of_query[:-1] > 0)  # a document may lack a group of features
    same = ((of_query[1:] == of_query[:-1]) | ~both).all(axis=1)
    assert 15 < 1500 / (1 + (~same).sum()) < 35
    for price, n in zip(yahoo_like.PRICE_CLASSES, yahoo_like.FEATURES_BY_PRICE, strict=True):
        assert (yahoo_like.prices() == price).sum() == n
    assert sum(yahoo_like.FEATURES_BY_PRICE) == 519


@pytest.mark.slow_cases("yahoo")
@pytest.mark.parametrize("name", ["hepmass", "yahoo"])
def test_a_whole_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Solved to the gap, to the optimum and for all lambdas; a forest that is there is not grown again."""
    rows = partial(scale.SHAPES[name].rows, block={"hepmass": 1500, "yahoo": 20}[name])
    monkeypatch.setattr(scale, "SHAPES", {name: replace(scale.SHAPES[name], rows=rows, trees=3, n_train=300)})
    tiny = replace(scale.SHAPES[name], n_cost=1200)
    scale.grow(tiny, tmp_path / scale.forest_file(name, tiny))
    monkeypatch.setattr(scale, "apart", None)
    words = ["scale", "--data", name, "--cost", "1200", "--edges", "1", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", words)
    scale.main()
    told = json.loads((tmp_path / f"scale-{name}.json").read_text())
    assert told["gap"] <= scale.GAP
    assert (told["gap_of_optimum"], told["status"], told["check_of_the_whole_path"]) == (0, "optimal", "True")
    assert len(told["beside_edges"]) == 8
    assert all(row["gap"] == 0.0 and row["as on the path"] for row in told["beside_edges"])
    assert told["prunings_of_the_whole_path"] > 4
    assert told["peak_memory_mb"] > 0
    assert f"usage arcs: {told['usage_arcs']:,}" in capsys.readouterr().out


def test_every_way_ends_where_memory_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """700 rows in pieces of 300 with seeds of their own: digests agree between the ways of a kind, and each has a peak."""
    monkeypatch.setattr(big_tables, "events", partial(big_tables.events, block=1000))
    monkeypatch.setattr(big_tables, "PIECE", 300)
    monkeypatch.setattr(big_tables, "TRAINING_ROWS", 400)
    monkeypatch.setattr(big_tables, "apart", lambda work, *given: work(*given))
    big_tables.run(tmp_path, 700, 3, list(big_tables.WAYS))
    head, *lines = [line for line in capsys.readouterr().out.splitlines() if line.strip("| -:")]
    assert head.startswith("700 rows x 28 features")
    ends: dict[str, set[str]] = {}
    for _, way, seconds, peak, anonymous, found, _ in (line.split("|") for line in lines[1:]):
        assert [cell.split()[1] for cell in (seconds, peak, anonymous)] == ["s", "MB", "MB"]
        ends.setdefault(way.split(",")[0].strip(), set()).add(found.split(",")[-1].strip())
    assert {kind: len(found) for kind, found in ends.items()} == {"instance": 1, "solve": 1}
