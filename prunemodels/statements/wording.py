"""Numbers as text, with as many digits as a comparison needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from formulations.shown import is_rate
from prunemodels.statements.mean_bounds import MeanInterval

MINUS = "\u2212"

POINTS = "\u00a0points"
"""Percentage points."""


def amount(x: float) -> str:
    """A cost with four significant digits, and without an exponent from 0.001 on."""
    if x == 0:
        return "0"
    if abs(x) >= 1000:
        return f"{x:,.0f}".replace("-", MINUS)
    return f"{x:.4g}".replace("-", MINUS)


def error(x: float, measure: str) -> str:
    """An error rate in per cent, any other measure as a number; see `formulations.shown.is_rate`."""
    return f"{100 * x:.2f}\u00a0%".replace("-", MINUS) if is_rate(measure) else amount(x)


def change(x: float, measure: str) -> str:
    """A difference of errors with its sign: of error rates in percentage points, of other measures as a number."""
    if is_rate(measure):
        return f"{100 * x:+.2f}".replace("-", MINUS) + POINTS
    return ("+" if x > 0 else "") + amount(x)


def interval(of: MeanInterval, write: Callable[[float], str] = amount) -> str:
    """The ends of an interval, points once: ``−1.2 to +14.9 points``."""
    return f"{write(of.low).removesuffix(POINTS)} to {write(of.high)}" if of.is_told else "cannot be told"


def share(x: float, digits: int = 1) -> str:
    """0.123 as 12.3 %."""
    return f"{100 * x:.{digits}f}\u00a0%".replace("-", MINUS)


def less(before: float, after: float) -> str:
    """The relative saving: ``39 % less``, or ``more``."""
    if before == 0:
        return "nothing to save"
    saved = 1 - after / before
    if abs(saved) < 0.0005:
        return "the same"
    digits = 0 if abs(saved) >= 0.1 else 1
    return f"{100 * abs(saved):.{digits}f}\u00a0% {'less' if saved > 0 else 'more'}"


def count(n: int, noun: str, several: str | None = None) -> str:
    """``1 tree``, ``40 trees``; `several` is the plural where it is not formed by an s."""
    return f"{n:,} {noun if n == 1 else several or f'{noun}s'}"


def exactly(x: Fraction) -> str:
    """A fraction and its approximate value; only the latter where the fraction is too long to read."""
    text = str(x)
    if x.denominator == 1:
        return text
    return f"{text} \u2248 {float(x):.8g}" if len(text) <= 40 else f"\u2248 {float(x)!r}"


MOST_NAMES = 6
"""Most features that a card names."""


def asked_for(names: Sequence[str], before: Sequence[float], after: Sequence[float]) -> str:
    """A sentence on which features are asked for, by which share of the examples, and how many no longer."""
    asked = sorted(((part, -k, name) for k, (name, part) in enumerate(zip(names, after, strict=True)) if part > 0), reverse=True)
    told = [f"{name} {share(part, 0)}" for part, _, name in asked]
    more = f" and {len(told) - MOST_NAMES} more" if len(told) > MOST_NAMES else ""
    dropped = sum(b > 0 and a == 0 for b, a in zip(before, after, strict=True))
    never = f"; {count(dropped, 'feature')} no longer" if dropped else ""
    return f"Asked for: {', '.join(told[:MOST_NAMES])}{more}{never}." if told else "Asked for: nothing."


def is_overrun(budget: float | Fraction, cost: MeanInterval) -> bool:
    """Whether the held-out examples cost more than the budget on average."""
    return cost.mean > budget


def budget_verdict(budget: float | Fraction, cost: MeanInterval, unit: str = "") -> str:
    """What the held-out examples say about a budget, in one or two sentences.

    A budget holds exactly on the cost sample, and only there. Of c, the mean cost on the held-out examples, and [l, u], its
    interval:

        c <= budget           no overrun was seen; where u > budget, one is possible
        c >  budget >= l      these examples cost more, and chance alone may explain it
        c >= l > budget       the population costs more than the budget, with the confidence of the interval
    """
    limit = f"{amount(float(budget))}{f' {unit}' if unit else ''}"
    ends = f"{100 * cost.confidence:g}\u00a0% interval {interval(cost)}"
    seen = f"the {cost.n:,} held-out examples cost {amount(cost.mean)} ({ends})"
    if not is_overrun(budget, cost):
        possible = "" if cost.high <= budget else "; the population may cost more than that"
        return f"Within the budget of {limit}: {seen}{possible}."
    over = f"Over budget: {seen}, {cost.mean - float(budget):.3g} more than the {limit} allowed."
    why = "The budget lies within the interval, so chance" if cost.is_told else "Chance"
    return over if cost.low > budget else f"{over} {why} alone may explain this."
