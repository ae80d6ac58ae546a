"""Matrices and certificates in files."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import io, sparse

import prunemodels as pm
from formulations.instance.papers import two_trees
from formulations.programs.matrix import MATRICES
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix, paths_in_tree
from proofs_checks.matrices.sign_matrix import read_matrix
from prunemodels.files.matrices import load_matrix, load_network, save_network

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


@pytest.mark.parametrize("ending", [".npy", ".npz", ".mtx", ".csv"])
def test_the_same_matrix_from_every_format(ending, tmp_path):
    """Entries and shape are those that were written."""
    np.testing.assert_array_equal(load_matrix(write(tmp_path, ending)).dense(), CIRCLE)


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


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("a.txt", "1", pm.errors.InvalidInputError, "has the ending '.txt'; give a matrix as .npy"),
        ("absent.npy", None, pm.errors.BrokenFileError, "there is no file"),
        ("a.npy", "nonsense", pm.errors.BrokenFileError, "cannot be read as a matrix"),
        ("a.npz", "nonsense", pm.errors.BrokenFileError, "cannot be read as a matrix"),
        ("a.mtx", "nonsense", pm.errors.BrokenFileError, "cannot be read as a matrix"),
        ("a.csv", "feature,cost\n1,2\n", pm.errors.BrokenFileError, "cannot be read as a matrix"),
        ("a.csv", "1,nan\n0,1\n", pm.errors.InvalidInputError, "row r0, column c1 is nan"),
        ("a.mps", "nonsense", pm.errors.BrokenFileError, "HiGHS cannot read it"),
    ],
)
def test_what_is_no_matrix_is_refused(name, content, error, message, tmp_path):
    """The file and what is wrong with it are named."""
    place = tmp_path / name
    if content is not None:
        place.write_text(content)
    with pytest.raises(error, match=message):
        load_matrix(place)


def test_an_array_of_objects_is_not_unpickled(tmp_path):
    """A .npy file could carry code in pickled objects: it is refused."""
    place = tmp_path / "a.npy"
    np.save(place, np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(pm.errors.BrokenFileError, match="allow_pickle"):
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
    with pytest.raises(pm.errors.BrokenFileError, match=r"does not hold a tree with paths|not a list of whole numbers"):
        load_network(place)
