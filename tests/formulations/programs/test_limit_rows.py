"""Limits as rows of a program, and programs in files."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path

import highspy
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from formulations import BrokenFileError, CostItems, InvalidInputError, Pruning, PruningProblem
from formulations.instance.limit import Limit
from formulations.programs import files as program_files
from formulations.programs.files import write_program
from formulations.programs.limit_rows import limit_rows
from formulations.programs.linear_program import FOR_ALL, Block, LinearProgram, Names
from formulations.programs.matrix import MATRICES
from formulations.programs.program_text import read_program
from prunemodels.models.costs import items_from_table
from solvers.brute_force import all_prunings
from solvers.programs.highs import highs
from solvers.within.params import WithinParams
from solvers.within.prover import LagrangianOracle
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.cases import instance
from tests.solvers.programs.test_engines import program
from tests.solvers.within.limits.cases import mean, prices, slow_uses, two_wards


@looped("seed", range(16))
def test_uses_are_what_examples_use(seed: int) -> None:
    """Exact uses of random prunings equal those of walking every example down; floats agree; the plain limit is the cost."""
    problem = random_problem(seed, rounded=seed % 5 == 0)
    rng = np.random.default_rng(seed)
    members = np.flatnonzero(rng.random(problem.usage.n_rows) < 0.5)
    members = members if members.size else np.array([0])
    share = {problem.costs.names[0]: Fraction(2, 7)}
    limits = [
        Limit(9, rows=problem.usage.rows[members]),
        Limit(9),
        Limit(9, share, name="other"),
        Limit(9, "splits"),
        Limit(9, each=True),
    ]
    rows = limit_rows(problem, [*limits, Limit(10**6, "leaves"), Limit(9, "items")])
    oracle, every = LagrangianOracle(rows, WithinParams()), all_prunings(problem).kept
    for kept in every[rng.integers(0, len(every), 6)]:
        pruning = Pruning(problem, kept)
        exact = rows.uses(pruning)
        paid = slow_uses(problem, kept, prices(problem), evaluated=True)
        assert exact[0] == mean(problem, paid, members)
        other = slow_uses(problem, kept, share, evaluated=False)
        assert exact[2] == mean(problem, other, np.arange(problem.usage.n_rows))
        assert exact[3] == pruning.n_splits
        dearest = [use for use, row in zip(exact, rows.rows, strict=True) if row.limit == 4]
        assert set(dearest) == set(paid)
        assert exact[-2] == pruning.is_leaf.sum()
        asked = {m for h in np.flatnonzero(kept) for m in problem.costs.needs[int(problem.ensemble.feature[h])]}
        assert exact[-1] == sum(problem.costs.prices[m] > 0 for m in asked)
        constant = [float(rows.meters[row.limit].constant) for row in rows.rows]
        np.testing.assert_allclose(oracle.uses(kept) + constant, [float(c) for c in exact], rtol=1e-12, atol=1e-12)
        if problem.numbers.exact:
            assert exact[1] == pruning.exact_cost


def test_weights_that_do_not_fit_64_bits_are_added_exactly() -> None:
    """Weights of 17 digits over many orders of magnitude: the mean is the fraction of the decimals."""
    weights = np.array([0.12345678901234567, 98765432.123456789, 1e-9, 3.0])
    problem = two_wards(sample_weight=weights)
    rows = limit_rows(problem, [Limit(9, rows=[0, 2, 3])])
    w = [Fraction(repr(float(x))) for x in weights]
    assert rows.uses(Pruning.unpruned(problem)) == ((6 * w[0] + 2 * w[2] + 2 * w[3]) / (w[0] + w[2] + w[3]),)


def test_rows_of_weight_0_are_nobody() -> None:
    """A limit may name rows of weight 0, which count nowhere; of these alone there is no mean."""
    problem = two_wards(sample_weight=[0, 2, 1, 1])
    assert limit_rows(problem, [Limit(5, rows=[0, 1])]).uses(Pruning.unpruned(problem)) == (6,)
    with pytest.raises(InvalidInputError, match="has no row of positive weight"):
        limit_rows(problem, [Limit(5, rows=[0])])


def test_examples_routed_alike_are_one_row() -> None:
    """A row for each way through the forest, whatever the number of examples that take it."""
    problem = instance("iris")
    rows = limit_rows(problem, [Limit(3, each=True)])
    pruning = Pruning.unpruned(problem)
    assert len(rows.rows) < problem.usage.n_rows
    assert set(rows.uses(pruning)) == set(slow_uses(problem, pruning.kept, prices(problem), evaluated=True))


def test_limits_are_read_from_text() -> None:
    """As the command line takes them."""
    assert repr(Limit.parse("30")) == "Limit(cost <= 30)"
    assert Limit.parse("minutes = 30").of == "minutes"
    assert Limit.parse("mri<=0.3").at_most == Fraction(3, 10)
    with pytest.raises(InvalidInputError, match="write a number, as 'minutes=30'"):
        Limit.parse("minutes=many")


def test_a_column_names_the_rows() -> None:
    """A column of the cost sample that holds 0 and 1 is a mask; another one is not."""
    problem = two_wards()
    table = pd.DataFrame(np.asarray(problem.X), columns=["ward", "scan", "blood"]).assign(ward=[0, 0, 1, 1], scan=[0, 1, 0, 2])
    problem = PruningProblem.build(problem.ensemble, problem.errors, table, problem.costs)
    assert limit_rows(problem, [Limit(1, rows="ward")]).rows[0].members.tolist() == [2, 3]
    with pytest.raises(InvalidInputError, match="the column 'scan' is no mask"):
        limit_rows(problem, [Limit(1, rows="scan")])


def test_currencies_come_from_tables_and_by_hand() -> None:
    """Columns cost_... of a table of prices; amounts by name or one for each item."""
    table = pd.DataFrame({"feature": ["a", "b"], "cost": [1, 2], "cost_minutes": [5, None]})
    assert items_from_table(table).currencies == {"minutes": (Fraction(5), Fraction(0))}
    both = items_from_table(table).with_currency("ml", [0, 10])
    assert both.of_made([[0, 1]]).currencies == {"minutes": (5, 0), "ml": (0, 10)}
    for name, amounts, message in (
        ("a", [1, 2], "has the name of an item"),
        ("splits", [1, 2], "has the name of a word of its own"),
        ("ml", [1], "1 amounts of 'ml' for 2 items"),
        ("ml", {"c": 1}, "has an amount for 'c', which is no item"),
        ("ml", [1, -2], "ml of 'b' is -2, negative"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            CostItems.plain([1, 2], ["a", "b"]).with_currency(name, amounts)
    shared = pd.DataFrame({"feature": ["a", "b"], "cost": [1, 1], "item": ["x", "x"], "cost_ml": [5, 6]})
    with pytest.raises(InvalidInputError, match="'cost_ml' of the item 'x' is 6"):
        items_from_table(shared)


INF = np.inf


def awkward() -> LinearProgram:
    """All kinds of rows, bounds and names that the formats tell apart; numbers that 15 digits do not hold."""
    a = np.array
    return LinearProgram(
        a([0.1, -1 / 3, 0, 1e-17]),
        1 / 7,
        sparse.csr_array(
            a([[1 / 3, -1, 0, 0], [1, 0, 0, 0], [0, 1, 1.2345678901234567, 0], [0, 0, 3, 0], [0] * 4, [1e-7, 0, 0, 0]])
        ),
        a([-INF, 1 / 3, -INF, 0.7, -INF, -INF]),
        a([0.3, 1 / 3, 1.1, INF, INF, 3]),
        a([0, -INF, 0, -INF]),
        a([1, -2 / 3, INF, INF]),
        a([True, False, True, False]),
        Names((Block("z", (a([0]),)), Block("w_t", (a([0]), a([1]), a([3]))), Block("w", (a([FOR_ALL, 2]), a([2, 7]))))),
        Names((Block("leaf", (a([1, 2, 3, 4]),)), Block("coupling", (a([1]), a([FOR_ALL]))), Block("budget", ()))),
    )


def assert_same(one: LinearProgram, other: LinearProgram) -> None:
    """Equal bit for bit."""
    assert one.shape == other.shape
    assert one.offset == other.offset
    for field in ("cost", "row_lower", "row_upper", "lower", "upper", "integer"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field), err_msg=field)
    assert abs(one.matrix - other.matrix).sum() == 0
    assert list(one.rows) == list(other.rows)
    assert list(one.columns) == list(other.columns)


@pytest.mark.parametrize("ending", ["lp", "mps", "LP"])
def test_awkward_programs_survive(ending: str, tmp_path: Path) -> None:
    """Written and read, a program is the same bit for bit: numbers, bounds, offset, integers, names, order."""
    write_program(awkward(), tmp_path / f"a.{ending}")
    assert_same(read_program(tmp_path / f"a.{ending}"), awkward())


@pytest.mark.parametrize("ending", ["lp", "mps"])
def test_the_constant_is_a_column(ending: str, tmp_path: Path) -> None:
    """The file has the offset as the cost of a column of its own; a last column that only bears the name stays a column."""
    file = tmp_path / f"a.{ending}"
    lp = program([2, 3], [[1, 1]], [1], [1], [0, 0], [1, 1], offset=1 / 3)
    lp = dataclasses.replace(lp, columns=Names((Block("x", ()), Block("constant", ()))))
    write_program(lp, file)
    solver = highspy.Highs()
    solver.silent()
    solver.readModel(str(file))
    read = solver.getLp()
    assert (read.offset_, list(read.col_names_), list(read.col_cost_)) == (0, ["x", "constant", "constant_"], [2, 3, 1 / 3])
    assert_same(read_program(file), lp)
    fixed, apart = {"lower": np.array([0.0, 1.0])}, {"matrix": sparse.csr_array([[1.0, 0.0]])}
    both = fixed | apart
    for change in (fixed, apart, both | {"integer": np.array([False, True])}, both | {"upper": np.array([1.0, 2.0])}):
        other = dataclasses.replace(lp, offset=0.0, **change)
        write_program(other, file)
        assert_same(read_program(file), other)


@pytest.mark.slow_cases("IP3")
@looped("chunk", [1 << 18, 3])
@looped("ending", ["lp", "mps"])
@pytest.mark.parametrize("name", MATRICES)
def test_formulations_survive(name: str, ending: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each formulation comes back bit for bit, however many pieces the text is written in."""
    monkeypatch.setattr(program_files, "CHUNK", chunk)
    options = {"IP0": {}, "LP1": {"budget": 2}}.get(name, {"lam": 0.3})
    for seed in range(8):
        problem = random_problem(seed)
        if name == "IP2":
            problem = problem.only_tree(0)
        lp = MATRICES[name](problem, **options)
        write_program(lp, tmp_path / f"a.{ending}")
        assert_same(read_program(tmp_path / f"a.{ending}"), lp)


def test_ranged_rows_go_into_mps_only(tmp_path: Path) -> None:
    """Two different sides come back from .mps, and .lp, which lacks them, is refused with the remedy."""
    lp = program([1, 1], [[1, 1], [1, -1]], [-1, -INF], [1.1, 2], [0, 0], [1, 1])
    write_program(lp, tmp_path / "a.mps")
    assert_same(read_program(tmp_path / "a.mps"), lp)
    with pytest.raises(InvalidInputError, match=r"row r\[0\] has two sides, .*write an .mps file"):
        write_program(lp, tmp_path / "a.lp")
    assert not (tmp_path / "a.lp").exists()


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("shape", [(0, 2), (2, 2)])
def test_empty_programs_survive(ending: str, shape: tuple[int, int], tmp_path: Path) -> None:
    """No rows, or rows without entries, are written and read."""
    rows, columns = shape
    lp = program(np.ones(columns), np.zeros(shape), np.full(rows, -INF), np.ones(rows), np.zeros(columns), np.ones(columns))
    write_program(lp, tmp_path / f"a.{ending}")
    assert_same(read_program(tmp_path / f"a.{ending}"), lp)


def test_long_rows_are_broken(tmp_path: Path) -> None:
    """No line of an .lp file of the budget formulation is longer than CPLEX reads (560 characters)."""
    n = 3000
    lp = program(np.ones(n), np.full((1, n), 1 / 3), [-INF], [1], np.zeros(n), np.ones(n), offset=-2.5)
    write_program(lp, tmp_path / "a.lp")
    assert max(map(len, (tmp_path / "a.lp").read_text().splitlines())) < 560
    assert_same(read_program(tmp_path / "a.lp"), lp)


@looped("sense", ("MAX", "\n MAX", "\n    MAXIMIZE", "MAXIMIZE", "maximise", "MIN", "\n minimize", None))
def test_a_maximisation_is_turned_round(sense: str | None, tmp_path: Path) -> None:
    """It is read as the minimisation of the negative; HiGHS reads OBJSENSE MAXIMIZE in one line as a minimisation."""
    text = (
        f"NAME t\nOBJSENSE {sense}\nROWS\n N obj\n L row\nCOLUMNS\n a obj 3 row 1\n b obj 2 row 1\nRHS\n S row 1 obj 4\nENDATA\n"
    )
    (tmp_path / "a.mps").write_text(text)
    (tmp_path / "a.lp").write_text("max\n obj: 3 a + 2 b - 4\nst\n row: a + b <= 1\nend\n")
    lp = read_program(tmp_path / ("a.lp" if sense is None else "a.mps"))
    sign = -1 if sense is None or "max" in sense.lower() else 1
    assert (lp.cost.tolist(), lp.offset) == ([sign * 3, sign * 2], -sign * 4)
    assert (list(lp.columns), list(lp.rows)) == (["a", "b"], ["row"])
    assert highs(lp).objective == min(sign * -1, sign * -4)


def test_bad_files_are_refused_by_name(tmp_path: Path) -> None:
    """Unknown endings, missing folders and files, and nonsense in a file are refused, naming the file."""
    lp = awkward()
    with pytest.raises(InvalidInputError, match=r"'a\.txt' ends in '\.txt'; name the file \.lp or \.mps"):
        write_program(lp, tmp_path / "a.txt")
    with pytest.raises(InvalidInputError, match="name the file"):
        read_program(tmp_path / "a")
    with pytest.raises(BrokenFileError, match=r"cannot write .*nowhere.*No such file"):
        write_program(lp, tmp_path / "nowhere" / "a.lp")
    with pytest.raises(BrokenFileError, match=r"cannot read .*missing\.mps.*No such file"):
        read_program(tmp_path / "missing.mps")
    (tmp_path / "folder.lp").mkdir()
    with pytest.raises(BrokenFileError, match="cannot read"):
        read_program(tmp_path / "folder.lp")
    for ending in ("lp", "mps"):
        (tmp_path / f"nonsense.{ending}").write_text("what is this? 1 2 3 <= <= : end\n")
        with pytest.raises(BrokenFileError, match=rf"nonsense\.{ending} is no linear program"):
            read_program(tmp_path / f"nonsense.{ending}")


@pytest.mark.parametrize("ending", [".lp", ".mps"])
def test_coefficients_that_no_file_can_hold_are_refused(tmp_path, ending):
    """A price times an enormous lambda is infinite: nothing is written."""
    lp = MATRICES["IP3"](random_problem(0), lam=0.1)
    lp = dataclasses.replace(lp, cost=np.full(lp.cost.shape, np.inf))
    with pytest.raises(InvalidInputError, match="the program's cost has the coefficient inf; give a smaller lambda"):
        write_program(lp, tmp_path / f"program{ending}")
    assert not list(tmp_path.iterdir())


def test_sets_of_numbers_are_not_called_like_rows_and_columns(tmp_path: Path) -> None:
    """Where they are, HiGHS read other numbers: the sides 5 and 6 as 0 and 0. Our own files choose other names for them."""
    sound = (
        "NAME t FREE\nROWS\n N obj\n L RHS\n L r\nCOLUMNS\n BND obj 1\n BND RHS 1\n BND r 1\nRHS\n S RHS 5\n S r 6\n"
        "RANGES\n S r 2\nBOUNDS\n UP S BND 3\nENDATA\n"
    )
    file = tmp_path / "a.mps"
    file.write_text(sound)
    program = read_program(file)
    assert (program.row_lower.tolist(), program.row_upper.tolist(), program.upper.tolist()) == ([-INF, 4], [5, 6], [3])
    for set_name, other in (("S RHS", "RHS RHS"), ("S r 2", "RHS r 2"), ("UP S", "UP BND")):
        file.write_text(sound.replace(set_name, other))
        with pytest.raises(BrokenFileError, match=r"the set '\w+' has the name of a row or column; rename the set"):
            read_program(file)
    names = Names(tuple(Block(name, ()) for name in ("obj", "RHS", "RANGE", "RHS_")))
    wide = dataclasses.replace(
        awkward(),
        matrix=sparse.csr_array(np.eye(4)),
        row_lower=np.zeros(4),
        row_upper=np.arange(1.0, 5),
        rows=names,
        columns=Names((Block("BND", ()), Block("obj", ()), Block("y", (np.arange(2),)))),
    )
    write_program(wide, file)
    again = read_program(file)
    for field in ("cost", "row_lower", "row_upper", "lower", "upper"):
        np.testing.assert_allclose(getattr(again, field), getattr(wide, field), rtol=1e-15)
    assert list(again.rows) == list(names)


def test_or_tools_reads_the_same_mps(tmp_path: Path) -> None:
    """OR-Tools, a stranger to HiGHS, reads the same numbers, names, bounds and integers, and a column for the offset."""
    from ortools.linear_solver.python import model_builder_helper

    lp = awkward()
    write_program(lp, tmp_path / "a.mps")
    model = model_builder_helper.ModelBuilderHelper()
    assert model.import_from_mps_file(str(tmp_path / "a.mps"))
    columns, rows = range(model.num_variables()), range(model.num_constraints())
    *columns, last = columns
    assert (model.objective_offset(), model.var_name(last), model.var_objective_coefficient(last)) == (0, "constant", lp.offset)
    assert (model.var_lower_bound(last), model.var_upper_bound(last)) == (1, 1)
    assert not model.maximize()
    for field, read in {
        "cost": model.var_objective_coefficient,
        "lower": model.var_lower_bound,
        "upper": model.var_upper_bound,
        "integer": model.var_is_integral,
    }.items():
        np.testing.assert_array_equal([read(j) for j in columns], getattr(lp, field), err_msg=field)
    low, high = ([f(i) for i in rows] for f in (model.constraint_lower_bound, model.constraint_upper_bound))
    np.testing.assert_array_equal(np.where(np.array(low) == -1e30, -INF, low), lp.row_lower)
    np.testing.assert_array_equal(high, lp.row_upper)
    for i in rows:
        read_row = dict(zip(model.constraint_var_indices(i), model.constraint_coefficients(i), strict=True))
        own = lp.matrix[[i]].tocoo()
        assert read_row == dict(zip(own.coords[1].tolist(), own.data.tolist(), strict=True))
    assert [model.var_name(j) for j in columns] == ["z(0)", "w_t(0,1,3)", "w(all,2)", "w(2,7)"]
