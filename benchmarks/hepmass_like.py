"""A seeded instance of HEPMASS's shape: 28 features of a pair of decays, signal a heavy resonance, background none.

An event is a lepton, missing momentum and four jets, each with a b-tag. In a signal event a resonance of mass 1,000 decays into
two tops; in a background event their common mass is spread out. Columns of the same kinds as there: momenta, pseudorapidities,
angles and tags (21), invariant masses (5), two ratios. All values have measurement noise, so no forest is perfect.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

N_FEATURES = 28
Floats = NDArray[np.float64]


def events(n: int, seed: int, block: int = 100_000) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Events, and whether each is signal (half of them); float32 of shape (n, 28). Each block of rows has its own seed, so the
    first rows do not depend on n.
    """
    X, y = np.empty((n, N_FEATURES), dtype=np.float32), np.empty(n, dtype=np.int8)
    for k, first in enumerate(range(0, n, block)):
        rng = np.random.default_rng([seed, k])
        part, label = _block(block, rng)
        X[first : first + block], y[first : first + block] = part[: n - first], label[: n - first]
    return X, y


def _block(n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int8]]:
    y = rng.integers(0, 2, n).astype(np.int8)
    tops = _tops(y, rng)
    first, second = (_decay(top, 173.0, 80.4, 4.7, rng) for top in tops)  # W, b
    lepton, neutrino = _decay(first[0], 80.4, 0.0, 0.0, rng)
    jets = [*_decay(second[0], 80.4, 0.0, 0.0, rng), first[1], second[1]]
    errors = [(lepton, 0.02), (neutrino, 0.25), *((j, 0.12) for j in jets)]  # relative, of what a detector measures
    seen = [p * np.exp(rng.normal(0.0, share, n))[:, None] for p, share in errors]
    order = np.argsort([-np.hypot(j[:, 1], j[:, 2]) for j in seen[2:]], axis=0)
    stacked, is_b = np.stack(seen[2:]), np.array([0, 0, 1, 1])
    ranked = [np.take_along_axis(stacked, order[k][None, :, None], axis=0)[0] for k in range(4)]
    columns = [*_polar(seen[0]), _polar(seen[1])[0], _polar(seen[1])[2]]
    for k, jet in enumerate(ranked):
        columns += [*_polar(jet), _tag(is_b[order[k]], rng)]
    w_jets = ranked[0] + ranked[1]
    masses = [_mass(seen[0] + seen[1]), _mass(w_jets), _mass(seen[0] + seen[1] + ranked[2])]
    masses += [_mass(w_jets + ranked[3]), _mass(sum(seen[1:], seen[0]))]
    columns += [np.log1p(m) for m in masses]
    columns += [np.log1p(_polar(seen[0])[0] / (1.0 + _polar(ranked[0])[0])), np.cos(_polar(seen[0])[2] - _polar(seen[1])[2])]
    X = np.column_stack(columns)
    return X, y


def _tops(y: NDArray[np.int8], rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Four-momenta (E, x, y, z) of the two tops."""
    n = len(y)
    mass = np.where(y == 1, rng.normal(1000.0, 60.0, n), 346.0 + rng.gamma(2.0, 150.0, n)).clip(350.0)
    resonance = _boosted(n, mass, rng.gamma(1.5, 60.0, n), rng)
    return _decay(resonance, mass, 173.0, 173.0, rng)


def _boosted(n: int, mass: Floats, transverse: Floats, rng: np.random.Generator) -> Floats:
    """A particle of given mass and transverse momentum."""
    phi, rapidity = rng.uniform(-np.pi, np.pi, n), rng.normal(0.0, 1.0, n)
    across = np.hypot(mass, transverse)
    return np.column_stack(
        [across * np.cosh(rapidity), transverse * np.cos(phi), transverse * np.sin(phi), across * np.sinh(rapidity)]
    )


def _decay(parent: Floats, mass: Floats | float, first: float, second: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Two-body decay, isotropic in the parent's rest frame."""
    n = len(parent)
    m = np.broadcast_to(np.asarray(mass, dtype=np.float64), n)
    energy = (m**2 + first**2 - second**2) / (2 * m)
    p = np.sqrt(np.maximum(energy**2 - first**2, 0.0))
    cosine, phi = rng.uniform(-1, 1, n), rng.uniform(-np.pi, np.pi, n)
    sine = np.sqrt(1 - cosine**2)
    along = p[:, None] * np.column_stack([sine * np.cos(phi), sine * np.sin(phi), cosine])
    a = _from_rest(np.column_stack([energy, along]), parent)
    return a, parent - a


def _from_rest(v: Floats, frame: Floats) -> Floats:
    """Lorentz transformation from the rest frame of `frame`."""
    mass = _mass(frame).clip(1e-9)
    inner = (v[:, 1:] * frame[:, 1:]).sum(axis=1)
    energy = (frame[:, 0] * v[:, 0] + inner) / mass
    along = v[:, 1:] + frame[:, 1:] * ((inner / (frame[:, 0] + mass) + v[:, 0]) / mass)[:, None]
    return np.column_stack([energy, along])


def _mass(v: Floats) -> Floats:
    return np.asarray(np.sqrt(np.maximum(v[:, 0] ** 2 - (v[:, 1:] ** 2).sum(axis=1), 0.0)))


def _polar(v: Floats) -> tuple[Floats, Floats, Floats]:
    """Logarithm of transverse momentum, pseudorapidity, angle."""
    across = np.hypot(v[:, 1], v[:, 2]).clip(1e-6)
    return np.log1p(across), np.arcsinh(v[:, 3] / across).clip(-4, 4), np.arctan2(v[:, 2], v[:, 1])


def _tag(is_b: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Whether the detector tags a jet as a b: two values, mostly right."""
    right = rng.random(len(is_b)) < np.where(is_b == 1, 0.7, 0.95)
    return np.where(right, is_b, 1 - is_b) * 2.17
