"""CIFAR-10 (Krizhevsky 2009) with 400 features an image: two classes of five (BRF15 section 3).

The folder ``cifar10`` holds the publisher's files of the binary version, ``data_batch_1.bin`` to ``_5.bin`` and
``test_batch.bin``, directly or in the folder that the archive makes.

- The first five classes (airplane, automobile, bird, cat, deer) are one class, y = 1, the others y = 0 (BRF15).
- 19,761 / 8,468 / 10,000 images train, validate and test: the last are the test batch. BRF15 does not say
  which 28,229 of the 50,000 others it uses; here they are drawn with `random_state`.
- BRF15 uses 400 features "extracted using technique described in (Coates & Ng, 2011)" and says no more. Done here, after Coates,
  Lee and Ng (*An analysis of single-layer networks*, AISTATS 2011), with 100 centroids that are learned on the training images:

    p   <-  (p - mean(p)) / sqrt(var(p) + 10)             each patch of 6 x 6 pixels, three colours                        (1)
    q   =   (p - m) V (D + 0.1)^(-1/2) V'                 whitened; m, V D V' mean and covariance of training patches      (2)
    f_k =   max(0, mean_j z_j - z_k),  z_k = |q - c_k|    the 'triangle' of distances to the centroids c_k                 (3)
    features  =  sums of f over the patches of each quadrant of the image: 4 x 100                                         (4)

Ours: scikit-learn's MiniBatchKMeans, and how many patches it sees. Prices are uniform.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans

from benchmarks.data.published import Part, PublishedData, find_file, split_rows
from formulations.errors import BrokenFileError
from formulations.instance.cost_items import CostItems

SIZES = (19_761, 8_468)
TRAINING_BATCHES = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5")
PIXELS = 3 * 32 * 32
SOURCE = "get the binary version of CIFAR-10 from the page of Alex Krizhevsky, and unpack it there"


def load_cifar10(*, n_centroids: int = 100, n_patches: int = 200_000, random_state: int = 0) -> PublishedData:
    """Load the images and compute four features a centroid; the seed is of the split, the patches and the centroids."""
    batches = [_read(_find(name)) for name in TRAINING_BATCHES]
    images, labels = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    test_images, test_labels = _read(_find("test_batch"))
    order = np.random.default_rng(random_state).permutation(len(labels))
    unused = 50_000 - sum(SIZES)
    train, validation, _ = (order[s] for s in split_rows(len(order), (*SIZES, unused)))
    dictionary = learn_dictionary(images[train], n_centroids, n_patches=n_patches, random_state=random_state)
    parts = [
        Part(encode(x, dictionary), (raw < 5).astype(np.int64), raw)
        for x, raw in ((images[train], labels[train]), (images[validation], labels[validation]), (test_images, test_labels))
    ]
    return PublishedData(*parts, CostItems.plain([1] * 4 * n_centroids))


def _find(name: str) -> Path:
    return find_file("cifar10", tuple(f"{inner}{name}.bin" for inner in ("", "cifar-10-batches-bin/")), SOURCE)


def _read(file: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images, shape (N, 32, 32, 3), and classes of one batch: one byte for the class, then 3,072 for the pixels."""
    held = np.fromfile(file, dtype=np.uint8)
    if not held.size or len(held) % (PIXELS + 1):
        raise BrokenFileError(f"{file} has {len(held)} bytes, no multiple of {PIXELS + 1} (label and pixels); get it again")
    rows = held.reshape(-1, PIXELS + 1)
    labels = rows[:, 0].astype(np.int64)
    if (labels > 9).any():
        raise BrokenFileError(f"{file} has the label {int(labels.max())}; expected 0 to 9")
    return np.ascontiguousarray(rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)), labels


PATCH = 6
BRIGHTNESS_FLOOR, WHITENING_FLOOR = 10.0, 0.1
BLOCK_IMAGES = 100


@dataclass(frozen=True, eq=False)
class PatchDictionary:
    """m and V (D + 0.1)^(-1/2) V' of (2), shapes (108,) and (108, 108), and the c_k of (3), shape (K, 108)."""

    mean: NDArray[np.float32]
    whitening: NDArray[np.float32]
    centroids: NDArray[np.float32]


def learn_dictionary(images: NDArray[np.uint8], n_centroids: int, *, n_patches: int, random_state: int = 0) -> PatchDictionary:
    """Whitening and centroids from patches drawn at random; images have the shape (N, height, width, colours)."""
    rng = np.random.default_rng(random_state)
    _, height, width, _ = images.shape
    image = rng.integers(len(images), size=n_patches)
    row, column = rng.integers(height - PATCH + 1, size=n_patches), rng.integers(width - PATCH + 1, size=n_patches)
    k = np.arange(PATCH)
    patches = images[image[:, None, None], row[:, None, None] + k[:, None], column[:, None, None] + k]
    normal = _normalised(patches.reshape(n_patches, -1))
    mean = normal.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(normal, rowvar=False))
    whitening = ((vectors / np.sqrt(np.maximum(values, 0) + WHITENING_FLOOR)) @ vectors.T).astype(np.float32)
    means = MiniBatchKMeans(n_centroids, random_state=random_state, n_init=1, batch_size=4096, max_iter=20)
    means.fit((normal - mean) @ whitening)
    return PatchDictionary(mean, whitening, means.cluster_centers_.astype(np.float32))


def encode(images: NDArray[np.uint8], dictionary: PatchDictionary) -> NDArray[np.float32]:
    """(4) of each image, shape (N, 4 K): the K sums of the upper left quadrant, upper right, lower left, lower right."""
    n, height, width, colours = images.shape
    rows, columns = height - PATCH + 1, width - PATCH + 1
    K = len(dictionary.centroids)
    features = np.empty((n, 4 * K), dtype=np.float32)
    squares = (dictionary.centroids**2).sum(axis=1)
    for first in range(0, n, BLOCK_IMAGES):
        block = images[first : first + BLOCK_IMAGES]
        windows = np.lib.stride_tricks.sliding_window_view(block, (PATCH, PATCH), axis=(1, 2))  # colours before the patch
        patches = np.moveaxis(windows, 3, -1).reshape(-1, PATCH * PATCH * colours)
        white = (_normalised(patches) - dictionary.mean) @ dictionary.whitening
        squared = (white**2).sum(axis=1)[:, None] - 2 * white @ dictionary.centroids.T + squares
        z = np.sqrt(np.maximum(squared, 0))
        f = np.maximum(z.mean(axis=1, keepdims=True) - z, 0).reshape(len(block), rows, columns, K)
        top, left = (rows + 1) // 2, (columns + 1) // 2
        quadrants = [f[:, :top, :left], f[:, :top, left:], f[:, top:, :left], f[:, top:, left:]]
        features[first : first + len(block)] = np.concatenate([q.sum(axis=(1, 2)) for q in quadrants], axis=1)
    return features


def _normalised(patches: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(1), one patch a row."""
    values = patches.astype(np.float32)
    values -= values.mean(axis=1, keepdims=True)
    values /= np.sqrt(values.var(axis=1, keepdims=True) + BRIGHTNESS_FLOOR)
    return values
