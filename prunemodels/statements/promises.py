"""A mean that is promised: of candidates in a fixed order, the last of which rows show that their mean is at most a number.

Candidates C_1, C_2, ... and their order are fixed before the rows are looked at. With the upper bounds U_k of
`prunemodels.statements.mean_bounds`, each too low with probability at most alpha = 1 - confidence,

    answer: the last C_k such that U_1, ..., U_k <= m                                                                   (1)
    P(true mean of the answer <= m)  >=  confidence                                                                     (2)

No correction for multiple tests is needed. A wrong answer requires U_k <= m for the *first* k whose true mean is above m, and
that is one test, fixed beforehand (fixed-sequence testing; Angelopoulos, Bates, Candes, Jordan, Lei, *Learn then test*, 2021).
(2) holds for any number of rows and any distribution, if the rows are drawn independently from the population that predictions
will be asked for, and nothing about the candidates was learned from them. Shares of mistakes have exact bounds, other bounded
losses those by betting. Student's are no guarantee (``python -m benchmarks.confidence``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.shown import is_rate, rate
from prunemodels.statements.mean_bounds import BoundMethod, upper_bound

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Promise:
    """An error that new examples have at most, with a stated confidence.

    Parameters
    ----------
    at_most
        the error that is promised.
    confidence
        the least probability, before the rows were drawn, that the promise is kept.
    mean, upper_bound
        the error on the n rows that tested it, and U_k of (1) for the answer.
    n
        number of these rows. Neither models nor policies were learned from them.
    tested
        number of candidates that were tested; the last one may have failed.
    unit
        what the n are: ``"examples"``, or ``"groups"`` of these, of which the mean error of each counts.
    """

    at_most: float
    confidence: float
    mean: float
    upper_bound: float
    n: int
    tested: int
    unit: str = "examples"

    def in_words(self, measure: str) -> str:
        """A sentence on what is promised, and by what."""
        most, seen, bound = (rate(x, measure, 2) for x in (self.at_most, self.mean, self.upper_bound))
        return (
            f"With confidence {100 * self.confidence:g} % new {self.unit} have an error of at most {most}: "
            f"{self.n:,} {self.unit} that nothing was learned from have {seen}, at most {bound}."
        )


class Draws(NamedTuple):
    """What each row loses with a candidate."""

    x: NDArray[np.float64]  # shape (n,), in random order
    largest: float  # no draw can be above it


class Kept(NamedTuple, Generic[Answer]):
    """The answer of (1)."""

    answer: Answer | None  # None: the first candidate failed
    mean: float  # of the answer, on the rows
    bound: float  # U_k of the answer; without one that of the first candidate
    tested: int


def last_kept(candidates: Iterable[tuple[Answer, Draws]], at_most: float, confidence: float, method: BoundMethod) -> Kept[Answer]:
    """(1); candidates after the first that fails are not looked at."""
    kept: Kept[Answer] = Kept(None, 0.0, 0.0, 0)
    for answer, (x, largest) in candidates:
        bound = upper_bound(x, largest, 1 - confidence, method)
        if bound > at_most:
            return Kept(kept.answer, kept.mean, kept.bound if kept.answer is not None else bound, kept.tested + 1)
        kept = Kept(answer, float(np.mean(x)), bound, kept.tested + 1)
    return kept


def check_enough(n: int, at_most: float, confidence: float, name: str) -> None:
    """Refuse so few rows that even without a mistake their share could not be promised: (1 - m)^n > alpha."""
    fewest = int(np.ceil(np.log(1 - confidence) / np.log1p(-at_most)))
    if n < fewest:
        raise InvalidInputError(
            f"max_error is {at_most:g} with confidence {confidence:g}, which {fewest:,} rows without a mistake would show, and "
            f"{name} has {n:,}; give more examples, a larger max_error, or less confidence"
        )


def check_max_error(max_error: float, measure: str) -> None:
    """Refuse a largest error that nothing or everything keeps. `measure`: what an error is, see `TreeLoss.measure`."""
    if not max_error > 0 or (is_rate(measure) and max_error >= 1):
        unit = f"above 0, in the unit of the {measure.removeprefix('mean ')}"
        remedy = "between 0 and 1, such as 0.05" if is_rate(measure) else unit
        raise InvalidInputError(f"max_error is {max_error}; give a number {remedy}")
