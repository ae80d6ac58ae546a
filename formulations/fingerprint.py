"""One fingerprint for everything that a saved state or answer depends on; every checkpoint of the package uses it.

A dataclass counts with all of its fields. So a field that is added later is part of the fingerprint from then on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import joblib
import numpy as np

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
