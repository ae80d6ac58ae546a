"""What lies on the edges of the hull: the optimal prunings at a breakpoint.

At the breakpoint of level l the optima lie between the two neighbouring rows of the path (others have the cost and the error of
one that does). By complementary slackness with the path's duals a set X of splits of level l, added to the cheaper row, is an
optimum exactly if it is closed under

    h -> parent of h,  of level l                                     prunings                                            (1)
    h -> child c of h, of level l,  where the surplus of c is > 0     best closures of the trees under the duals           (2)
    h -> purchase j of level l that h needs,   j -> every split with a dual on j         what is bought is paid in full     (3)

Strongly connected components of (1) to (3) stay together. If there is only one, nothing lies between the ends. All X are worth 0
at the breakpoint, so adding a component adds gain / lambda_l to the cost, in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from formulations.answers.pruning_path import PathShares, PruningPath
from formulations.answers.solution import Status
from proofs_checks.optimality.path_optimality import PathProof, prove_path
from proofs_checks.optimality.recount import Refuted
from proofs_checks.params import DEFAULTS


@dataclass(frozen=True, eq=False)
class LevelComponents:
    """The components of one level."""

    gain: tuple[int, ...]  # integer gain of each component, >= 0.
    needs: tuple[frozenset[int], ...]  # for each component the others that it cannot be without.

    def reaches(self, gain: int) -> bool | None:
        """Whether some closed set of components has exactly this integer gain; None: not decided."""
        if gain in (0, sum(self.gain)):
            return True
        if len(self.gain) == 1:
            return False
        if sum(self.gain) <= DEFAULTS.most_tabulated_gain:
            sums = 1
            for g in self.gain:
                sums |= sums << g
            if not sums >> gain & 1 or not any(self.needs):
                return bool(sums >> gain & 1)
        return self._listed(gain)

    def _listed(self, gain: int) -> bool | None:
        """The same by listing closed sets, those that a component needs before it."""
        sets = {frozenset[int](): 0}
        for c in self._in_order():
            grown = {s | {c}: total + self.gain[c] for s, total in sets.items() if self.needs[c] <= s}
            if gain in grown.values():
                return True
            sets |= grown
            if len(sets) > DEFAULTS.most_sets:
                return None
        return False

    def _in_order(self) -> Iterator[int]:
        """Components, each after all that it needs."""
        done: set[int] = set()
        todo = list(range(len(self.gain)))
        while todo:
            ready = [c for c in todo if self.needs[c] <= done]
            yield from ready
            done.update(ready)
            todo = [c for c in todo if c not in done]


def prove_edges(path: PruningPath, X: Any = None) -> PathProof:
    """The proof of a path that is exact, or exact up to rounding, and has a dual for each usage arc, as (3) needs it."""
    if path.certificate is None:
        raise Refuted("the path carries no certificate")
    if isinstance(path.certificate, PathShares):
        raise Refuted("the path's certificate has no dual for each usage arc")
    try:
        proof = prove_path(path, X)
    except Refuted as wrong:
        raise Refuted(f"the path is not proven: {wrong}") from None
    if path.status is not Status.OPTIMAL:
        raise Refuted(f"the path is optimal only up to a relative gap of {proof.relative_gap:.2g}")
    return proof


def edges_of(proof: PathProof) -> dict[int, LevelComponents]:
    """The components of every level, all levels at once: (1) to (3) never leave one."""
    evidence = proof.evidence
    n, level = evidence.recount.ensemble.n_nodes, evidence.level
    tail, head = _arcs(proof)
    size = n + evidence.recount.n_purchases
    graph = sparse.csr_array((np.ones(tail.size, dtype=np.int8), (tail, head)), shape=(size, size))
    _, label = csgraph.connected_components(graph, directed=True, connection="strong")
    members: dict[int, dict[int, int]] = {}  # level -> label -> gain
    for h, at in level.items():
        if 0 <= at < evidence.top:
            found = members.setdefault(at, {})
            found[int(label[h])] = found.get(int(label[h]), 0) + evidence.recount.gain(h)
    needs = _needs(label, tail, head, {c for found in members.values() for c in found})
    components = {}
    for at, found in members.items():
        place = {c: k for k, c in enumerate(found)}
        components[at] = LevelComponents(tuple(found.values()), tuple(frozenset(place[d] for d in needs[c]) for c in found))
    return components


def _needs(label: NDArray[Any], tail: NDArray[Any], head: NDArray[Any], of_splits: set[int]) -> dict[int, set[int]]:
    """The components that each one needs directly, or through a purchase that is a component by itself."""
    apart = label[tail] != label[head]
    pairs = np.unique(np.stack([label[tail[apart]], label[head[apart]]]), axis=1)
    direct: dict[int, set[int]] = {}
    for a, b in pairs.T.tolist():
        direct.setdefault(a, set()).add(b)
    found: dict[int, set[int]] = {}
    for c in of_splits:
        through = direct.get(c, set())
        found[c] = {e for d in through for e in ({d} if d in of_splits else direct.get(d, set())) if e != c}
    return found


def _arcs(proof: PathProof) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(1) to (3); purchase j is vertex n + j."""
    evidence = proof.evidence
    recount, level, n = evidence.recount, evidence.level, evidence.recount.ensemble.n_nodes
    tails: list[NDArray[np.int64]] = []
    heads: list[NDArray[np.int64]] = []
    between = [(h, recount.parent[h]) for h in level if level.get(recount.parent[h]) == level[h]]
    between += [(above, h) for h, above in between if proof.surplus[h] > 0]
    pairs = np.array(between, dtype=np.int64).reshape(-1, 2)
    tails.append(pairs[:, 0])
    heads.append(pairs[:, 1])
    for segment, dual in evidence.segments():
        at = level[segment.split]
        if not 0 <= at < evidence.top:
            continue
        mine = segment.purchases[evidence.purchase_level[segment.purchases] == at] + n
        with_dual = segment.purchases[dual > 0] + n
        tails += [np.full(mine.size, segment.split), with_dual]
        heads += [mine, np.full(with_dual.size, segment.split)]
    return np.concatenate(tails), np.concatenate(heads)
