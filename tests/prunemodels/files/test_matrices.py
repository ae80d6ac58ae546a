"""Matrices and certificates in files."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse

import prunemodels as pm
from formulations import stored_arrays
from formulations.instance.papers import two_trees
from formulations.programs import files, program_text
from formulations.programs.matrix import MATRICES
from proofs_checks import check_total_unimodularity
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix, paths_in_tree
from proofs_checks.matrices.sign_matrix import read_matrix
from prunemodels.example import problem
from prunemodels.files.matrices import load_matrix, load_network, save_network
from tests.loops import looped

CIRCLE = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])


def write(folder, ending):
    """The same matrix in each format."""
    place = folder / f"circle{ending}"
    writers = {
        ".npy": lambda: np.save(place, CIRCLE),
        ".npz": lambda: sparse.save_npz(place, sparse.csr_array(CIRCLE)),
        ".mtx": lambda: io.mmwrite(place, sparse.coo_array(CIRCLE)),
        ".csv": lambda: np.savetxt(place, CIRCLE, delimiter=",", fmt="%d"),
    }
    writers[ending]()
    return place


LP = """minimize
 obj: + 1.0 x + 1.0 y + 1.0 zz
subject to
 a: + 1.0 x + 1.0 y <= 1
 b: + 1.0 x + 1.0 zz <= 1
 c: + 1.0 y + 1.0 zz <= 1
end
"""
MPS = """NAME t
ROWS
 N obj
 L a
 L b
 L c
COLUMNS
 x a 1 b 1
 y a 1 c 1
 zz b 1 c 1
RHS
 RHS a 1 b 1
ENDATA
"""
"""A cycle of three, whose determinant is 2, with a column to be renamed."""


@pytest.mark.parametrize("ending", [".npy", ".npz", ".mtx", ".csv"])
def test_the_same_matrix_from_every_format(ending, tmp_path):
    """Entries and shape are those that were written."""
    np.testing.assert_array_equal(load_matrix(write(tmp_path, ending)).dense(), CIRCLE)


SOUND = {"data": np.array([1, -1, 1]), "indices": np.array([0, 1, 0]), "indptr": np.array([0, 2, 3]), "shape": np.array([2, 2])}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"indices": np.array([0, 99, 0])}, "entry 1 has the index number 99, which is not among 0 to 1"),
        ({"indices": np.array([0, -5, 0])}, "entry 1 has the index number -5"),
        ({"indices": np.array([0, 0, 0])}, "two entries in row 0, column 0"),
        ({"indices": np.array([0.0, 1.0, 0.5])}, "indices holds numbers of type float64"),
        ({"indptr": np.array([0, 10**6, 10**7])}, "the last pointer is 10000000, of 3 entries"),
        ({"indptr": np.array([0, -10, 3])}, "pointer 1 is -10"),
        ({"indptr": np.array([0, 4, 3])}, "pointer 2 is 3; they must ascend"),
        ({"shape": np.array([10**15, 2])}, "needs 64 PB of memory"),
        ({"shape": np.array([-2, 2])}, "the shape .-2, 2"),
        ({"shape": np.array([2.5, 2])}, "the shape .2.5, 2.0"),
        ({"format": "xyz"}, "the format 'xyz'"),
        ({"format": "bsr"}, "fit no matrix in the format 'bsr'|do not fill"),
        ({"format": "dia", "offsets": np.array([10**9]), "data": np.ones((1, 2))}, "offset 1000000000 lies outside"),
        ({"format": "dia", "offsets": np.array([2**32 - 1]), "data": np.ones((1, 2))}, "offset 4294967295 lies outside"),
        ({"format": "dia", "offsets": np.array([2**64 - 1]), "data": np.ones((1, 2))}, "offset 18446744073709551615 lies"),
        ({"format": "coo", "row": np.array([0, 1, 9]), "col": np.zeros(3, int)}, "fit no matrix in the format 'coo'"),
        ({"format": "coo", "row": np.array([0, 1, 1]), "col": np.zeros(3, int)}, "two entries in row 1, column 0"),
        ({"format": "bsr", "data": np.ones((1, 2, 2)), "indices": np.array([1]), "indptr": np.array([0, 1])}, "index number 1"),
    ],
)
def test_sparse_matrices_that_are_none(damage, message, tmp_path):
    """Indices outside of the matrix, pointers that do not ascend, no whole numbers, two entries at one place."""
    place = tmp_path / "a.npz"
    np.savez(place, **({"format": "csc"} | SOUND))
    np.testing.assert_array_equal(load_matrix(place).dense(), [[1, 1], [-1, 0]])
    np.savez(place, **({"format": "csc"} | SOUND | damage))
    with pytest.raises((pm.errors.BrokenFileError, pm.errors.InvalidInputError), match=message):
        load_matrix(place)


def npy(shape, descr="<f8", data=b""):
    """A .npy file with any header."""
    header = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


MTX = b"%%MatrixMarket matrix "


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"1", "has the ending '.txt'; give a matrix as .npy"),
        *((f"a{ending}", b"nonsense", "cannot be read") for ending in (".npy", ".npz", ".mtx")),
        ("a.csv", b"feature,cost\n1,x\n", "cannot be read as a matrix"),
        ("nan.csv", b"1,nan\n0,1\n", "row r0, column c1 is nan"),
        ("a.mps", b"nonsense", "line 1: 'nonsense' is no section"),
        ("petabytes.npy", npy((10**9, 10**6)), "announces 1,000,000,000,000,000 entries of 8 bytes and has 0 bytes"),
        ("negative.npy", npy((-1, 3)), r"has the shape \(-1, 3\)"),
        ("long.npy", npy((10**30, 2)), "has the shape"),
        ("cut.npy", npy((2, 2))[:30], "EOF"),
        ("junk.npy", b'\x93NUMPY\x01\x00\x10\x00{"descr": __import', "cannot be read"),
        ("no rows.npy", npy((0, 5)), "0 rows and 5 columns: nothing to check"),
        ("no columns.npy", npy((10**9, 0)), "1000000000 rows and 0 columns"),
        ("huge.mtx", MTX + b"coordinate real general\n1000000000000000 2 1\n1 1 1\n", "needs 64 PB"),
        ("entries.mtx", MTX + b"coordinate real general\n3 3 1000000000000\n1 1 1\n", "has 70 bytes; it is damaged"),
        ("dense.mtx", MTX + b"array real general\n1000000 1000000\n1\n", "has 59 bytes; it is damaged"),
        ("complex.mtx", MTX + b"coordinate complex general\n2 2 1\n1 1 1 1\n", "complex numbers"),
        ("text.mtx", MTX + b"array integer general\n2 1\n1\n0 x\n", "'0 x' is no entry"),
        ("half.mtx", MTX + b"array integer general\n2 1\n1\n1.5\n", "'1.5' is no entry"),
        ("more.mtx", MTX + b"coordinate integer general\n2 2 1\n1 1 1\n2 2 1\n", "it has 2 entries, its header announces 1"),
        ("empty.csv", b"", "no data"),
        ("comment.csv", b"1,0\n#,1\n", "could not convert string to float: '#'"),
        # a damaged cell in the first line or column must not make names of the numbers beside it
        ("torn.csv", b"1,5/7,0\n0,1,1\n1,0,1\n", r"its first line has numbers \(1\) and text \('5/7'\)"),
        ("column.csv", b"a,b\n1,1\n1o,1\n", r"its first column has numbers \(1\) and text \('1o'\)"),
        ("twice.csv", b",1,1\n0,1,0\n", "two columns have one name"),
        ("open.csv", b"1.200;1\n0;1\n", r"in 1.200 the decimal mark is not certain: it is 1.200 or 1200"),
        ("mixed.csv", b"1,5;1\n0.5;1\n", "the decimal mark is not certain: other numbers have the other mark"),
        ("text.lp", b"hello world\n", "begins with 'hello world', not with minimize or maximize"),
        ("empty.lp", b"", "begins with ''"),
        ("around.lp", b"garbage\nminimize\n obj: x\nsubject to\n r: x + y <= 1\nend\n", "begins with 'garbage"),
        ("cut.lp", b"minimize\n obj: x\nsubject to\n r: x + y <= 1\n", "does not end with 'end'"),
        ("product.lp", b"minimize\n obj: x\nsubject to\n r: x y <= 1\nend\n", "cannot be read from 'r: x y <= 1' on"),
        ("square.lp", b"minimize\n obj: x + [ x ^ 2 ] / 2\nsubject to\n r: x <= 1\nend\n", "from '. . x . 2 . . 2' on"),
        ("control.lp", b"minimize\n obj: x\nsubject to\n r: x\x00 <= 1\nend\n", "the character '.x00'"),
        ("bytes.lp", b"minimize\n obj: \xe9\xff\nsubject to\n r: x <= 1\nend\n", "is no text .byte 15"),
        ("no rows.lp", b"minimize\n obj: x\nsubject to\nend\n", "0 rows and 1 columns: nothing to check"),
        ("nothing.mps", b"NAME t\nENDATA\n", "0 rows and 0 columns: nothing to check"),
        (
            "sense.mps",
            b"NAME t\nOBJSENSE BIG\nROWS\n E r\nCOLUMNS\n x r 1\nENDATA\n",
            "'BIG' is no line of the section 'OBJSENSE'",
        ),
        ("blanks.mps", b"NAME t\nROWS\n E r 1\nCOLUMNS\n x r 1 1\nENDATA\n", "'E r 1' is no line of the section 'ROWS'"),
        ("cut.mps", b"NAME t\nROWS\n N obj\n E r\nCOLUMNS\n x obj 1 r 1\n", "does not end with ENDATA"),
        ("row.mps", b"NAME t\nROWS\n N obj\n E r\nCOLUMNS\n x obj 1 q 1\nENDATA\n", "line 6: there is no row 'q'"),
        ("twice.mps", b"NAME t\nROWS\n E r\nCOLUMNS\n x r 1\n x r 1\nENDATA\n", "'x' has two entries in the row 'r'"),
        ("value.mps", b"NAME t\nROWS\n N obj\n E r\nCOLUMNS\n x obj 1 r 1x\nENDATA\n", "line 6: '1x' is no finite number"),
        ("bound.mps", b"NAME t\nROWS\n E r\nCOLUMNS\n x r 1\nBOUNDS\n UP B y 1\nENDATA\n", "line 7: there is no column 'y'"),
        ("bound.lp", b"minimize\n obj: x\nsubject to\n r: x <= 1\nbounds\n y <= 1\nend\n", "names 'y' among bounds or integers"),
        ("constant.lp", b"minimize\n obj: x\nsubject to\n r: x + 1 + y <= 1\nend\n", "from 'r: x . 1 . y <= 1' on"),
        ("huge.lp", b"minimize\n obj: x\nsubject to\n r: x <= 1e99999999\nend\n", "from 'r: x <= 1e99999999' on"),
        ("nan.mps", b"NAME t\nROWS\n N obj\n E r\nCOLUMNS\n x obj 1 r nan\nENDATA\n", "'nan' is no finite number"),
        *[
            (f"{name}.lp", LP.replace("zz", name).encode(), f"{name!r} is a number there, rename the variable")
            for name in ("nan", "inf", "Infinity", "info", "NaN_2")
        ],
        ("hexadecimal.lp", LP.replace("1.0 zz", "0x10").encode(), "from .. 0x10. on"),
        *[(f"{name}.mps", MPS.replace("zz", name).encode(), f"the name {name!r} begins a") for name in ("NAME", "objsense")],
        ("a" * 300 + ".npy", None, "there is no file"),
        ("a" * 300 + ".lp", None, "there is no file"),
    ],
)
def test_damaged_matrices_are_refused(name, content, message, tmp_path):
    """Headers that are cut or claim too much, text that is no program, nothing at all: no crash, no claim, no bare error."""
    place = tmp_path / name
    if content is not None:
        place.write_bytes(content)
    with pytest.raises((pm.errors.BrokenFileError, pm.errors.InvalidInputError), match=message):
        load_matrix(place)


@looped("name", ("z", "e1", "E5", "such", "x.1", "RHS", "ROWS", "1", "-1", "nan", "inf", "1e30", "UP", "MAX", "'MARKER'"))
def test_a_variable_may_have_a_strange_name(name, tmp_path):
    """Names that look like numbers or like keywords are names in .mps, and most of them in .lp: the cycle of three is found."""
    (tmp_path / "a.mps").write_text(MPS.replace("zz", name))
    assert not check_total_unimodularity(load_matrix(tmp_path / "a.mps")).holds
    (tmp_path / "a.lp").write_text(LP.replace("zz", name))
    try:
        matrix = load_matrix(tmp_path / "a.lp")
    except pm.errors.BrokenFileError:
        assert name in ("1", "-1", "nan", "inf", "1e30", "MAX")
    else:
        assert not check_total_unimodularity(matrix).holds


def test_what_highs_reads_otherwise_is_refused(tmp_path, monkeypatch):
    """A file of which HiGHS reads fewer columns or entries than it has is refused, whatever HiGHS takes its names for."""
    monkeypatch.setattr(program_text, "RESERVED", ())
    (tmp_path / "a.mps").write_text(MPS.replace("zz", "name"))
    with pytest.raises(pm.errors.BrokenFileError, match="has 3 rows, 3 columns and 6 entries, HiGHS reads 3, 2 and 4; rename"):
        load_matrix(tmp_path / "a.mps")


def test_an_archive_that_unpacks_to_a_thousand_times_its_size(tmp_path, monkeypatch):
    """Zeros that take a thousandth of their size are refused before they are unpacked."""
    monkeypatch.setattr(stored_arrays, "HARMLESS", 1 << 20)
    place = tmp_path / "bomb.npz"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("data.npy", "w") as member:
        member.write(npy((1 << 25,), "|u1"))
        for _ in range(1 << 5):
            member.write(bytes(1 << 20))
    assert place.stat().st_size < 100_000
    with pytest.raises(pm.errors.BrokenFileError, match="would become 34 MB, more than 100 times its size"):
        load_matrix(place)


def test_an_array_of_objects_is_not_unpickled(tmp_path):
    """A .npy file could carry code in pickled objects: it is refused."""
    place = tmp_path / "a.npy"
    np.save(place, np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(pm.errors.BrokenFileError, match="holds Python objects"):
        load_matrix(place)


def test_certificates_are_written_and_read(tmp_path):
    """A tree with its paths comes back as it was, and is accepted."""
    matrix = read_matrix([[1, 1, 0], [0, 1, 1]])
    network = paths_in_tree(matrix, np.array([0, 1]), np.array([1, 2]))
    assert network is not None
    save_network(network, tmp_path / "tree.npz")
    again = load_network(tmp_path / "tree.npz")
    for name in ("tail", "head", "start", "end"):
        np.testing.assert_array_equal(getattr(again, name), getattr(network, name))
    assert again.transposed is False
    assert check_network_matrix(matrix, again)
    flipped = NetworkMatrix(network.tail, network.head, network.start, network.end, transposed=True)
    save_network(flipped, tmp_path / "flipped.npz")
    assert load_network(tmp_path / "flipped.npz").transposed is True


@pytest.mark.parametrize("broken", ["absent", "text", "other arrays", "real numbers"])
def test_what_is_no_certificate_is_refused(broken, tmp_path):
    """Absent, no archive, other arrays, vertices that are no whole numbers."""
    place = tmp_path / "tree.npz"
    if broken == "text":
        place.write_text("nonsense")
    if broken == "other arrays":
        np.savez(place, x=np.zeros(1))
    if broken == "real numbers":
        np.savez(place, tail=np.zeros(1), head=np.ones(1), start=np.zeros(1), end=np.zeros(1), transposed=False)
    with pytest.raises(pm.errors.BrokenFileError, match=r"there is no file|does not hold a tree|not a list of whole"):
        load_network(place)


@pytest.mark.parametrize(
    ("text", "rows", "columns"),
    [
        ("1,1,0\n0,1,1\n1,0,1\n", ["r0", "r1", "r2"], ["c0", "c1", "c2"]),
        ("x,y,z\n1,1,0\n0,1,1\n1,0,1\n", ["r0", "r1", "r2"], ["x", "y", "z"]),
        (",x,y,z\nu,1,1,0\nv,0,1,1\nw,1,0,1\n", ["u", "v", "w"], ["x", "y", "z"]),
        (",0,1,2\n0,1,1,0\n1,0,1,1\n2,1,0,1\n", ["0", "1", "2"], ["0", "1", "2"]),
        ("\ufeffrow;x;y;z\r\nu;1,0;1,0;0\r\nv;0;1;1\r\nw;1;0;1\r\n", ["u", "v", "w"], ["x", "y", "z"]),
    ],
)
def test_csv_files_with_names_and_without(tmp_path: Path, text: str, rows: list[str], columns: list[str]) -> None:
    """A header, an index or neither, as ``DataFrame.to_csv`` writes them; semicolons, decimal commas, a byte-order mark."""
    (tmp_path / "m.csv").write_bytes(text.encode())
    matrix = load_matrix(tmp_path / "m.csv")
    assert matrix.dense().tolist() == CIRCLE.tolist()
    assert (list(matrix.rows), list(matrix.columns)) == (rows, columns)


@pytest.mark.parametrize("ending", [".mps", ".lp"])
def test_the_rows_of_a_program(ending, tmp_path):
    """A linear program's file gives its matrix with its names."""
    program = MATRICES["IP1"](two_trees(), lam=1)
    place = tmp_path / f"ip1{ending}"
    pm.programs.write_program(program, place)
    matrix = load_matrix(place)
    assert list(matrix.rows) == list(program.rows)
    assert list(matrix.columns) == list(program.columns)
    np.testing.assert_array_equal(matrix.dense(), program.matrix.toarray())


@pytest.mark.parametrize("ending", ["lp", "mps"])
def test_a_program_is_written_whole_or_not_at_all(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped in the middle, the file that was there stays, and nothing else does."""
    program = pm.programs.solve_relaxation(problem, 0.01).program
    place = tmp_path / f"model.{ending}"
    pm.programs.write_program(program, place)
    before = place.read_bytes()

    def stopped(lp: object) -> Iterator[str]:
        yield "half a file"
        raise KeyboardInterrupt

    monkeypatch.setattr(files, f"_{ending}_text", stopped)
    with pytest.raises(KeyboardInterrupt):
        pm.programs.write_program(program, place)
    assert place.read_bytes() == before
    assert os.listdir(tmp_path) == [place.name]


def test_a_matrix_between_semicolons_has_one_decimal_mark(tmp_path):
    """Decimal commas decide that points are for thousands: by itself 1.200 was read as 1.2."""
    (tmp_path / "a.csv").write_text(";x,1;y\nr;1.200;-1,0\n")
    matrix = load_matrix(tmp_path / "a.csv")
    assert (matrix.other, list(matrix.columns)) == ((0, 0, 1200), ["x,1", "y"])
    (tmp_path / "a.csv").write_text("1,0;-1,0\n0;1,5\n")
    assert load_matrix(tmp_path / "a.csv").other == (1, 1, Fraction(3, 2))
