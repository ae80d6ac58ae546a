"""Programs in files are read as they are meant, or refused by name. Values by hand, from the definitions of the formats."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from formulations.errors import BrokenFileError
from formulations.programs.program_text import read_program

INF = float("inf")

MPS = """NAME t
ROWS
 N obj
 L row
COLUMNS
 x obj 1
 x row 1
 y obj 2
 y row 1
RHS
 RHS row 4
BOUNDS
 UP BND x 3
ENDATA
"""
"""minimise  x + 2 y,  x + y <= 4,  0 <= x <= 3,  y >= 0."""

LP = "minimize\n obj: x + 2 y\nsubject to\n row: x + y <= 4\nbounds\n x <= 3\nend\n"  # the same

PLAIN = {"cost": [1, 2], "offset": 0, "sides": [-INF, 4], "lower": [0, 0], "upper": [3, INF], "integer": [False, False]}


def marked(text: str) -> str:
    """With x between markers of integers."""
    return text.replace(" x obj", " M 'MARKER' 'INTORG'\n x obj").replace(" y obj", " M 'MARKER' 'INTEND'\n y obj")


UPWARDS = {"cost": [-1, -2], "offset": 0}
READ: dict[str, tuple[str, str, dict[str, object]]] = {
    "as it is": ("mps", MPS, {}),
    "as it is, too": ("lp", LP, {}),
    "a sense on one line": ("mps", MPS.replace("ROWS", "OBJSENSE MAXIMIZE\nROWS"), UPWARDS),
    "a sense below": ("mps", MPS.replace("ROWS", "OBJSENSE\n    MAX\nROWS"), UPWARDS),
    "a sense below, at the margin": ("mps", MPS.replace("ROWS", "OBJSENSE\nMAX\nROWS"), UPWARDS),
    "a sense in small letters": ("mps", MPS.replace("ROWS", "objsense max\nROWS"), UPWARDS),
    "a sense behind the rows": ("mps", MPS.replace("COLUMNS", "OBJSENSE\n MAX\nCOLUMNS"), UPWARDS),
    "a sense in front": ("mps", "OBJSENSE\n MIN\n" + MPS, {}),
    "the side of the objective": ("mps", MPS.replace("RHS row", "RHS obj -7\n RHS row"), {"offset": 7}),
    "and upwards": (
        "mps",
        MPS.replace("RHS row", "RHS obj -7\n RHS row").replace("ROWS", "OBJSENSE MAX\nROWS"),
        UPWARDS | {"offset": -7},
    ),
    "text behind the name": ("mps", MPS.replace("NAME t", "NAME   AFIRO   from netlib, optimum -464.75"), {}),
    "two free rows": ("mps", MPS.replace(" N obj", " N obj\n N other").replace(" y obj 2", " y other 9 obj 2"), {}),
    "a range of an equation": ("mps", MPS.replace(" L", " E").replace("BOUNDS", "RANGES\n R row 2\nBOUNDS"), {"sides": [4, 6]}),
    "a range downwards": ("mps", MPS.replace(" L", " E").replace("BOUNDS", "RANGES\n R row -2\nBOUNDS"), {"sides": [2, 4]}),
    "a range of a side": ("mps", MPS.replace(" L", " G").replace("BOUNDS", "RANGES\n R row -2\nBOUNDS"), {"sides": [4, 6]}),
    "below a side": ("mps", MPS.replace("BOUNDS", "RANGES\n R row -2\nBOUNDS"), {"sides": [2, 4]}),
    "no names of sets": ("mps", MPS.replace("UP BND", "UP").replace(" RHS row", " row"), {}),
    "Fortran's exponents": ("mps", MPS.replace("x obj 1", "x obj 1.0D0").replace("row 4", "row 4d+00"), {}),
    "binary": ("mps", MPS.replace("UP BND x 3", "BV BND x"), {"upper": [1, INF], "integer": [True, False]}),
    "integers": ("mps", marked(MPS), {"integer": [True, False]}),
    "free": ("mps", MPS.replace("UP BND x 3", "FR BND x"), {"lower": [-INF, 0], "upper": [INF, INF]}),
    "without a lower bound": (
        "mps",
        MPS.replace("UP", "MI BND x\n UP").replace("x 3", "x -3"),
        {"lower": [-INF, 0], "upper": [-3, INF]},
    ),
    "fixed": ("mps", MPS.replace("UP BND", "FX BND"), {"lower": [3, 0]}),
    "a sense by another word": ("lp", LP.replace("minimize", "MAXIMUM"), UPWARDS),
    "a constant": ("lp", LP.replace("2 y", "2 y - 7"), {"offset": -7}),
    "HiGHS' empty sections": ("lp", LP.replace("end", "bin\ngen\nsemi\nend"), {}),
    "a general integer": ("lp", LP.replace("end", "general\n x\nend"), {"integer": [True, False]}),
    "binary in words": (
        "lp",
        LP.replace("x <= 3", "y >= 0").replace("end", "binary\n x\nend"),
        {"upper": [1, INF], "integer": [True, False]},
    ),
    "a side on the left": ("lp", LP.replace("x <= 3", "3 >= x"), {}),
    "a chain": ("lp", LP.replace("x <= 3", "-1 <= x <= 3"), {"lower": [-1, 0]}),
}


@pytest.mark.parametrize("case", READ)
def test_programs_are_read_as_the_formats_say(tmp_path: Path, case: str) -> None:
    """Senses, constants, sides, ranges, bounds and integers by hand."""
    ending, text, changes = READ[case]
    (tmp_path / f"a.{ending}").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lp = read_program(tmp_path / f"a.{ending}")
    sides = [float(lp.row_lower[0]), float(lp.row_upper[0])]
    found = {
        "cost": lp.cost.tolist(),
        "offset": lp.offset,
        "sides": sides,
        "lower": lp.lower.tolist(),
        "upper": lp.upper.tolist(),
    }
    assert found | {"integer": lp.integer.tolist()} == PLAIN | changes
    assert lp.matrix.toarray().tolist() == [[1, 1]]


REFUSED = {
    "a sense that is none": (
        "mps",
        MPS.replace("ROWS", "OBJSENSE\n UPWARDS\nROWS"),
        "line 3: 'UPWARDS' is no line of the section",
    ),
    "a sense as a section": ("mps", MPS.replace("ROWS", "MAX\nROWS"), "line 2: 'MAX' is no section"),
    "another objective": ("mps", MPS.replace("ROWS", "OBJNAME\n obj\nROWS"), "'OBJNAME' is no section"),
    "names with blanks": (
        "mps",
        MPS.replace("row", "my row"),
        "line 4: 'L my row' is no line of the section 'ROWS'; names .* no blanks",
    ),
    "semi-continuous": ("mps", MPS.replace("UP BND", "SC BND"), "'SC BND x 3' is no line of the section 'BOUNDS'"),
    "special ordered sets": ("mps", MPS.replace("ENDATA", "SOS1\n S1 SOS s\n x 1\nENDATA"), "'SOS1' is no section"),
    "squares": ("mps", MPS.replace("ENDATA", "QUADOBJ\n x x 2\nENDATA"), "'QUADOBJ' is no section"),
    "squares in rows": ("mps", MPS.replace("ENDATA", "QCMATRIX row\n x x 2\nENDATA"), "'QCMATRIX row' is no section"),
    "indicators": ("mps", MPS.replace("ENDATA", "INDICATORS\n IF row x 1\nENDATA"), "'INDICATORS' is no section"),
    "ranges first": ("mps", MPS.replace("RHS\n", "RANGES\n R row 2\nRHS\n", 1), "RANGES stand before RHS"),
    "two sides": ("mps", MPS.replace("RHS row 4", "RHS row 4\n RHS row 9"), "'row' has two numbers in RHS"),
    "two sets of sides": ("mps", MPS.replace("RHS row 4", "RHS row 4\n OTHER row 9"), "RHS has two sets, 'RHS' and 'OTHER'"),
    "two ranges": ("mps", MPS.replace("BOUNDS", "RANGES\n R row 2\n R row 3\nBOUNDS"), "'row' has two numbers in RANGES"),
    "small letters": ("mps", MPS.lower(), 'no linear program .* Entry "n obj" in ROWS section'),
    "semi-continuous, too": ("lp", LP.replace("end", "semi\n x\nend"), "cannot be read from 'x' on, in the section 'semi'"),
    "sets, too": ("lp", LP.replace("end", "sos\n s: S1:: x:1 y:2\nend"), "its sections are not an objective"),
    "indicators, too": ("lp", LP.replace("bounds", " i: x = 1 -> y <= 2\nbounds"), "cannot be read from '-> y <= 2'"),
    "squares, too": ("lp", LP.replace("2 y", "2 y + [ x^2 ] / 2"), r"cannot be read from '\+ \[ x\^2"),
    "a cost twice": ("lp", LP.replace("2 y", "2 y + x"), "the objective has 'x' twice; add up its costs"),
    "binary and bounded": ("lp", LP.replace("end", "binary\n x\nend"), "calls 'x' binary and bounds it by 0 and 3; drop one"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_linear_program_has_is_refused_by_name(tmp_path: Path, case: str) -> None:
    """HiGHS reads many of these as programs that they are not, without a word."""
    ending, text, message = REFUSED[case]
    (tmp_path / f"a.{ending}").write_text(text)
    with pytest.raises(BrokenFileError, match=message):
        read_program(tmp_path / f"a.{ending}")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.mps", MPS.replace("x 3", "x -3"), r"inconsistent bounds"),
        ("a.mps", MPS.replace("x 3", "x 3\n UP BND x 9"), r"x"),
        ("a.lp", LP.replace("x + y <=", "x + y + x <="), r"values summed to 2"),
        ("a.lp", LP.replace("x + y <=", "x + y - x <="), r"1 cancellation"),
    ],
)
def test_what_highs_warns_of_is_passed_on(tmp_path: Path, name: str, text: str, message: str) -> None:
    """These are programs; a terminal shows the warning."""
    (tmp_path / name).write_text(text)
    with pytest.warns(RuntimeWarning, match=f"HiGHS reads it, but warns: .*{message}"):
        assert read_program(tmp_path / name).shape == (1, 2)


def test_highs_reads_its_own_files_and_so_do_we(tmp_path: Path) -> None:
    """Random programs that HiGHS writes in both formats, with empty rows, come back as they were."""
    highspy = pytest.importorskip("highspy")
    rng = np.random.default_rng(0)
    kinds = [(0, INF), (-INF, INF), (0, 1), (2.5, 2.5), (-3, 7), (-INF, 4), (-2, -1)]
    for _ in range(12):
        given, n = highspy.Highs(), 4
        given.silent()
        for j in range(n):
            given.addVar(*kinds[rng.integers(len(kinds))])
            given.changeColCost(j, float(rng.integers(1, 4)) / 8)
            given.passColName(j, f"x{j}")
            if rng.random() < 0.3:
                given.changeColIntegrality(j, highspy.HighsVarType.kInteger)
        for i in range(3):
            sides = [(-INF, 3.5), (0.25, INF), (2, 2)][rng.integers(3)]
            columns = np.flatnonzero(rng.random(n) < 0.6).astype(np.int32)
            given.addRow(*sides, len(columns), columns, rng.integers(1, 5, len(columns)) / 4)
            given.passRowName(i, f"r{i}")
        given.changeObjectiveOffset(float(rng.integers(-2, 3)))
        if rng.random() < 0.5:
            given.changeObjectiveSense(highspy.ObjSense.kMaximize)
        truth = given.getLp()
        sign = -1.0 if truth.sense_ == highspy.ObjSense.kMaximize else 1.0
        for ending in ("lp", "mps"):
            given.writeModel(str(tmp_path / f"a.{ending}"))
            lp = read_program(tmp_path / f"a.{ending}")
            order = [list(lp.columns).index(f"x{j}") for j in range(n)]
            assert (sign * lp.cost[order]).tolist() == list(truth.col_cost_)
            assert (lp.lower[order].tolist(), lp.upper[order].tolist()) == (list(truth.col_lower_), list(truth.col_upper_))
            assert (lp.row_lower.tolist(), lp.row_upper.tolist()) == (list(truth.row_lower_), list(truth.row_upper_))
            assert lp.offset == sign * truth.offset_
