"""Damage to files: bytes, numbers and lines of text, values in JSON, arrays and members of archives.

Every function takes a random generator and the content of a sound file, and returns the content of a damaged one. What knows the
format repairs check sums and lengths afterwards, so that the damage reaches the code behind them.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

Random = np.random.Generator
Mutation = Callable[[Random, bytes], bytes]

NUMBERS = (
    "0", "1", "-1", "2", "3", "-5", "99", "0.5", "1.5", "1e308", "-1e308", "1e99999999", "1e-400", "nan", "inf", "-inf", "1e400",
    "2147483648", "4294967296", "9223372036854775807", "99999999999999999999", "1000000000", "10" * 30, "9" * 500, "9" * 5000,
    "0x10", "1_0", "1/0", "5/7", "1e", "--1", "+", "",
)  # fmt: skip

WORDS = (
    "", "\0", "é", "a" * 300, "nan", "None", "true", "end", "#", '"', ",", "\\", "[", "(", ":", "x y", "<=", "ENDATA", "general",
)  # fmt: skip

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 10**9, 2**31, 2**63, 10**18, 10**30, -(10**18), 0.5, 1e308, "1e99999999", "", "x", "1/0",
    "9" * 5000, [], {}, [[]], [1, 2, 3], {"a": 1}, float("nan"), float("inf"),
)  # fmt: skip

INTEGERS = (-(2**62), -(10**9), -5, -2, -1, 0, 1, 2, 3, 4, 7, 99, 10**6, 2**31 - 1, 2**31, 2**62)
REALS = (-1e308, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 1e-300, 1e308, np.inf, -np.inf, np.nan)
BOMB = 300 << 20  # bytes of zeros in a member of an archive


def pick(rng: Random, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def bits(rng: Random, content: bytes) -> bytes:
    """One to three bits flipped."""
    damaged = bytearray(content or b"\0")
    for _ in range(int(rng.integers(1, 4))):
        damaged[int(rng.integers(len(damaged)))] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def cut(rng: Random, content: bytes) -> bytes:
    """The beginning only, or all but the beginning, or nothing."""
    at = int(rng.integers(len(content) + 1))
    return pick(rng, (content[:at], content[:at], content[at:], b""))  # type: ignore[no-any-return]


def blocks(rng: Random, content: bytes) -> bytes:
    """A run of bytes removed, repeated, made zero or random."""
    a, b = sorted(int(x) for x in rng.integers(0, len(content) + 1, 2))
    b = min(b, a + int(rng.integers(1, 40)))
    inside: bytes = pick(rng, (b"", content[a:b] * 2, bytes(b - a), rng.bytes(b - a), rng.bytes(5), b"\xff" * (b - a)))
    return content[:a] + inside + content[b:]


def numbers(rng: Random, content: bytes) -> bytes:
    """A number in a text replaced."""
    text = content.decode("latin1")
    places = list(re.finditer(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", text))
    if not places:
        return bits(rng, content)
    place = pick(rng, places)
    return (text[: place.start()] + pick(rng, NUMBERS) + text[place.end() :]).encode("latin1")


def words(rng: Random, content: bytes) -> bytes:
    """A word in a text replaced by another of it, or by a strange one."""
    text = content.decode("latin1")
    places = list(re.finditer(r"[^\s,]+", text))
    if not places:
        return bits(rng, content)
    place, other = pick(rng, places), pick(rng, places)
    return (text[: place.start()] + pick(rng, (other[0], pick(rng, WORDS))) + text[place.end() :]).encode("utf-8", "replace")


def lines(rng: Random, content: bytes) -> bytes:
    """A line removed, repeated or moved; a field added to a line or taken from it."""
    kept = content.split(b"\n")
    k, j = (int(x) for x in rng.integers(0, len(kept), 2))
    way = int(rng.integers(5))
    if way == 0:
        del kept[k]
    elif way == 1:
        kept.insert(j, kept[k])
    elif way == 2:
        kept[k], kept[j] = kept[j], kept[k]
    elif way == 3:
        kept[k] += pick(rng, (b",1", b" 1", b" x", b",", b"\t"))
    else:
        kept[k] = kept[k].rpartition(pick(rng, (b",", b" ")))[0]
    return b"\n".join(kept)


def json_values(rng: Random, content: bytes) -> bytes:
    """A value somewhere in a JSON document replaced, removed or doubled; or the whole nested too deeply."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return bits(rng, content)
    if rng.random() < 0.02:
        return b"[" * 100_000
    places: list[tuple[Any, Any]] = []
    _places(document, places)
    if not places:
        return json.dumps(pick(rng, VALUES)).encode()
    for _ in range(int(rng.integers(1, 3))):
        holder, key = pick(rng, places)
        if key not in holder and isinstance(holder, dict):
            continue
        if isinstance(holder, list) and key >= len(holder):
            continue
        if rng.random() < 0.2:
            del holder[key]
        elif rng.random() < 0.3:
            other, its = pick(rng, places)
            if (its in other) if isinstance(other, dict) else its < len(other):
                holder[key] = other[its]
        else:
            holder[key] = pick(rng, VALUES)
    try:
        return json.dumps(document).encode()
    except (ValueError, RecursionError):  # it holds itself
        return b"{}"


def _places(document: Any, found: list[tuple[Any, Any]]) -> None:
    items = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    for key, value in list(items):
        found.append((document, key))
        _places(value, found)


def array(rng: Random, content: bytes) -> bytes:
    """The array of a .npy file with other entries, shape, type or header."""
    try:
        held = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:
        return bits(rng, content)
    way = int(rng.integers(7))
    if way == 0:
        return header(rng, content)
    if way == 1:
        held = held.ravel()[: int(rng.integers(held.size + 1))]
    elif way == 2:
        held = np.concatenate([held.ravel(), held.ravel()[:1], held.ravel()[:1]])
    elif way == 3:
        kinds = ("<i1", "<i4", "<i8", "<u8", "<f4", "<f8", "<c16", "<U3", "|b1", ">i4")
        with np.errstate(invalid="ignore"):
            held = held.astype(pick(rng, kinds)) if held.dtype.kind in "biuf" else held[..., None]
    elif way == 4:
        held = pick(rng, (held[None], held[..., None], held.reshape(-1), held.T))
    elif held.size:
        held = np.array(held)
        _replace_entries(rng, held)
    out = io.BytesIO()
    np.save(out, held, allow_pickle=False)
    return out.getvalue()


def _replace_entries(rng: Random, held: np.ndarray[Any, Any]) -> None:
    """A few entries by other entries, or by hostile ones; records field by field."""
    fields = held.dtype.names
    part = held[pick(rng, fields)] if fields else held
    flat = part.reshape(-1) if part.flags.c_contiguous else part
    if flat.ndim != 1:
        return
    for _ in range(int(rng.integers(1, 3))):
        k = int(rng.integers(len(flat)))
        if rng.random() < 0.5:
            flat[k] = flat[int(rng.integers(len(flat)))]
        elif part.dtype.kind in "iub":
            with np.errstate(all="ignore"):
                flat[k] = np.array(pick(rng, INTEGERS)).astype(part.dtype)
        elif part.dtype.kind == "f":
            flat[k] = pick(rng, REALS)


def header(rng: Random, content: bytes) -> bytes:
    """Another shape, type or order in the header of a .npy file, its length right."""
    if content[:6] != b"\x93NUMPY":
        return bits(rng, content)
    length = int.from_bytes(content[8:10], "little")
    text = content[10 : 10 + length].decode("latin1")
    way = int(rng.integers(4))
    if way == 0:
        shapes = ("(1000000000, 1000000)", "(-1,)", "()", "(0, 5)", "(5, 0)", "(10" + "0" * 30 + ",)", "(2.5,)", "'ab'", "(3,)")
        text = re.sub(r"'shape': \([^)]*\)", f"'shape': {pick(rng, shapes)}", text)
    elif way == 1:
        descr = pick(rng, ("|O", "<i4", "<f8", "<U4", "|V0", "<M8[s]", ">i8", "|S1000000000", "junk", "<f2"))
        text = re.sub(r"'descr': '[^']*'", f"'descr': '{descr}'", text)
    elif way == 2:
        text = numbers(rng, text.encode("latin1")).decode("latin1")
    else:
        text = bits(rng, text.encode("latin1")).decode("latin1")
    encoded = text.encode("latin1")[:65535]
    return content[:8] + len(encoded).to_bytes(2, "little") + encoded + content[10 + length :]


def members(rng: Random, content: bytes) -> bytes:
    """An archive with one member damaged, dropped, doubled, exchanged or replaced by a bomb; check sums are right."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            held = {name: archive.read(name) for name in archive.namelist()}
    except Exception:
        return bits(rng, content)
    name, other = pick(rng, list(held)), pick(rng, list(held))
    way = rng.random()
    if way < 0.75:
        of_text, of_arrays = (json_values, json_values, numbers, bits), (array, array, array, bits, cut, blocks)
        held[name] = pick(rng, of_text if name.endswith("schema.json") else of_arrays)(rng, held[name])
    elif way < 0.8:
        del held[name]
    elif way < 0.85:
        held[name], held[other] = held[other], held[name]
    elif way < 0.9:
        held[name + pick(rng, ("x", "/../y", ""))] = held[other]
    elif way < 0.97:
        held[name] = held[other]
    else:
        held[name] = held[name][:128] + bytes(BOMB)  # the same array with zeros behind it
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if rng.random() < 0.5 else zipfile.ZIP_STORED) as archive:
        for member, inside in held.items():
            undated = zipfile.ZipInfo(member)  # the clock would make another file of the same case
            undated.compress_type = zipfile.ZIP_DEFLATED if len(inside) > 1 << 24 else archive.compression
            archive.writestr(undated, inside)
    return out.getvalue()
