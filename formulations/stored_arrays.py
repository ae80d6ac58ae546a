"""Arrays, fractions and JSON in files that anybody may have written or damaged, and the fingerprint of what a checkpoint is
about.

NumPy allocates what the header of a .npy file asks for, and an archive can hold a thousand times its own size. So the size of
each array is compared with the bytes that are there, and the sum with the free memory, before memory is allocated. No file's code
is run: arrays of Python's objects are refused.

Every checkpoint of the package has one fingerprint of everything that it depends on. A dataclass counts with all of its fields,
so a field that is added later is part of the fingerprint from then on.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import joblib
import numpy as np
from numpy.typing import NDArray

from formulations.errors import BrokenFileError
from formulations.memory import readable, too_large

LARGEST_RATIO, HARMLESS = 100, 1 << 28
"""An archive with more than `HARMLESS` bytes may hold this many times its own size; arrays of forests and matrices hold ten."""

NUMBER = re.compile(r"[+-]?(\d{1,4000}(/\d{1,4000})?|(\d{1,4000}(\.\d{0,4000})?|\.\d{1,4000})([eE][+-]?\d{1,3})?)")
"""Fractions as p/q, or decimals with an exponent of at most three digits: each is read in a moment."""


def stored_fraction(text: str, name: str) -> Fraction:
    """The fraction that a file holds as text; `name` appears in the error.

    Raises `BrokenFileError` for a text that is no number, or one with thousands of digits or a huge exponent.
    """
    if not isinstance(text, str) or len(text) > 8100 or NUMBER.fullmatch(text) is None or re.search("/0+$", text):
        shown = repr(text) if len(str(text)) < 50 else f"{str(text)[:40]!r}..."
        raise BrokenFileError(f"{name} is {shown}, not a fraction such as 5/7; write the file again")
    return Fraction(text)


def read_array(path: str | Path) -> NDArray[Any]:
    """The array in a .npy file.

    Raises `BrokenFileError` if the file is damaged, holds Python's objects, or needs more memory than there is.
    """
    place = Path(path)
    try:
        size = os.path.getsize(place)
        _check_size(size, size, str(place))
        return _of_bytes(place.read_bytes(), str(place))
    except BrokenFileError:
        raise
    except Exception as error:  # a damaged header can cause any error
        raise _damaged(str(place), error) from error


def read_arrays(path: str | Path, names: Iterable[str] = ()) -> dict[str, NDArray[Any]]:
    """The arrays in a .npz file by their names.

    `names`: arrays that must be there. Raises `BrokenFileError` if the file is damaged, lacks one of the names, holds Python's
    objects, or needs more memory than there is.
    """
    place = Path(path)
    arrays: dict[str, NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(place) as archive:
            check_archive(archive, place)
            for member in archive.namelist():
                arrays[member.removesuffix(".npy")] = _of_bytes(archive.read(member), f"{member} in {place}")
    except BrokenFileError:
        raise
    except Exception as error:  # a damaged archive can cause any error
        raise _damaged(str(place), error) from error
    missing = [name for name in names if name not in arrays]
    if missing:
        raise BrokenFileError(f"{place} lacks the array {missing[0]!r}; it should hold {', '.join(names)}")
    return arrays


def stored_json(text: str | bytes, name: str) -> Any:
    """What a JSON document holds; `name` appears in the error.

    Raises `BrokenFileError` for a text that is no JSON, in UTF-8 and nested less deeply than Python can follow.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # invalid UTF-8 is a ValueError, too
        raise BrokenFileError(f"{name} is not a JSON file, or a damaged one ({str(error)[:200]}); write it again") from error


def stored_array(array: NDArray[Any], name: str, kind: str, length: int | None = None, end: int | None = None) -> NDArray[Any]:
    """An array of a file, if it has one dimension, the kind and length that it must have, and finite entries.

    `kind`: ``"b"``, ``"i"`` or ``"f"``: booleans, whole numbers, floats. `length`: number of entries; None: any. `end`: whole
    numbers must be at least 0 and below this. Raises `BrokenFileError` naming the array, and what it is.
    """
    if array.ndim != 1 or array.dtype.kind != kind or (length is not None and len(array) != length):
        wanted = {"b": "booleans", "i": "whole numbers", "f": "floats"}[kind]
        count = "" if length is None else f"{length} "
        raise BrokenFileError(f"{name} has the shape {array.shape} and the type {array.dtype}, not {count}{wanted}")
    if kind == "f" and not np.isfinite(array).all():
        raise BrokenFileError(f"{name} holds {array[~np.isfinite(array)][0]}, which is not finite")
    if end is not None and array.size and not 0 <= int(array.min()) <= int(array.max()) < end:
        raise BrokenFileError(f"{name} holds {array.min()} to {array.max()}, which are not all among 0 to {end - 1}")
    return array


def whole_number(value: Any, name: str, largest: int) -> int:
    """A whole number of a file, from 0 to the largest that makes sense. Raises `BrokenFileError` for anything else."""
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iu":
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= largest:
        raise BrokenFileError(f"{name} is {str(value)[:40]}, not a whole number from 0 to {largest:,}")
    return value


def check_archive(archive: zipfile.ZipFile, place: Path) -> None:
    """Refuse an archive whose members need more memory than there is, and arrays in it that claim more than their bytes.

    Raises `BrokenFileError` naming the file, and the member that is wrong.
    """
    members = archive.infolist()
    _check_size(sum(member.file_size for member in members), os.path.getsize(place), str(place))
    for member in members:
        if member.filename.endswith(".npy"):
            with archive.open(member) as stream:
                _check_header(stream, member.file_size, f"{member.filename} in {place}")


def array_header(archive: zipfile.ZipFile, member: str, place: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an array in an archive, which is not read. Raises `BrokenFileError` as `check_archive`."""
    with archive.open(member) as stream:
        shape, _, dtype = _check_header(stream, archive.getinfo(member).file_size, f"{member} in {place}")
    return shape, dtype


def _check_size(n_bytes: int, on_disk: int, name: str) -> None:
    """Refuse contents that are too large, or that are packed as only an attack would be."""
    size = too_large(2 * n_bytes)
    if size is not None:
        raise BrokenFileError(f"{name} {size}; it is damaged, or this machine is too small for it")
    if n_bytes > max(HARMLESS, LARGEST_RATIO * on_disk):
        raise BrokenFileError(
            f"{name} has {readable(on_disk)} and would become {readable(n_bytes)}, more than {LARGEST_RATIO} times its size; "
            "if that is right, write it without compression"
        )


def _of_bytes(content: bytes, name: str) -> NDArray[Any]:
    """The array that the bytes of a .npy file hold."""
    stream = io.BytesIO(content)
    shape, fortran, dtype = _check_header(stream, len(content), name)
    flat = np.frombuffer(content, dtype, offset=stream.tell()) if dtype.itemsize else np.empty(shape, dtype).ravel()
    return flat.copy().reshape(shape, order="F" if fortran else "C")


def _check_header(stream: IO[bytes], size: int, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type by the header of a .npy file, if its data are as many bytes as it says."""
    try:
        version = np.lib.format.read_magic(stream)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, fortran, dtype = read(stream)
    except Exception as error:  # a damaged header can cause any error
        raise _damaged(name, error) from error
    if dtype.hasobject:
        raise BrokenFileError(f"{name} holds Python objects, and loading them could run code; save an array of numbers")
    count = 1
    for length in shape:
        if not isinstance(length, int) or not 0 <= length < 1 << 62:
            raise BrokenFileError(f"{name} has the shape {shape}; the file is damaged: write it again")
        count *= length
    there = size - stream.tell()
    if count * dtype.itemsize != there or (count > 1 and not dtype.itemsize):
        raise BrokenFileError(
            f"{name} announces {count:,} entries of {dtype.itemsize} bytes and has {there:,} bytes; it is damaged: write it again"
        )
    return shape, fortran, dtype


def _damaged(name: str, error: Exception) -> BrokenFileError:
    return BrokenFileError(
        f"{name} cannot be read ({type(error).__name__}: {str(error)[:200]}); the file is damaged: write it again"
    )


FORMAT = "1"
"""Changes when checkpoints of earlier versions must not be read any more."""


def fingerprint(*parts: Any) -> str:
    """A SHA-256 digest of the parts, equal only where all of them are equal.

    Parameters
    ----------
    parts
        numbers, texts, arrays, dataclasses, and sequences and mappings of them, by their values. Everything else (data frames,
        estimators) by `joblib.hash`.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    _add(digest, (FORMAT, *parts))
    return digest.hexdigest()


def _add(digest: Any, part: Any) -> None:
    """Feed a part to the digest, after its kind and its length, so that different parts never give the same bytes."""
    if isinstance(part, np.generic):
        part = part.item()
    if is_dataclass(part) and not isinstance(part, type):
        _add(digest, (type(part).__name__, {field.name: getattr(part, field.name) for field in fields(part)}))
    elif isinstance(part, np.ndarray) and part.dtype != object:
        _add_text(digest, "array", f"{part.dtype.str} {part.shape}")
        digest.update(np.ascontiguousarray(part).tobytes())
    elif isinstance(part, Mapping):
        _add_text(digest, "mapping", "")
        _add(digest, [item for pair in part.items() for item in pair])
    elif isinstance(part, (tuple, list)):
        _add_text(digest, "sequence", str(len(part)))
        for item in part:
            _add(digest, item)
    elif part is None or isinstance(part, (bool, int, float, str, Fraction)):
        _add_text(digest, type(part).__name__, str(part))
    else:
        _add_text(digest, "object", joblib.hash(part))


def _add_text(digest: Any, kind: str, text: str) -> None:
    encoded = text.encode()
    digest.update(f"{kind} {len(encoded)} ".encode() + encoded)
