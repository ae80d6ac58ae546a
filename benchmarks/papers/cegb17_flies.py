"""Images of flies, made up, and their features at four resolutions: the setting of CEGB17 section 5.2.

The paper's forty frames are not public. A frame here has a background of smooth and of fine noise, dark textured ellipses for
flies, no two of them touching, and darker specks of dust, smaller than any fly, that are none. A coarse image shows where there
is nothing, a fine one where a fly ends.

Features, as the paper has them: the image averaged over blocks of 1 x 1, 2 x 2, 4 x 4 and 8 x 8 pixels; fast filters on each; the
value of a block for each of its pixels. Which filters it does not say; here: the value itself, a Gaussian mean (sigma = 1), the
magnitude of its gradient, and its Laplacian.

    price of a split on a feature that m pixels share  =  alpha / m,   m = 1, 4, 16, 64                                    (1)

the paper's alpha_m: a block is split at once, so each of its pixels pays a share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

SCALES = (1, 2, 4, 8)
FILTERS = ("value", "mean", "gradient", "laplacian")
FEATURES = tuple(f"{name}_{scale}x{scale}" for scale in SCALES for name in FILTERS)

SPLIT_PRICES = tuple(1 / scale**2 for scale in SCALES for _ in FILTERS)
"""(1) with alpha = 1, for each of `FEATURES`."""

FLIES_PER_PIXEL = 12 / 256**2
SPECKS_PER_PIXEL = 40 / 256**2


@dataclass(frozen=True, eq=False)
class Frame:
    """One image and which fly each pixel is of: 0 for none, 1, 2, ... for the flies; float32 and int32, side x side."""

    image: NDArray[np.float32]
    fly: NDArray[np.int32]

    def features(self) -> NDArray[np.float32]:
        """One row a pixel, row by row of the image; columns as `FEATURES`."""
        side = self.image.shape[0]
        columns = []
        for scale in SCALES:
            pooled = self.image.reshape(side // scale, scale, side // scale, scale).mean(axis=(1, 3))
            filtered = (
                pooled,
                ndimage.gaussian_filter(pooled, 1.0),
                ndimage.gaussian_gradient_magnitude(pooled, 1.0),
                ndimage.gaussian_laplace(pooled, 1.0),
            )
            columns += [np.repeat(np.repeat(f, scale, axis=0), scale, axis=1).ravel() for f in filtered]
        return np.column_stack(columns).astype(np.float32)


def make_frame(side: int, seed: int) -> Frame:
    """A frame of side x side pixels, the side a multiple of 8; the same for the same seed."""
    if side < 64 or side % 8:
        raise ValueError(f"side is {side}; give a multiple of 8, at least 64")
    rng = np.random.default_rng([seed, side])
    image = 0.7 + 0.05 * _standard(ndimage.gaussian_filter(rng.normal(size=(side, side)), side / 16))
    fly = np.zeros((side, side), dtype=np.int32)
    for _ in range(max(1, round(SPECKS_PER_PIXEL * side**2))):
        box, inside = _ellipse(side, rng, rng.uniform(1.0, 2.2), rng.uniform(1.0, 2.2))
        image[box][inside] = 0.35
    for k in range(1, 1 + max(1, round(FLIES_PER_PIXEL * side**2))):
        box, inside = _ellipse(side, rng, rng.uniform(8, 13), rng.uniform(4, 6))
        while (fly[box][ndimage.binary_dilation(inside, iterations=2)] > 0).any():
            box, inside = _ellipse(side, rng, rng.uniform(8, 13), rng.uniform(4, 6))
        image[box][inside] = 0.4
        fly[box][inside] = k
    texture = _standard(ndimage.gaussian_filter(rng.normal(size=(side, side)), 1.5))
    image = image + np.where(fly > 0, 0.08, 0.03) * texture + 0.06 * rng.normal(size=(side, side))
    return Frame(image.astype(np.float32), fly)


Box = tuple[slice, slice]


def _ellipse(side: int, rng: np.random.Generator, long: float, short: float) -> tuple[Box, NDArray[np.bool_]]:
    """An ellipse somewhere in the image, turned somehow: a box around it with a margin, and its pixels in the box."""
    y, x = rng.uniform(0, side, size=2)
    angle = rng.uniform(0, np.pi)
    reach = max(long, short) + 3
    box = tuple(slice(max(0, int(c - reach)), min(side, int(c + reach) + 1)) for c in (y, x))
    rows, columns = np.ogrid[box]
    along = (columns - x) * np.cos(angle) + (rows - y) * np.sin(angle)
    across = (rows - y) * np.cos(angle) - (columns - x) * np.sin(angle)
    return (box[0], box[1]), np.asarray((along / long) ** 2 + (across / short) ** 2 <= 1)


def _standard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shifted and scaled to mean 0 and standard deviation 1."""
    return np.asarray((values - values.mean()) / values.std())


def overlaps(fly: NDArray[np.int32], found: NDArray[np.bool_]) -> NDArray[np.float64]:
    """For each fly the Jaccard index with the connected region that covers over half of it, or 0: SEG's terms.

    SEG (Maska et al. 2014), the mean of these over all flies of all frames, does not count regions that are no fly.

    Parameters
    ----------
    fly, found
        side x side: the true flies, and the pixels taken for fly.
    """
    region, n = ndimage.label(found)
    flies = np.unique(fly[fly > 0])
    shared = np.zeros((int(fly.max(initial=0)) + 1, n + 1), dtype=np.int64)
    np.add.at(shared, (fly.ravel(), region.ravel()), 1)
    fly_size, region_size = shared.sum(axis=1), shared.sum(axis=0)
    shared[:, 0] = 0  # no region
    best = shared.argmax(axis=1)
    common = shared[flies, best[flies]]
    union = fly_size[flies] + region_size[best[flies]] - common
    return np.asarray(np.where(2 * common > fly_size[flies], common / union, 0.0))
