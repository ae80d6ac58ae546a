"""CIFAR-10: small batches in the publisher's binary form, and the features of Coates and Ng."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.data import load_cifar10
from benchmarks.data.cifar10 import TRAINING_BATCHES, PatchDictionary, _read, encode, learn_dictionary
from formulations.errors import BrokenFileError
from prunemodels.data_files import FOLDER_VARIABLE
from tests.loops import looped


def batch(seed: int, n: int = 20) -> tuple[np.ndarray, list[int]]:
    """Images and classes; those of the first five classes are striped."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, n)
    images = rng.integers(0, 128, size=(n, 3072)) + 100 * np.outer(labels < 5, np.arange(3072) % 2)
    return images.astype(np.uint8), labels.tolist()


def write_binary(folder: Path, n: int = 20) -> None:
    folder.mkdir(exist_ok=True, parents=True)
    for k, name in enumerate((*TRAINING_BATCHES, "test_batch")):
        data, labels = batch(k, n)
        np.column_stack([np.array(labels, dtype=np.uint8), data]).tofile(folder / f"{name}.bin")


def test_a_record_is_red_green_blue(tmp_path: Path) -> None:
    """Each row by row, after the label."""
    write_binary(tmp_path)
    images, labels = _read(tmp_path / "data_batch_2.bin")
    data, expected = batch(1)
    assert labels.tolist() == expected
    assert images.shape == (20, 32, 32, 3)
    assert images[3, 5, 7].tolist() == data[3, [5 * 32 + 7, 1024 + 5 * 32 + 7, 2048 + 5 * 32 + 7]].tolist()


def test_parts_classes_and_prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training batches are divided in BRF15's proportion, the test batch is the test part, the first five classes are one."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    write_binary(tmp_path / "cifar10" / "cifar-10-batches-bin")
    loaded = load_cifar10(n_centroids=5, n_patches=600)
    # 100 images of 50,000: 19,761 and 8,468 in proportion are 39 and 16
    assert [len(p) for p in loaded.parts] == [39, 16, 20]
    assert loaded.test.raw.tolist() == batch(5)[1]
    np.testing.assert_array_equal(loaded.test.y, loaded.test.raw < 5)
    assert loaded.train.X.shape == (39, 20)
    assert loaded.costs.price.tolist() == [1] * 20


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


@looped(
    ("content", "message"),
    [
        (b"\0" * 3074, "3074 bytes, no multiple of 3073"),
        (b"", "0 bytes"),
        (b"\x0b" + b"\0" * 3072, "the label 11; expected 0 to 9"),
        (None, r"data_batch_1.*Krizhevsky"),
    ],
)
def test_files_of_another_form_are_refused(
    content: bytes | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Length and labels are checked; a missing batch is named with where to get it."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "some" if content is not None else tmp_path))
    folder = tmp_path / "some" / "cifar10"
    if content is not None:
        write_binary(folder)
        (folder / "data_batch_3.bin").write_bytes(content)
    with pytest.raises(BrokenFileError, match=message):
        load_cifar10()
