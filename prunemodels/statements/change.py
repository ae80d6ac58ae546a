"""Cost and error on held-out examples before and after, and their differences, example by example.

Before is the unpruned forest, or a cascade whose last stage answers every example. Both models see the same examples, so their
difference is known better than either figure: its interval is that of the mean of

    x_i(before) - x_i(after)        the cost that example i saves                                                         (1)
    l_i(after) - l_i(before)        loss of the model's own prediction, see `TreeLoss`                                      (2)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from formulations.instance.tree_loss import TreeLoss
from formulations.instance.usage import Usage
from formulations.shown import Card, Shown, error_name, is_rate
from prunemodels.statements.by_class import NAMES, ByClass
from prunemodels.statements.mean_bounds import (
    PARAMS,
    Effective,
    MeanInterval,
    Method,
    effective_rows,
    mean_interval,
    over_groups,
    paired_interval,
    paired_share_interval,
    repeated,
    share_interval,
    sign_test,
)
from prunemodels.statements.wording import POINTS, LimitUse, amount, change, count, error, interval, use_in_words


@dataclass(frozen=True)
class HeldOutChange(Shown, Effective):
    """Cost and error before and after, on held-out examples.

    Parameters
    ----------
    n, n_effective
        number of examples of positive weight, and how many of equal weight they are worth; see `MeanInterval`.
    cost_before, cost_after, error_before, error_after
        means with their intervals; costs include items that are paid once for all examples.
    saving, increase
        means of (1) and (2), with their intervals: of costs Student's, which describes and does not guarantee, see `hold_out`; of
        error rates exact ones, see `prunemodels.statements.mean_bounds`.
    broken, mended
        number of examples that only the first model, and that only the second predicts correctly; None for regression. Under
        misclassification costs: that the second, and that the first predicts at a higher cost than the other.
    measure
        what the errors are, see `Ensemble.measure`.
    uses
        what the second model uses of each limit.
    classes
        what both say class by class; None for numbers.
    names
        what the two models are called.
    n_groups
        number of groups of examples that intervals count; None where each example stands for itself.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_valid, costs, forest, y_test, y_valid
    >>> result = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=10)
    >>> result.evaluate(X_test, y_test).error_after.n
    169
    """

    n: int
    n_effective: float
    confidence: float
    cost_before: MeanInterval
    cost_after: MeanInterval
    saving: MeanInterval
    error_before: MeanInterval
    error_after: MeanInterval
    increase: MeanInterval
    broken: int | None
    mended: int | None
    measure: str
    uses: tuple[LimitUse, ...] = ()
    classes: ByClass | None = None
    names: tuple[str, str] = NAMES
    n_groups: int | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What intervals count, where they do not count examples, and whether they can be trusted."""
        if self.n_groups is None:
            return super().warnings
        return (
            f"Intervals count {self.n_groups:,} groups of examples, by size worth {self.n_effective:,.3g}, as one draw each.",
        )

    @property
    def task(self) -> str:
        """``"classification"`` or ``"regression"``."""
        return "regression" if self.broken is None else "classification"

    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Rows of a table: cost, error and the classes found before, after, and their differences with intervals."""
        measure, saved, increase = self.measure, self.saving, self.increase
        return (
            (
                "cost per prediction",
                amount(self.cost_before.mean),
                amount(self.cost_after.mean),
                f"{amount(-saved.mean)} ({interval(replace(saved, low=-saved.high, high=-saved.low))})",
            ),
            (
                error_name(measure),
                error(self.error_before.mean, measure),
                error(self.error_after.mean, measure),
                f"{change(increase.mean, measure)} ({self.increase_interval})",
            ),
            *(() if self.classes is None else self.classes.rows()),
        )

    @property
    def first(self) -> tuple[str, ...]:
        """What is to be read before any saving, see `prunemodels.statements.by_class`."""
        return () if self.classes is None else self.classes.first

    @property
    def increase_interval(self) -> str:
        """The interval of the error's increase in words."""
        return interval(self.increase, lambda x: change(x, self.measure))

    @property
    def header(self) -> tuple[str, str, str, str]:
        """The headings of `rows`."""
        return "", *self.names, f"change ({100 * self.confidence:g} % interval)"

    def _card(self) -> Card:
        of_1000 = () if self.classes is None else self.classes.notes
        notes = (self.verdict, *of_1000, *self.warnings, *(use_in_words(use) for use in self.uses))
        title = "Before and after" if self.names == NAMES else f"{self.names[1]} against {self.names[0]}"
        return Card(f"{title}, on {count(self.n, 'example')}", self.rows(), self.header, notes, self.first)

    def __repr__(self) -> str:
        return self._card().text()

    @property
    def sign_test(self) -> float | None:
        """The two-sided p-value of the exact sign test on the examples that only one of them predicts correctly.

        None for numbers, and where weights differ.
        """
        if self.broken is None or self.mended is None or self.n_effective < self.n * (1 - 1e-9):
            return None
        return sign_test(self.broken, self.mended)

    @property
    def far_worse(self) -> bool:
        """Whether the error rose by more than counts as small, with the confidence of the interval."""
        return self.increase.low > small_increase(self.measure, self.error_before.mean)

    @property
    def verdict(self) -> str:
        """What the interval of the increase says, in a sentence: whether the error rose, and by how much it may have risen.

        A difference whose interval includes 0 is not "no difference": the sentence then gives the end of the interval.
        """
        d, examples = self.increase, count(self.n, "example")
        if not d.is_told:
            return f"How the error changed cannot be told from {examples} of such weights."
        low, high = (_size(end, self.measure) for end in (d.low, d.high))
        if d.low == d.high == 0 or self.broken == self.mended == 0:
            beyond = "" if d.high == 0 else f"; of others at most {_size(d.high, self.measure)} may be"
            return f"No example is predicted worse or better{beyond}."
        first, second = self.names
        paired = self.names == NAMES  # one model, whose error changed
        if d.low > 0:
            return f"{'The error rose' if paired else f'{second} errs more than {first}'}, by {_range(low, high)}."
        if d.high < 0:
            return f"{'The error fell' if paired else f'{second} errs less than {first}'}, by {_range(high, low)}."
        if max(-d.low, d.high) <= small_increase(self.measure, self.error_before.mean):
            most = _size(max(-d.low, d.high), self.measure)
            return f"{'The error changed' if paired else 'The errors differ'} by at most {most}, on {examples}."
        too_few = f"{examples} are too few to say."
        if not paired:
            return f"{second} may err less than {first} by up to {low}, or more by up to {high}; {too_few}"
        if d.mean > 0:
            return f"The error may have risen by up to {high}; {too_few}"
        return f"The error may have fallen by up to {low} or risen by up to {high}; {too_few}"


def small_increase(measure: str, before: float) -> float:
    """The largest increase of an error that counts as small: one point of a rate, 1 % of any other error before."""
    return PARAMS.small if is_rate(measure) else PARAMS.small * before


def _range(least: str, most: str) -> str:
    """``3.1 to 15 points``; one number where both ends are written alike."""
    return most if least == most else f"{least.removesuffix(POINTS)} to {most}"


def _size(x: float, measure: str) -> str:
    """The size of a difference, without its sign: ``15 points``, ``0.32 points``."""
    if is_rate(measure):
        points = abs(100 * x)
        return f"{points:.0f}{POINTS}" if points >= 9.95 else f"{points:.2g}{POINTS}"
    return change(abs(x), measure).lstrip("+")


@dataclass(frozen=True, eq=False)
class SampleCost:
    """The cost of a model on some examples."""

    rows: NDArray[np.float64]  # float64, shape (N,): what each example pays.
    once: float  # the price of the items that are paid once for all of them.
    largest: float = math.inf  # an upper bound on what an example can pay; infinite where none is known.

    @classmethod
    def of(cls, usage: Usage, kept: NDArray[np.bool_]) -> Self:
        """What the rows of a usage pay for the splits kept."""
        largest = usage.largest_row_cost(kept)
        return cls(np.minimum(usage.row_costs(kept), largest), usage.once_cost(kept), largest)

    def mean(self, weights: NDArray[np.float64] | None, confidence: float, method: Method = "t") -> MeanInterval:
        """The mean cost with its interval, which items paid once for all examples shift."""
        return mean_interval(self.rows, self.largest, confidence, method, weights).plus(self.once)


def error_interval(
    losses: NDArray[np.float64], loss: TreeLoss, confidence: float, method: Method, weights: NDArray[np.float64]
) -> MeanInterval:
    """The mean loss with its interval, which is exact for an error rate where Student's is asked for."""
    if loss.name == "zero_one" and method == "t":
        return share_interval(losses, weights, confidence)
    return mean_interval(losses, loss.largest, confidence, method, weights)


def change_of(
    paid: tuple[SampleCost, SampleCost],
    losses: tuple[NDArray[np.float64], NDArray[np.float64]],
    weights: NDArray[np.float64],
    confidence: float,
    *,
    loss: TreeLoss,
    classes: ByClass | None = None,
    names: tuple[str, str] = NAMES,
    groups: NDArray[np.int64] | None = None,
) -> HeldOutChange:
    """Compare costs and losses of two models on the same examples of positive weight; pairs are in the order before, after.

    `groups`: shape (N,): intervals count groups, see `prunemodels.statements.mean_bounds`.
    """
    groups = repeated(groups)
    classification = loss.name in ("zero_one", "misclassification_costs")
    before, after = paid
    l_before, l_after = losses
    counted = (int((l_after > l_before).sum()), int((l_after < l_before).sum())) if classification else (None, None)
    n = len(weights)
    # what is counted is counted of examples; means and intervals are those of groups, where there are any
    if groups is not None:
        (c_before, c_after, l_before, l_after), weights = over_groups((before.rows, after.rows, *losses), weights, groups)
        before, after = replace(before, rows=c_before), replace(after, rows=c_after)
    return HeldOutChange(
        n=n,
        n_effective=effective_rows(weights),
        confidence=confidence,
        cost_before=before.mean(weights, confidence),
        cost_after=after.mean(weights, confidence),
        saving=paired_interval(before.rows - after.rows + (before.once - after.once), weights, confidence),
        error_before=error_interval(l_before, loss, confidence, "t", weights),
        error_after=error_interval(l_after, loss, confidence, "t", weights),
        increase=(paired_share_interval if loss.name == "zero_one" else paired_interval)(l_after - l_before, weights, confidence),
        broken=counted[0],
        mended=counted[1],
        measure=loss.measure,
        classes=classes,
        names=names,
        n_groups=None if groups is None else len(weights),
    )
