"""Is a pruning optimal? The value by routing again, the bound from the certificate, both in exact fractions.

    OPT >= error of the all-roots forest - sum over trees of (best closure, profit_h - loads of h)               (1)

holds for all loads >= 0 that charge no purchase more than lambda times its price: relax the coupling rows, weak
duality. `proofs_checks.recount` shares no code with the solvers; a certificate of scores is taken up in
`proofs_checks.shared_prices`.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.cost_items import exact
from formulations.problem import PruningProblem
from formulations.pruning_path import PruningPath
from formulations.solution import ItemLoads, Solution
from proofs_checks.recount import Recount, Refuted
from proofs_checks.shared_prices import bound_of_scores
from proofs_checks.verdict import Verdict

METHOD = "routing again, weak duality in exact fractions"


def check_solution(problem: PruningProblem, solution: Solution) -> Verdict:
    """Does the solution's pruning have its value, and does its certificate prove its bound?

    Exact fractions in pure Python: for small instances, some ten thousand usage arcs.

    Parameters
    ----------
    problem
        the instance, not necessarily the one that the solution carries.
    solution
        with a certificate: `ItemLoads`, or `SharedPrices`.

    Returns
    -------
    Verdict
        certificate: value, bound and gap as floats, or what is wrong. None where the solution carries no certificate.
    """
    claim = f"the pruning is worth {solution.value!r} at lambda = {solution.lam!r}, and no pruning less than {solution.bound!r}"
    if solution.pruning is None or solution.certificate is None:
        return Verdict(claim, None, METHOD, "the solution carries no pruning, or no certificate")
    recount = Recount(problem)
    certificate = solution.certificate
    try:
        error, cost = recount.objective(solution.pruning)
        lam = exact(solution.lam, "lam")
        value = error + lam * cost
        if certificate.lam > lam:
            raise Refuted(f"the certificate was made for lambda = {certificate.lam}, above {lam}")
        if isinstance(certificate, ItemLoads):
            bound = recount.bound(_loads(problem, certificate), certificate.lam)
        else:
            bound = bound_of_scores(recount, certificate, error + certificate.lam * cost)
    except Refuted as wrong:
        return Verdict(claim, False, METHOD, str(wrong))
    found = {"value": float(value), "bound": float(bound), "gap": float(value - bound)}
    precision = 1e-12 * max(1.0, abs(float(value)))
    holds = abs(float(value) - solution.value) <= precision and float(bound) >= solution.bound - precision
    return Verdict(claim, holds, METHOD, found)


def _loads(problem: PruningProblem, certificate: ItemLoads) -> dict[tuple[int, int], Fraction]:
    """The loads by split and purchase."""
    arcs = problem.usage_arcs()
    if certificate.load.shape != arcs.tail.shape:
        raise Refuted(f"{certificate.load.size} loads for {arcs.tail.size} usage arcs")
    named = zip(arcs.tail.tolist(), arcs.head.tolist(), certificate.load.tolist(), strict=True)
    return {(t, j): k * certificate.unit for t, j, k in named if k}


def check_path(path: PruningPath) -> Verdict:
    """Is every row of the path optimal at its breakpoint and up to the next, and are they nested?

    The path's one dual state serves every lambda: a load above lambda times its purchase's price is scaled down to
    it. Exact fractions in pure Python: for small instances. Rounded instances are checked on the integers' errors up
    to their stated rounding.
    """
    claim = f"all {len(path)} prunings of the path are optimal, and nested"
    if path.certificate is None:
        return Verdict(claim, None, METHOD, "the path carries no certificate")
    recount, problem = Recount(path.problem), path.problem
    unit, arcs, top = problem.integers.gain_unit, problem.usage_arcs(), len(path.breakpoints)
    if path.certificate.load.shape != arcs.tail.shape:
        return Verdict(claim, False, METHOD, f"{path.certificate.load.size} loads for {arcs.tail.size} usage arcs")
    full: dict[tuple[int, int], Fraction] = {}
    borne: dict[int, Fraction] = defaultdict(Fraction)
    for t, j, k in zip(arcs.tail, arcs.head, path.certificate.load, strict=True):
        if k:
            level = int(path.level[t])
            if not 0 <= level < top:
                return Verdict(claim, False, METHOD, f"split {t} ships to purchase {j} without a breakpoint of its own")
            full[int(t), int(j)] = int(k) * unit / path.certificate.denominator[level]
            borne[int(j)] += full[int(t), int(j)]
    slack = Fraction(problem.integers.error_rounding)
    before: NDArray[np.bool_] | None = None
    worst = Fraction(0)
    for k, pruning in enumerate(path):
        if before is not None and (pruning.kept & ~before).any():
            return Verdict(claim, False, METHOD, f"row {k} keeps a split that row {k - 1} prunes")
        before = pruning.kept
        for lam in _ends(path, k):
            share = {j: min(Fraction(1), lam * recount.price_of(j) / b) for j, b in borne.items() if b}
            loads = {(t, j): load * share[j] for (t, j), load in full.items()}
            try:
                error, cost = recount.objective(pruning)
                gap = error + lam * cost - recount.bound(loads, lam)
            except Refuted as wrong:
                return Verdict(claim, False, METHOD, f"row {k}: {wrong}")
            allowed = 2 * (slack + lam * Fraction(problem.integers.cost_rounding))
            if not 0 <= gap <= allowed:
                return Verdict(claim, False, METHOD, f"row {k} at lambda = {lam}: gap {float(gap)!r}")
            worst = max(worst, gap)
    return Verdict(claim, True, METHOD, {"rows": len(path), "largest gap": float(worst)})


def _ends(path: PruningPath, k: int) -> list[Fraction]:
    """Both ends of the interval of lambda on which row k is optimal (one more beyond the last breakpoint)."""
    ends = [*path.breakpoints, path.breakpoints[-1] + 1]
    return ends[k : k + 2] if path.ties == "smallest" else ends[max(k - 1, 0) : k + 1]
