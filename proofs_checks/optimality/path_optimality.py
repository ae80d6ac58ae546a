"""Is every pruning of a path optimal, for every lambda at once?

One dual state serves every lambda, see `proofs_checks.optimality.path_evidence`. A *block* is a maximal connected set of splits
of one tree and one level l; its splits' profits are

    profit_h  =  gain_h  -  lambda_l evaluation_h  -  loads_h,      at its own breakpoint lambda_l                            (1)

and all that optimality asks of the trees is

    sum of the profits of the splits of h's block at and below h  >=  0                 for every split h that is ever kept   (2)
    best closure of the block  <=  0                             for every block that is pruned at some lambda, or never kept  (3)
    splits that are kept for all lambda cost nothing                                                                        (4)

That is sufficient. Let lambda be on the interval of a row. Profits, as functions of lambda, fall. So by (3) no closure of a block
that is pruned there is worth anything, nor of the blocks below it, which were pruned no later; and by (2) no kept split gains by
going with what is kept below it, its own block's part or others'. So the row's pruning is a best closure of every tree under the
duals; what it buys bears its full price, by splits that it keeps, which bear nothing else. Value and bound are the same number,
exactly. That holds on the whole of the row's interval, both ends included; the intervals cover every lambda >= 0, and the last
row, which is free by (4), stays optimal for ever. So no breakpoint is missing.

The path also says *which* optimum it holds. A split with its block's part below it could go without loss just before its
breakpoint if these have neither profit nor duals nor evaluation costs; a closure of its block could stay without loss beyond it
if it is worth nothing, buys nothing new (so bears no duals) and has no evaluation costs. So

    smallest:  (2) with > 0, or one of them has duals or an evaluation cost                                                  (5)
    largest:   (3) with < 0 for closures that buy nothing new and have no evaluation cost                                   (6)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning_path import PathCertificate, PruningPath
from formulations.arguments import checked
from proofs_checks.optimality.integer_instance import Distance, check_integers
from proofs_checks.optimality.path_evidence import PathEvidence, read_evidence
from proofs_checks.optimality.recount import PRECISION, Recount, Refuted, shown
from proofs_checks.verdict import Verdict

METHOD = "every example sent down the trees again, one dual solution for all lambda, in exact integers"


@dataclass(frozen=True, eq=False)
class PathProof:
    """A path that was checked.

    Parameters
    ----------
    distance
        how far the integers that it was proven in can be from the real instance; 0 where nothing was rounded.
    surplus
        the left side of (2) for every split, in integer gains over the denominator of its level.
    error, cost
        of every row, exactly, of the real instance.
    """

    evidence: PathEvidence
    distance: Distance
    surplus: dict[int, int]
    error: list[Fraction]
    cost: list[Fraction]


@checked
def check_path(path: PruningPath, X: Any = None) -> Verdict:
    """Is every row of the path optimal on all of its interval, the smallest or largest optimum as it says, and are they nested?

    Exact, by passes over the usage arcs and the trees, as few for a thousand rows as for one: seconds for some millions of arcs.
    Cost and error, the columns that it reports, are recomputed. Rounded instances are checked in their integers, and how far
    these can be from the instance is recomputed: twice that bounds the gap of a row.

    Parameters
    ----------
    X
        the cost sample, if it is not the table that the problem refers to.

    Returns
    -------
    Verdict
        certificate: rows, and what bounds the gap of each at its breakpoint, as a float; or what is wrong. None where the path
        carries no certificate.

    Raises
    ------
    InvalidInputError
        for a table, weights or prices that are invalid.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import path
    >>> verdict = pm.checks.check_path(path)
    >>> print(verdict.claim)
    all 14 prunings of the path are optimal, each the smallest optimum, and nested
    >>> verdict.holds
    True
    """
    claim = f"all {len(path)} prunings of the path are optimal, each the {path.ties} optimum, and nested"
    certificate: object = path.certificate  # whatever it is
    if certificate is None:
        why = f": it is optimal only up to a relative gap of {path.relative_gap:.2g}" if any(path.gaps) else ""
        return Verdict(claim, None, METHOD, f"the path carries no certificate{why}")
    if not isinstance(certificate, PathCertificate):
        return Verdict(claim, False, METHOD, f"the certificate is {type(certificate).__name__}, no duals of a path")
    try:
        proof = prove_path(path, X)
    except Refuted as wrong:
        return Verdict(claim, False, METHOD, str(wrong))
    gap = 2 * (proof.distance.error + path.breakpoints[-1] * proof.distance.cost)
    return Verdict(claim, True, METHOD, {"rows": len(path), "largest gap": float(gap)})


def prove_path(path: PruningPath, X: Any = None) -> PathProof:
    """The proof of a path with a certificate.

    Raises
    ------
    Refuted
        if the path is not optimal as it says.
    """
    recount = Recount(path.problem, X)
    distance = check_integers(recount)
    evidence = read_evidence(path, recount)
    surplus, charged = _surplus(evidence)
    _check_blocks(evidence)
    _check_forever(evidence, surplus)
    if path.ties == "smallest":
        _check_smallest(evidence, surplus, charged)
    else:
        _check_largest(evidence)
    error, cost = _check_columns(evidence)
    return PathProof(evidence, distance, surplus, error, cost)


def _surplus(evidence: PathEvidence) -> tuple[dict[int, int], dict[int, bool]]:
    """(2), and whether anything at or below a split in its block has duals or an evaluation cost, the case of (5)."""
    recount, level = evidence.recount, evidence.level
    evaluation = evidence.path.problem.integers.evaluation
    surplus: dict[int, int] = {}
    charged: dict[int, bool] = {}
    for h in reversed(recount.splits):
        same = [c for c in (recount.left[h], recount.right[h]) if level.get(c) == level[h]]
        surplus[h] = evidence.profit(h) + sum(surplus[c] for c in same)
        charged[h] = evidence.duals[h] > 0 or evaluation[h] > 0 or any(charged[c] for c in same)
        if surplus[h] < 0 and level[h] >= 0:
            raise Refuted(f"split {h} and what is below it are kept up to breakpoint {level[h]}, which does not pay")
    return surplus, charged


def _check_blocks(evidence: PathEvidence) -> None:
    """(3): the best closure of every block, at its top; and (6) for what is never kept, at lambda = 0, where all is free."""
    recount, level = evidence.recount, evidence.level
    largest = evidence.path.ties == "largest"
    worth: dict[int, int] = {}
    for h in reversed(recount.splits):
        same = [c for c in (recount.left[h], recount.right[h]) if level.get(c) == level[h]]
        worth[h] = evidence.profit(h) + sum(max(0, worth[c]) for c in same)
        if _is_top(evidence, h) and level[h] < evidence.top:
            if worth[h] > 0:
                raise Refuted(f"split {h} is pruned from breakpoint {max(0, level[h])} on, where keeping it still pays")
            if largest and level[h] < 0 and worth[h] == 0:
                raise Refuted(f"split {h} is never kept, though it costs nothing at lambda = 0: not the largest optimum")


def _check_forever(evidence: PathEvidence, surplus: dict[int, int]) -> None:
    """(4) for evaluation prices (priced purchases are refused earlier), and (5) for what is always kept."""
    evaluation = evidence.path.problem.integers.evaluation
    for h, level in evidence.level.items():
        if level == evidence.top:
            if evaluation[h] > 0:
                raise Refuted(f"split {h} is kept for all lambda, yet its evaluation has a price")
            if surplus[h] == 0 and evidence.path.ties == "smallest":
                raise Refuted(f"split {h} could go for nothing: not the smallest optimum")


def _check_smallest(evidence: PathEvidence, surplus: dict[int, int], charged: dict[int, bool]) -> None:
    """(5)."""
    for h, level in evidence.level.items():
        if 0 <= level < evidence.top and surplus[h] == 0 and not charged[h]:
            raise Refuted(f"split {h} could go before breakpoint {level} for nothing: not the smallest optimum")


def _check_largest(evidence: PathEvidence) -> None:
    """(6): closures of splits that buy nothing new and whose evaluation is free."""
    recount, level = evidence.recount, evidence.level
    evaluation, gain = evidence.path.problem.integers.evaluation, evidence.path.problem.integers.gain
    worth: dict[int, int] = {}
    for h in reversed(recount.splits):
        if not 0 <= level[h] < evidence.top or evaluation[h] > 0:
            continue
        if any((evidence.purchase_level[recount.purchases(h, m)] == level[h]).any() for m in recount.charged_items[h]):
            continue
        same = [c for c in (recount.left[h], recount.right[h]) if level.get(c) == level[h]]
        worth[h] = int(gain[h]) + sum(max(0, worth.get(c, 0)) for c in same)
        if _is_top(evidence, h) and worth[h] >= 0:
            raise Refuted(f"split {h} could stay beyond breakpoint {level[h]} for nothing: not the largest optimum")


def _is_top(evidence: PathEvidence, h: int) -> bool:
    """Whether h is the top of its block."""
    return evidence.level.get(evidence.recount.parent[h]) != evidence.level[h]


def _check_columns(evidence: PathEvidence) -> tuple[list[Fraction], list[Fraction]]:
    """Errors and costs of the rows; the columns of the path must be these."""
    path, recount = evidence.path, evidence.recount
    ints, first, rows = path.problem.integers, evidence.first_level, len(path)
    gain, integer_gain, cost, integer_cost = ([0] * (evidence.top + 1) for _ in range(4))
    for h, level in evidence.level.items():
        if level >= 0:
            gain[level] += recount.gain(h)
            integer_gain[level] += int(ints.gain[h])
            cost[level] += recount.evaluation[h]
            integer_cost[level] += int(ints.evaluation[h])
    for m in range(recount.costs.n_items):
        if recount.priced[m]:
            levels = evidence.purchase_level[recount.by_item(m)]
            _add_by_level(cost, levels, recount.prices(m))
            weights = np.array([int(ints.weight.sum())]) if recount.once[m] else ints.weight
            _add_by_level(integer_cost, levels, weights.astype(object) * int(ints.price[m]))
    kept = [_suffixes(amounts)[first : first + rows] for amounts in (gain, cost, integer_gain, integer_cost)]
    error = [(recount.roots_error() - g) * recount.error_unit for g in kept[0]]
    costs = [c * recount.cost_unit for c in kept[1]]
    check_column("error", path.error, error)
    check_column("cost", path.cost, costs)
    for name, given, mine in (("integer_gain", path.integer_gain, kept[2]), ("integer_cost", path.integer_cost, kept[3])):
        if list(given) != mine:
            raise Refuted(f"the path's {name} is not that of its prunings")
    return error, costs


def _suffixes(by_level: list[int]) -> list[int]:
    """Sums of a list from each place on."""
    sums = [0]
    for amount in reversed(by_level):
        sums.append(sums[-1] + amount)
    return sums[::-1]


def _add_by_level(sums: list[int], level: NDArray[np.int64], amounts: NDArray[np.object_]) -> None:
    """Add amounts to the sums of their levels."""
    for at in np.unique(level):
        if at >= 0:
            sums[at] += int(amounts[level == at].sum())


def check_column(name: str, given: NDArray[np.float64], mine: list[Fraction]) -> None:
    """Compare floats with exact numbers, up to `PRECISION` of the largest; NaN fails, since no comparison with it is true."""
    if not isinstance(given, np.ndarray) or given.shape != (len(mine),):
        raise Refuted(f"the path's column {name} has not one number for each of {len(mine)} rows")
    precision = PRECISION * max(map(abs, mine), default=Fraction(0))
    for k, (number, true) in enumerate(zip(given.tolist(), mine, strict=True)):
        if not abs(number) < float("inf") or abs(Fraction(number) - true) > precision:
            raise Refuted(f"row {k} has the {name} {shown(true)}, not {number!r}")
