"""How many trees use a feature for an example, as in Table 1 of BP16.

    c_{i,f}  =  number of trees on whose path for example i some kept split tests feature f                                (1)

The table gives the shares of the pairs (i, f) with c = 0, with c from 1 to 7, and with more. An example pays for f as soon as
c > 0, so pruning saves on features that few trees use. For the trees of a pipeline, f stands for a raw column: a tree uses it
where it tests a feature that is made from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import features_of

FEW = 7
"""The largest number of trees that BP16 counts as few."""


@dataclass(frozen=True, eq=False)
class UsageCounts:
    """The distribution of (1): entry k of `share`, shape (T + 1,), is the share of the pairs, weighted by example, with c = k.

    `features` is the mean number of features that an example uses.
    """

    share: NDArray[np.float64]
    features: float

    @property
    def bins(self) -> tuple[float, float, float]:
        """Shares of no use, 1 to 7 trees, more than 7 trees."""
        return float(self.share[0]), float(self.share[1 : FEW + 1].sum()), float(self.share[FEW + 1 :].sum())


def usage_counts(ensemble: Ensemble, kept: NDArray[np.bool_], X: Any, weights: NDArray[np.float64]) -> UsageCounts:
    """Count (1) over examples with weights > 0; `kept` are the splits kept, closed under parents."""
    rows = features_of(ensemble, X)
    tally = np.zeros(ensemble.n_trees + 1)
    e, n_columns = ensemble, len(ensemble.column_names)
    sources = [(f,) for f in range(e.n_features)] if e.made is None else e.made.sources
    start = np.cumsum([0, *map(len, sources)])
    column = np.array([c for columns in sources for c in columns], dtype=np.int64)
    trees = (e.roots, e.left, e.right, e.feature, e.threshold, e.missing_left)
    _tally(rows, weights, *trees, start, column, n_columns, kept, tally)
    share = tally / (weights.sum() * n_columns)
    return UsageCounts(share, float((1 - share[0]) * n_columns))


@njit(cache=True)
def _tally(  # type: ignore[no-untyped-def]
    rows, weights, roots, left, right, feature, threshold, missing_left, start, column, n_columns, kept, tally
):
    """For each pair of an example and a column, add the example's weight to `tally` at the number of trees that use the pair."""
    uses = np.zeros(n_columns, dtype=np.int64)
    last = np.full(n_columns, -1, dtype=np.int64)
    for i in range(rows.shape[0]):
        uses[:] = 0
        last[:] = -1
        for t in range(roots.shape[0]):
            h = roots[t]
            while kept[h]:
                f = feature[h]
                for c in column[start[f] : start[f + 1]]:
                    if last[c] != t:
                        last[c] = t
                        uses[c] += 1
                x = rows[i, f]
                goes_left = missing_left[h] if np.isnan(x) else x <= threshold[h]
                h = left[h] if goes_left else right[h]
        for c in range(n_columns):
            tally[uses[c]] += weights[i]
