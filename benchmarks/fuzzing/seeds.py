"""Seeds one after the other, until a time or a number is reached."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable


def try_seeds(findings: Callable[[int], Iterable[object]], what: str, seconds: float, seed: int, cases: int | None = None) -> int:
    """Print what each seed finds. Returns 1 if anything was found, else 0."""
    started, tried, found = time.perf_counter(), 0, 0
    while time.perf_counter() - started < seconds and (cases is None or tried < cases):
        for finding in findings(seed + tried):
            found += 1
            print(f"seed {seed + tried}: {finding}", flush=True)
        tried += 1
    print(f"{tried:,} {what} from seed {seed} on, {found:,} wrong answers")
    return int(bool(found))
