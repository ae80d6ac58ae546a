"""CIFAR-10: small batches in both of the publisher's forms, and the features of Coates and Ng."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from benchmarks.data import PublishedData, load_cifar10
from benchmarks.data.cifar10 import TRAINING_BATCHES, _read
from benchmarks.data.coates_ng import PatchDictionary, encode, learn_dictionary
from formulations.errors import BrokenFileError, InvalidInputError
from tests.loops import looped


def batch(seed: int, n: int = 20) -> tuple[np.ndarray, list[int]]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, size=(n, 3072), dtype=np.uint8), rng.integers(0, 10, n).tolist()


def write_binary(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for k, name in enumerate((*TRAINING_BATCHES, "test_batch")):
        data, labels = batch(k)
        np.column_stack([np.array(labels, dtype=np.uint8), data]).tofile(folder / f"{name}.bin")


def write_python(folder: Path) -> None:
    """As the publisher's: bytes for keys, protocol 2."""
    folder.mkdir(exist_ok=True)
    for k, name in enumerate((*TRAINING_BATCHES, "test_batch")):
        data, labels = batch(k)
        held = {b"data": data, b"labels": labels, b"batch_label": b"batch", b"filenames": [b"a.png"] * len(labels)}
        (folder / name).write_bytes(pickle.dumps(held, protocol=2))


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> PublishedData:
    folder = tmp_path_factory.mktemp("cifar10")
    write_binary(folder / "cifar-10-batches-bin")
    return load_cifar10(folder, n_centroids=5, n_patches=600, random_state=0)


def test_images_and_labels_of_both_versions_are_the_same(tmp_path: Path) -> None:
    """A record is red, green, blue, each row by row; the python version holds the same bytes."""
    write_binary(tmp_path)
    write_python(tmp_path)
    images, labels = _read(tmp_path / "data_batch_2.bin")
    data, expected = batch(1)
    assert labels.tolist() == expected
    assert images.shape == (20, 32, 32, 3)
    assert images[3, 5, 7].tolist() == data[3, [5 * 32 + 7, 1024 + 5 * 32 + 7, 2048 + 5 * 32 + 7]].tolist()
    again, labels_again = _read(tmp_path / "data_batch_2")
    np.testing.assert_array_equal(images, again)
    np.testing.assert_array_equal(labels, labels_again)


def test_parts_classes_and_prices(loaded: PublishedData) -> None:
    """Training batches are divided in BRF15's proportion, the test batch is the test part, the first five classes are one."""
    # 100 images of 50,000: 19,761 and 8,468 in proportion are 39 and 16
    assert [len(p) for p in (loaded.train, loaded.validation, loaded.test)] == [39, 16, 20]
    assert loaded.test.raw.tolist() == batch(5)[1]
    np.testing.assert_array_equal(loaded.test.y, loaded.test.raw < 5)
    assert loaded.train.X.shape == (39, 20)
    assert loaded.costs.price.tolist() == [1] * 20
    assert len(loaded.remarks) == 2


def test_features_by_hand() -> None:
    """(1) to (4) written out for every patch: normalise, whiten, triangle, sum over the quadrant of the patch's place."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, size=(3, 9, 10, 2), dtype=np.uint8)
    D = 6 * 6 * 2
    dictionary = PatchDictionary(
        rng.normal(size=D).astype(np.float32),
        rng.normal(size=(D, D)).astype(np.float32),
        rng.normal(size=(4, D)).astype(np.float32),
    )
    expected = np.zeros((3, 4, 4))
    for i in range(3):
        for r in range(4):  # 9 - 6 + 1 places, upper half: 0, 1
            for c in range(5):  # 10 - 6 + 1 places, left half: 0, 1, 2
                p = images[i, r : r + 6, c : c + 6].astype(float).ravel()
                p = (p - p.mean()) / np.sqrt(p.var() + 10)
                z = np.linalg.norm((p - dictionary.mean) @ dictionary.whitening - dictionary.centroids, axis=1)
                expected[i, 2 * (r >= 2) + (c >= 3)] += np.maximum(z.mean() - z, 0)
    np.testing.assert_allclose(encode(images, dictionary), expected.reshape(3, 16), rtol=2e-3, atol=1e-2)


def test_whitened_patches_are_white() -> None:
    """Training patches, whitened, have nearly unit variance in each direction whose variance is well over the floor."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, size=(40, 12, 12, 1), dtype=np.uint8)
    dictionary = learn_dictionary(images, 3, n_patches=4000)
    patches = np.lib.stride_tricks.sliding_window_view(images[..., 0], (6, 6), axis=(1, 2)).reshape(-1, 36).astype(float)
    normal = (patches - patches.mean(axis=1, keepdims=True)) / np.sqrt(patches.var(axis=1, keepdims=True) + 10)
    variances = np.linalg.eigvalsh(np.cov((normal - dictionary.mean) @ dictionary.whitening, rowvar=False))
    # pixels are independent: variance about 1 in 35 directions and 0 in that of the mean; 1 / (1 + 0.1) is 0.91
    assert variances[0] == pytest.approx(0, abs=1e-6)
    assert variances[1:] == pytest.approx(np.full(35, 0.91), rel=0.2)
    assert dictionary.centroids.shape == (3, 36)


class Malice:
    """Would leave a file behind if it were unpickled."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __reduce__(self) -> tuple:
        return os.mkdir, (self.place,)


def test_a_pickle_that_would_run_code_is_refused(tmp_path: Path) -> None:
    """Nothing but arrays is let in, and nothing ran."""
    write_python(tmp_path)
    (tmp_path / "data_batch_1").write_bytes(pickle.dumps(Malice(str(tmp_path / "harm"))))
    with pytest.raises(BrokenFileError, match="mkdir, which is no part of an array"):
        load_cifar10(tmp_path)
    assert not (tmp_path / "harm").exists()


@looped(
    ("name", "content", "message"),
    [
        ("data_batch_3.bin", b"\0" * 3074, "3074 bytes, no multiple of 3073"),
        ("data_batch_3.bin", b"", "expected rows of 3072 bytes"),
        ("data_batch_3.bin", b"\x0b" + b"\0" * 3072, "the label 11; expected 0 to 9"),
        ("data_batch_4", {b"data": np.zeros((2, 3072), np.uint8)}, "expected 'data' and 'labels'"),
        ("data_batch_4", {b"data": np.zeros((2, 3071), np.uint8), b"labels": [0, 1]}, "expected rows of 3072 bytes"),
        ("data_batch_4", {b"data": np.zeros((2, 3072), np.uint8), b"labels": [0]}, "1 labels"),
        ("data_batch_4", [1, 2], "expected 'data' and 'labels'"),
        ("data_batch_1", b"no pickle", "no batch of the python version"),
        (None, None, r"data_batch_1.*Krizhevsky"),
    ],
)
def test_files_of_another_form_are_refused(
    name: str | None, content: object, message: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Length, labels, keys and shape are checked; a missing batch is named with where to get it."""
    folder = tmp_path_factory.mktemp("cifar10")
    if name is not None:
        (write_binary if name.endswith(".bin") else write_python)(folder)
        (folder / name).write_bytes(content if isinstance(content, bytes) else pickle.dumps(content, protocol=2))
    with pytest.raises(BrokenFileError, match=message):
        load_cifar10(folder)


def test_images_too_small_for_a_patch_are_refused() -> None:
    """Sides must be over six pixels, so that each quadrant has a patch."""
    with pytest.raises(InvalidInputError, match="over 6 pixels"):
        learn_dictionary(np.zeros((2, 6, 9, 3), np.uint8))
