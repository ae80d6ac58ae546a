"""What section 6 of NWS15 says in words of its Table 1, decided by the 95 % intervals of our numbers.

Numbers are those of `benchmarks.papers.nws15_table1`: the share of the cost at the printed rise of the error, and the rise at the
printed share, one in each repeat. Data sets with fewer than three repeats have no say, nor has CIFAR-10, which is absent here.

    significantly improves    at the printed rise the interval of the share is below the whole cost, on every data set
    always incurs less        at both printed rises the mean share is less than that of pruning tree by tree, on every data set
    quite significant         by more than the interval of the difference, at both, on more than half of the data sets
    a share without a loss    the rise at the printed share may be as small as the printed one, or 0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.measuring import mean_of
from benchmarks.papers.experiment import Comparison
from benchmarks.papers.published import NAMES, NWS15_TABLE_1
from benchmarks.papers.verdicts import FEWEST, half_width

SHARES = (
    ("miniboone", "low", "about 68 % of the unpruned cost at the same level of test error"),
    ("miniboone", "high", "43 % of the original budget maintains approximately the same level of accuracy"),
    ("heart_statlog", "low", "73 % of the unpruned cost without losing accuracy"),
)


def sentences(numbers: Mapping[str, Mapping[str, Sequence[float]]]) -> list[Comparison]:
    """The sentences with what ours are; `numbers` holds all of Table 1's for each data set, by the names of the columns."""
    known = {
        data: of for data, of in numbers.items() if all(len(of.get(name, ())) >= FEWEST for name in NWS15_TABLE_1[data].numbers())
    }
    found = _of_all(known) if known else []
    for data, level, text in SHARES:
        if data in known:
            column, printed = f"ens.pru.{level}", NWS15_TABLE_1[data].numbers()
            rises, share = known[data][f"{column}: rise of the error"], printed[f"{column}: % of unpruned cost"][0]
            told = f"{100 * mean_of(rises):+.2f} ± {100 * half_width(rises):.2f} points of error at {share:.0f} % of the cost"
            holds = mean_of(rises) - half_width(rises) <= max(printed[f"{column}: rise of the error"][0], 0.0)
            found.append(Comparison(f"{NAMES[data]}, {level} level in words", text, told, holds=holds))
    return found


def _of_all(known: Mapping[str, Mapping[str, Sequence[float]]]) -> list[Comparison]:
    """The three sentences on all data sets."""
    n, saved, ahead, clear = len(known), 0, 0, 0
    for of in known.values():
        ens, ind = ([np.array(of[f"{k}.pru.{level}: % of unpruned cost"]) for level in ("low", "high")] for k in ("ens", "ind"))
        more = [dearer - share for dearer, share in zip(ind, ens, strict=True)]
        saved += mean_of(ens[0]) + half_width(ens[0]) < 100
        ahead += sum(mean_of(x) > 0 for x in more)
        clear += all(mean_of(x) > half_width(x) for x in more)
    of_all = f"of {n} data sets"
    costs, one_by_one = (
        f"below the whole cost at the printed rise on {saved} {of_all}",
        f"less at {ahead} of two levels each {of_all}",
    )
    together, clearly = "ensemble against individual pruning", f"beyond the interval on {clear} {of_all}"
    significant = "quite significant in most of the datasets"
    return [
        Comparison("ensemble pruning", "significantly improves BudgetRF", costs, holds=saved == n),
        Comparison(together, "always less cost at a level", one_by_one, holds=ahead == 2 * n),
        Comparison("advantage over individual pruning", significant, clearly, holds=2 * clear > n),
    ]
