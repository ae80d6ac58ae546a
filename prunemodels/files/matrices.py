"""Matrices in the formats of other programs, and network certificates."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from formulations.errors import BrokenFileError, InvalidInputError
from formulations.programs.files import read_program
from proofs_checks.matrices.network_matrix import NetworkMatrix
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix

MATRIX_ENDINGS = (".npy", ".npz", ".mtx", ".csv", ".mps", ".lp")

ARRAYS = ("tail", "head", "start", "end", "transposed")
"""The arrays in the file of a network certificate, see `NetworkMatrix`."""


def load_matrix(path: str | Path) -> SignMatrix:
    """Read a matrix for a check of total unimodularity.

    NumPy's .npy, scipy.sparse's .npz, Matrix Market's .mtx, numbers between commas (.csv, without a header), or the rows of a
    linear program (.mps, .lp) with its names.

    Raises
    ------
    InvalidInputError
        for another ending, or what is not a matrix of numbers.
    BrokenFileError
        if the file is absent or damaged.
    """
    place = Path(path)
    if place.suffix not in MATRIX_ENDINGS:
        raise InvalidInputError(f"{place} has the ending {place.suffix!r}; give a matrix as {', '.join(MATRIX_ENDINGS)}")
    if not place.is_file():
        raise BrokenFileError(f"there is no file {place}; give the path of a matrix")
    if place.suffix in (".mps", ".lp"):
        return read_matrix(read_program(place))
    try:
        matrix = _arrays(place)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise BrokenFileError(f"{place} cannot be read as a matrix ({type(error).__name__}: {error})") from error
    try:
        return read_matrix(matrix)
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error}") from error


def _arrays(place: Path) -> Any:
    from scipy import io, sparse

    if place.suffix == ".npy":
        return np.load(place, allow_pickle=False)
    if place.suffix == ".npz":
        return sparse.load_npz(place)
    if place.suffix == ".mtx":
        return io.mmread(place)
    return np.loadtxt(place, delimiter=",", ndmin=2)


def save_network(network: NetworkMatrix, path: Path) -> None:
    """Write a certificate as its five arrays."""
    np.savez_compressed(path, **{name: np.asarray(getattr(network, name)) for name in ARRAYS})  # type: ignore[arg-type]


def load_network(path: str | Path) -> NetworkMatrix:
    """Read a certificate as `save_network` writes it; `check_network_matrix` decides whether it is right.

    Raises
    ------
    BrokenFileError
        if the file is absent, damaged, or holds something else.
    """
    place = Path(path)
    try:
        with np.load(place, allow_pickle=False) as file:
            arrays = {name: file[name] for name in ARRAYS}
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise BrokenFileError(
            f"{place} does not hold a tree with paths ({type(error).__name__}: {error}); it should hold {', '.join(ARRAYS)}"
        ) from error
    for name in ARRAYS[:4]:
        if arrays[name].ndim != 1 or arrays[name].dtype.kind not in "iu":
            raise BrokenFileError(f"{place}: {name} is not a list of whole numbers")
    tail, head, start, end = (arrays[name] for name in ARRAYS[:4])
    return NetworkMatrix(tail, head, start, end, bool(arrays["transposed"]))
