"""The benchmarks of growth and of kernels, on tiny instances: what is measured, kept, told and drawn."""

from __future__ import annotations

import importlib
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from benchmarks import growth, growth_figures, hepmass_like, yahoo_like
from benchmarks.growth_figures import Figures
from benchmarks.rounds import rounds_of
from formulations import InvalidInputError, PruningProblem, Solution
from prunemodels.comparison.growth import Growth
from solvers import price_sharing, pruning_path

TINY = tuple(growth.Sizes(rows=r, trees=3, depth=4, n_train=300) for r in (50, 100, 200))
STUDY = growth.Study("rows", "cost rows", TINY, ("price_sharing", "benchmarks.growth:highs_simplex"), programs=True)


@pytest.fixture(scope="module", autouse=True)
def small_blocks() -> Iterator[None]:
    """Rows are generated a few hundred at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hepmass_like, "events", partial(hepmass_like.events, block=300))
        patch.setattr(yahoo_like, "documents", partial(yahoo_like.documents, block=20))
        yield


@pytest.fixture(scope="module")
def figures(small_blocks: None) -> Figures:
    """A study of three sizes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(growth.STUDIES, "rows", STUDY)
        return growth.study("rows", isolate=False)


def test_a_study_measures_every_engine_at_every_size(figures: Figures) -> None:
    """Each size at the lambda of half its cost, with IP3's matrix and the rounds beside; both engines find the optimum."""
    table = figures.growth.table
    assert list(table["size"]) == [50, 50, 100, 100, 200, 200]
    assert table["above_optimum"].abs().max() < 1e-9
    for sizes in TINY:
        problem = sizes.problem()
        lam = growth.half_cost(problem)
        assert set(table.loc[table["size"] == sizes.rows, "lam"]) == {float(lam)}
        assert 0 < price_sharing(problem, lam).pruning.cost <= pruning_path(problem).cost[0] / 2  # type: ignore[arg-type, union-attr]
        assert figures.matrices[sizes.rows] == growth.matrix(problem, lam)
    usage = table.groupby("size")["usage_arcs"].first()
    for size, of in figures.matrices.items():
        # (IP3): a row a leaf, of at most depth + 1 entries; usage and coupling rows an arc each
        assert 2 * usage[size] < of["rows"] < 2 * usage[size] + 3 * 2**4 + 1


def test_only_price_sharing_is_tried_where_a_network_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond `MOST_ARCS` nobody else is; without it nothing is left to measure."""
    monkeypatch.setitem(growth.STUDIES, "rows", replace(STUDY, engines=("price_sharing", "min_cut"), programs=False))
    arcs = [sizes.problem().n_usage_arcs for sizes in TINY]
    monkeypatch.setattr(growth, "MOST_ARCS", arcs[1])
    found = growth.study("rows", isolate=False)
    table = found.growth.table
    assert list(table["solver"]) == ["price_sharing", "min_cut"] * 2 + ["price_sharing"]
    assert not found.matrices
    with pytest.raises(SystemExit, match="nothing to measure"):
        growth.study("rows", ["min_cut"], isolate=False, sizes=[200])


def refuses(problem: PruningProblem, lam: float, *, time_limit: float = math.inf) -> Solution:
    """An engine that takes no instance."""
    raise InvalidInputError("too large")


def test_who_refused_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One engine refuses the first size already; the other goes on."""
    mine = f"{__name__}:refuses"
    monkeypatch.setitem(growth.STUDIES, "rows", replace(STUDY, engines=(mine, "min_cut"), programs=False))
    table = growth.study("rows", isolate=False).growth.table
    assert list(table["solver"]) == [mine, "min_cut", "min_cut", "min_cut"]
    assert table["status"][0] == "refused"


def test_figures_are_read_as_they_were_written(figures: Figures, tmp_path: Path) -> None:
    """Four digits of every number, counts as they are, engines and sizes in order; nothing half-written is left."""
    file = tmp_path / "new" / "growth-rows.json"
    growth_figures.write(figures, file)
    assert [f.name for f in file.parent.iterdir()] == ["growth-rows.json"]
    again = growth_figures.read(file)
    before, after = figures.growth.table, again.growth.table
    for column in ("size", "usage_arcs", "solver", "usable"):
        assert list(before[column]) == list(after[column])
    np.testing.assert_allclose(after["seconds"], before["seconds"], rtol=1e-3)
    assert again.matrices == figures.matrices
    assert (again.growth.by, again.growth.machine, again.growth.time_limit) == ("cost rows", figures.growth.machine, 60.0)
    growth_figures.write(again, tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == json.loads(file.read_text())
    assert growth_figures.table(again).splitlines()[:3] == growth_figures.table(figures).splitlines()[:3]


def test_what_is_measured_again_takes_the_place_of_what_was(figures: Figures) -> None:
    """An engine and size at a time, the others stay."""
    table = figures.growth.table
    again = table[(table["solver"] == "price_sharing") & (table["size"] == 100)].assign(seconds=7.0)
    later = Figures(replace(figures.growth, table=again, machine="another"), {100: {"rounds": 3}}, {})
    both = figures.with_later(later)
    assert len(both.growth.table) == 6
    assert list(both.growth.table["size"]) == [50, 50, 100, 100, 200, 200]
    seconds = both.growth.table.set_index(["solver", "size"])["seconds"]
    assert seconds["price_sharing", 100] == 7.0
    assert seconds["benchmarks.growth:highs_simplex", 100] != 7.0
    assert both.growth.machine == "another"
    assert both.rounds[100] == {"rounds": 3}
    assert both.rounds[50] == figures.rounds[50]
    assert both.matrices == figures.matrices


def made(seconds: Callable[[int], float], *, usable: bool = True) -> Figures:
    """Figures by hand: two engines, of which the second is not usable at 400."""
    table = Growth(_rows(seconds, usable=usable), "trees", 0.5, 60.0, True, "a machine")
    rounds = {size: {name: float(size) for name in growth_figures.ROUNDS.values()} for size in (100, 200, 400)}
    return Figures(table, rounds, {size: {"rows": size**2, "columns": 5, "nonzeros": 2 * size} for size in (100, 200, 400)})


def _rows(seconds: Callable[[int], float], *, usable: bool) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"size": size, "usage_arcs": size**2, "solver": name, "seconds": seconds(size), "peak_memory_mb": 10.0 * size}
            | {"usable": usable or name == "min_cut" or size < 400}
            for size in (100, 200, 400)
            for name in ("min_cut", "a.module:mine")
        ]
    )


def test_tables_have_slopes_and_brackets() -> None:
    """Seconds that grow with the size: slope 1, half of it against arcs that grow with its square; unusable in brackets."""
    lines = growth_figures.table(made(lambda size: size / 100, usable=False)).splitlines()
    assert lines[0] == "| trees | 100 | 200 | 400 | slope | against usage arcs |"
    assert lines[2] == "| usage arcs | 10,000 | 40,000 | 160,000 | 2.00 ± 0.00 | |"
    assert lines[3] == "| IP3's rows | 10,000 | 40,000 | 160,000 | 2.00 ± 0.00 | |"
    assert lines[4] == "| IP3's columns | 5 | 5 | 5 | 0.00 ± 0.00 | |"
    assert "| `min_cut`, s | 1 | 2 | 4 | 1.00 ± 0.00 | 0.50 ± 0.00 |" in lines
    assert "| `mine`, s | 1 | 2 | (4) |  |  |" in lines  # two points make no line
    assert "| `mine`, MB | 1e+03 | 2e+03 | (4e+03) |  |  |" in lines
    few = made(lambda size: size / 100)
    hardly = replace(few, growth=replace(few.growth, table=few.growth.table.assign(usage_arcs=[100, 100, 150, 150, 199, 199])))
    assert "| `min_cut`, s | 1 | 2 | 4 | 1.00 ± 0.00 |  |" in growth_figures.table(hardly)
    twice = replace(few, growth=replace(few.growth, table=few.growth.table.assign(usage_arcs=[100, 100, 150, 150, 200, 200])))
    assert "| `min_cut`, s | 1 | 2 | 4 | 1.00 ± 0.00 |  |" not in growth_figures.table(twice)
    assert {line.count("|") for line in lines} == {7}


def test_rounds_are_told_line_by_line(figures: Figures) -> None:
    """What was not measured is left empty: a cut at once has no rounds."""
    lines = growth_figures.rounds_table(made(float)).splitlines()
    assert lines[0] == "| trees | 100 | 200 | 400 | slope |"
    assert "| rounds | 100 | 200 | 400 |  |" in lines
    assert "| arcs shared in all rounds | 100 | 200 | 400 | 1.00 ± 0.00 |" in lines
    assert "| cut, s | 1e+02 | 2e+02 | 4e+02 |  |" in lines
    assert "| ns an arc and round, nothing fixed |  |  |  |  |" in growth_figures.rounds_table(figures)
    assert growth_figures.rounds_table(Figures(figures.growth, {}, {})) == ""


@pytest.mark.parametrize(("name", "passes"), [("price_sharing", 800.0), ("other", 400.0)])
def test_the_dotted_line_is_linear(name: str, passes: float) -> None:
    """Slope 1 through the last point of price sharing, of the first engine where there is none; limits stay."""
    found = made(float).growth
    table = found.table.assign(solver=found.table["solver"].replace({"a.module:mine": name}))
    table.loc[table["solver"] == name, "seconds"] *= 2
    ax = Figure().add_subplot()
    ax.set_ylim(0.1, 10.0)
    growth_figures._linear(ax, replace(found, table=table), "seconds")
    (line,) = ax.get_lines()
    assert np.asarray(line.get_xdata()).tolist() == [100.0, 400.0]
    assert np.asarray(line.get_ydata()).tolist() == [passes / 4, passes]
    assert ax.get_ylim() == (0.1, 10.0)


def test_rounds_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten rounds between two checks; arcs of each round are added; with everything cut at once there are none."""
    problem = TINY[2].problem()
    lam = growth.half_cost(problem)
    none = rounds_of(problem, lam)
    assert (none.rounds, none.arc_rounds, none.ns) == (0, 0, 0.0)
    assert none.core_usage_arcs == none.open_arcs
    assert math.isnan(none.first_ns)
    assert none.cut > 0
    monkeypatch.setattr("benchmarks.rounds.SMALL_CORE", 0)
    all_rounds = rounds_of(problem, lam, repeats=2)
    assert all_rounds.rounds >= 10
    assert all_rounds.rounds % 10 == 0
    assert 10 * all_rounds.open_arcs <= all_rounds.arc_rounds <= all_rounds.rounds * all_rounds.open_arcs
    assert 0 <= all_rounds.core_usage_arcs < all_rounds.open_arcs <= problem.n_usage_arcs
    assert min(all_rounds.first_ns, all_rounds.ns, all_rounds.start, all_rounds.checks, all_rounds.sharing) > 0
    assert all_rounds.seconds == pytest.approx(sum(all_rounds.as_dict()[name] for name in ("start", "sharing", "checks", "cut")))


def test_the_command_adds_to_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sizes piece by piece, one table in the end; unknown sizes are refused before anything is measured."""
    monkeypatch.setitem(growth.STUDIES, "rows", replace(STUDY, engines=("price_sharing",), programs=False))
    real = growth.study
    monkeypatch.setattr(growth, "study", lambda *args, **kwargs: real(*args, **kwargs, isolate=False))
    for size in ("50", "200", "100"):
        monkeypatch.setattr(sys, "argv", ["growth", "--sizes", size, "--out", str(tmp_path)])
        growth.main()
    growth_figures.main(tmp_path, tmp_path / "pictures")
    told = capsys.readouterr().out
    assert told.count("| cost rows | 50 | 100 | 200 | slope | against usage arcs |") == 2
    assert "growth-rows: " in told
    assert (tmp_path / "pictures" / "growth-rows-seconds.svg").exists()
    monkeypatch.setattr(sys, "argv", ["growth", "--sizes", "60", "--out", str(tmp_path)])
    with pytest.raises(SystemExit, match="2"):
        growth.main()
    assert "--sizes 60: no such instance" in capsys.readouterr().err


@pytest.mark.slow
def test_the_site_draws_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture for every study that is kept, those of `docs/scale.md` among them; drawn again only when figures are newer."""
    pytest.importorskip("sphinx", reason='the site needs pip install "prunemodels[docs]"')
    docs = Path(__file__).parents[2] / "docs"
    monkeypatch.syspath_prepend(str(docs / "_ext"))
    pictures = importlib.import_module("growth_pictures")
    monkeypatch.setattr(pictures, "PICTURES", tmp_path)
    pictures.write(None)
    shown = re.findall(r"\(_build/pictures/(\S+)\)", (docs / "scale.md").read_text())
    assert shown
    assert set(shown) <= {file.name for file in tmp_path.iterdir()}
    drawn = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    pictures.write(None)
    assert drawn == {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    os.utime(tmp_path / shown[0], (0, 0))
    pictures.write(None)
    assert (tmp_path / shown[0]).stat().st_mtime > 0
