"""CIFAR-10 (Krizhevsky 2009) with 400 features an image: two classes of five (BRF15 section 3).

The folder holds the publisher's files of either version: ``data_batch_1.bin`` to ``_5.bin`` and ``test_batch.bin`` (*binary*), or
``data_batch_1`` to ``_5`` and ``test_batch`` (*python*), directly or in the folder that the archive makes.

- The first five classes (airplane, automobile, bird, cat, deer) are one class, y = 1, the others y = 0 (BRF15).
- 19,761 / 8,468 / 10,000 images train, validate and test: the last are the test batch. BRF15 does not say
  which 28,229 of the 50,000 others it uses; here they are drawn with `random_state`.
- Features are those of `benchmarks.data.coates_ng`, learned on the training images. Prices are uniform.

Files of the python version are pickles. A pickle can run any code when it is read, so only the types that arrays need are
allowed.
"""

from __future__ import annotations

import importlib
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data.coates_ng import encode, learn_dictionary
from benchmarks.data.published import Part, PublishedData, find_file, folder_of, split_rows
from formulations.errors import BrokenFileError
from formulations.instance.cost_items import CostItems

SIZES = (19_761, 8_468)
TRAINING_BATCHES = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5")
PIXELS = 3 * 32 * 32
SOURCE = "get the python or the binary version of CIFAR-10 from the page of Alex Krizhevsky, and unpack it there"


def load_cifar10(
    folder: str | Path | None = None, *, n_centroids: int = 100, n_patches: int = 200_000, random_state: int = 0
) -> PublishedData:
    """Load the images and compute their features.

    Parameters
    ----------
    folder
        where the files are; default: ``cifar10`` in `prunemodels.data_files.data_folder`.
    n_centroids, n_patches
        of the dictionary; there are four features a centroid.
    random_state
        seed of the split, the patches and the centroids.

    Raises
    ------
    BrokenFileError
        for an absent file, or one of another length or content; the text says what was expected.
    """
    place = folder_of(folder, "cifar10")
    batches = [_read(_find(place, name)) for name in TRAINING_BATCHES]
    images, labels = np.concatenate([b[0] for b in batches]), np.concatenate([b[1] for b in batches])
    test_images, test_labels = _read(_find(place, "test_batch"))
    order = np.random.default_rng(random_state).permutation(len(labels))
    unused = 50_000 - sum(SIZES)
    train, validation, _ = (order[s] for s in split_rows(len(order), (*SIZES, unused)))
    dictionary = learn_dictionary(images[train], n_centroids, n_patches=n_patches, random_state=random_state)
    parts = [
        Part(encode(x, dictionary), (raw < 5).astype(np.int64), raw)
        for x, raw in ((images[train], labels[train]), (images[validation], labels[validation]), (test_images, test_labels))
    ]
    names = tuple(f"quadrant{q}_centroid{k}" for q in range(4) for k in range(n_centroids))
    remarks = (
        f"28,229 of the 50,000 training images are used, as in BRF15; which, is drawn with seed {random_state}.",
        "Features follow Coates, Lee and Ng (2011): BRF15 does not say which of the technique's variants it used.",
    )
    return PublishedData("cifar10", parts[0], parts[1], parts[2], CostItems.plain([1] * len(names), names), names, remarks)


def _find(folder: Path, name: str) -> Path:
    inner = ("", "cifar-10-batches-bin/", "cifar-10-batches-py/")
    return find_file(folder, tuple(f"{i}{name}{e}" for i in inner for e in (".bin", "")), SOURCE)


def _read(file: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images, shape (N, 32, 32, 3), and classes of one batch."""
    rows, labels = _from_binary(file) if file.suffix == ".bin" else _from_python(file)
    if rows.ndim != 2 or rows.shape[1] != PIXELS or rows.dtype != np.uint8 or len(rows) != len(labels) or not len(rows):
        raise BrokenFileError(
            f"{file} holds {rows.dtype} of shape {rows.shape} and {len(labels)} labels; expected rows of {PIXELS} bytes"
        )
    if ((labels < 0) | (labels > 9)).any():
        raise BrokenFileError(f"{file} has the label {int(labels.max())}; expected 0 to 9")
    return np.ascontiguousarray(rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)), labels


def _from_binary(file: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """One byte for the class, then 3,072 for the pixels, image after image."""
    held = np.fromfile(file, dtype=np.uint8)
    if len(held) % (PIXELS + 1):
        raise BrokenFileError(f"{file} has {len(held)} bytes, no multiple of {PIXELS + 1} (label and pixels); get it again")
    rows = held.reshape(-1, PIXELS + 1)
    return rows[:, 1:], rows[:, 0].astype(np.int64)


def _from_python(file: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The pickled dict of the python version: ``data`` and ``labels``."""
    try:
        held = _ArraysOnly(io.BytesIO(file.read_bytes()), encoding="bytes").load()
    except (pickle.UnpicklingError, EOFError, ValueError, IndexError, KeyError, AttributeError, ImportError, TypeError) as error:
        raise BrokenFileError(f"{file} is no batch of the python version ({error}); get it again") from error
    by_name = {k.decode() if isinstance(k, bytes) else k: v for k, v in held.items()} if isinstance(held, dict) else {}
    if not {"data", "labels"} <= set(by_name):
        raise BrokenFileError(f"{file} holds {sorted(map(str, by_name))[:5]}; expected 'data' and 'labels'")
    return np.asarray(by_name["data"]), np.asarray(by_name["labels"], dtype=np.int64)


class _ArraysOnly(pickle.Unpickler):
    """Reads pickles of arrays, lists, dicts, text and numbers; refuses everything that could run code."""

    ALLOWED = frozenset({("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")})

    def find_class(self, module: str, name: str) -> Any:
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return importlib.import_module("numpy._core.multiarray")._reconstruct
        if (module, name) in self.ALLOWED:
            return getattr(importlib.import_module(module), name)
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no part of an array")
