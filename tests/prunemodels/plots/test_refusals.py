"""What cannot be drawn: the call, and the words that name the argument, its value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import PruningProblem
from formulations.errors import InvalidInputError
from formulations.instance.papers import two_trees
from formulations.programs.matrix import MATRICES
from formulations.programs.shortest_path import tree_network
from proofs_checks import check_total_unimodularity, formulation_network
from proofs_checks.matrices.network_matrix import NetworkMatrix
from prunemodels.evaluation.held_out import hold_out
from prunemodels.plots.choice import plot_budget, plot_choice
from prunemodels.plots.curves import plot_curves
from prunemodels.plots.cut import closure_graph, plot_cut
from prunemodels.plots.history import plot_history
from prunemodels.plots.matrices import plot_matrix
from prunemodels.plots.networks import draw_network, network_graph, plot_certificate
from prunemodels.plots.picture import save_picture
from prunemodels.plots.tradeoff import plot_tradeoff
from prunemodels.plots.trees import plot_point, plot_trees
from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.prunemodels.plots.cases import HELD_OUT, ONE, TWO, X, Y, curve, evaluation, forest, path, solution
from tests.prunemodels.plots.test_every_picture import RUN

PAPERS = two_trees()
NETWORK = tree_network(PAPERS, 0)
PROGRAM = MATRICES["IP3"](PAPERS, lam=1)
SPLITS = PAPERS.ensemble.is_split
Z: dict[str, Any] = {f"z[{h}]": 0 for h in range(12)}


def crowd() -> pm.Pruning:
    """Thirty examples, each with purchases of its own."""
    return pm.Pruning.unpruned(PruningProblem.build(PAPERS.ensemble, PAPERS.errors, np.ones((30, 3)), PAPERS.costs))


@cache
def grove() -> PruningProblem:
    """150 real trees."""
    return pm.problem_from_forest(RandomForestClassifier(150, random_state=0).fit(X, Y), X[:2], costs=1)


def certificate(**changes: Any) -> NetworkMatrix:
    """Of the papers' program."""
    network = formulation_network(PAPERS, PROGRAM)
    assert network is not None
    return replace(network, **{name: change(network) for name, change in changes.items()})


def star(n: int) -> NetworkMatrix:
    """N arcs from one vertex."""
    return NetworkMatrix(np.zeros(n, dtype=int), np.arange(1, n + 1), np.zeros(n, dtype=int), np.arange(1, n + 1))


def decomposed(matrix: np.ndarray, of: np.ndarray | None = None, **options: Any) -> Figure:
    """A matrix with the verdict on it, or on another one."""
    return pm.plots.plot_decomposition(matrix, check_total_unimodularity(matrix if of is None else of, **options))


CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: plot_budget(solution(), path(2)), r"path is of another problem than solution; give one of solution\.problem"),
    (
        lambda: plot_budget(solution(), path(), [hold_out(p, forest(), *HELD_OUT) for p in (path()[0], path(2)[0])]),
        r"^held_out\[1\] is of another problem than solution",
    ),
    (lambda: plot_tradeoff(path(), chosen=path(2)[0]), r"^chosen is of another problem than path; give one of path\.problem"),
    (lambda: plot_tradeoff(path(), held_out=pm.evaluate_path(path(2), *HELD_OUT)), "^held_out is of another problem than path"),
    (lambda: plot_tradeoff(path(), held_out=[]), "^held_out is empty; give at least one HeldOut, or None"),
    (
        lambda: plot_tradeoff(path(), held_out=[hold_out(path()[0], None, HELD_OUT[0])]),
        "^held_out has no errors; give hold_out the labels too",
    ),
    (lambda: save_picture(Figure(), "a.pdf"), r"'\.pdf'; give \.png or \.svg"),
    # rows do not count from the end
    (lambda: plot_choice(evaluation(), chosen=3), "^chosen is 3; give a row of the path, 0 to 2"),
    (lambda: plot_curves([]), "curves is empty; give at least one curve"),
    (lambda: plot_curves([ONE, curve("none", [], [])]), r"curves\[1\], 'none', has no points; leave it out"),
    (lambda: plot_curves([ONE], spread={"three": np.zeros(3)}), "spread has 'three', which is no curve; there are one"),
    (lambda: plot_curves([ONE], spread={"one": np.zeros(2)}), r"spread\['one'\] has shape \(2,\); .* the curve's 3 points"),
    (lambda: plot_curves([ONE, TWO], choose_on=[ONE]), "choose_on has other curves, or other points, than curves"),
    (lambda: plot_curves([ONE, TWO], choose_on=[ONE, ONE]), "choose_on has other curves, or other points, than curves"),
    (lambda: plot_curves([ONE, TWO], choose_on=[ONE, TWO, TWO]), "choose_on has other curves, or other points, than curves"),
    (lambda: plot_history({name: column[:0] for name, column in RUN.items()}), "history has 0 rounds"),
    (lambda: plot_history({"gap": RUN["gap"]}), r"history has 3 rounds and lacks \['value', 'bound'\]; give the history"),
    (lambda: plot_history(RUN | {"gap": RUN["gap"][:2]}), r"history\['gap'\] has shape \(2,\); .* each of 3"),
    (lambda: plot_cut(crowd(), 1), r"the picture would have \d+ splits and purchases, at most 40 can be read"),
    (lambda: closure_graph(PAPERS, -1), "lam is -1, negative"),
    (
        lambda: draw_network(tree_network(path().problem, 0, expanded=True)),
        "the picture would have .* arcs, at most 60 can be read",
    ),
    (lambda: draw_network(NETWORK, path=[1, 7]), "path has arc 7; give arcs of the network, 0 to 6"),
    (lambda: draw_network(NETWORK, path=[-1]), "path has arc -1"),
    (lambda: draw_network(NETWORK, path=[]), r"path has shape \(0,\)"),
    (lambda: draw_network(NETWORK, path=[0.5, 1.5]), r"path has shape \(2,\) and the type float64"),
    (lambda: network_graph(NETWORK, np.ones(6)), r"cost has shape \(6,\); give one number for each of the network's 7 arcs"),
    (lambda: plot_matrix(np.ones((401, 2), dtype=int)), "the picture would have 401 rows and 2 columns, at most 400"),
    (lambda: plot_matrix(np.zeros((0, 3), dtype=int)), "matrix has 0 rows and 3 columns; give at least one of each"),
    (lambda: plot_matrix([[1, 0], [2, 1]]), "the entry in row r1, column c0 is 2; only -1, 0 and 1 are drawn"),
    (
        lambda: plot_certificate(PROGRAM, certificate(start=lambda network: np.roll(network.start, 1))),
        "network is no certificate of this matrix: .* is not the path",
    ),
    (
        lambda: plot_certificate(PROGRAM, certificate(), paths=["leaf[0]"]),
        r"there is no path 'leaf\[0\]'; there are leaf\[1\], ..., coupling\[9,2,0\]",
    ),
    (lambda: plot_certificate(PROGRAM, certificate(), paths=list(PROGRAM.rows)[:5]), "paths has 5 names; give at most 4"),
    (lambda: plot_certificate(np.eye(81, dtype=int), star(81)), "the picture would have 81 arcs, at most 80 can be read"),
    (lambda: decomposed(np.eye(500, dtype=np.int8)), "the picture would have 500 rows and 500 columns, at most 400"),
    (
        lambda: decomposed(np.ones((12, 12), dtype=np.int8), families.block_diagonal(families.r10(), families.r12())),
        "not one of this matrix",
    ),
    (lambda: decomposed(families.r10(), method="subdeterminants"), "give a network, a decomposition or a violating submatrix"),
    (lambda: plot_trees(PAPERS, trees=[]), r"trees is \[\]; give different numbers between 0 and 1, at least one"),
    (lambda: plot_trees(PAPERS, trees=[2]), r"trees is \[2\]; give different numbers between 0 and 1"),
    (lambda: plot_trees(PAPERS, trees=[-1]), r"trees is \[-1\]"),
    (lambda: plot_trees(PAPERS, trees=[0, 0]), r"trees is \[0, 0\]"),
    (lambda: plot_trees(PAPERS, row=1), "row is 1; the cost sample has the rows 0 to 0"),
    (lambda: plot_trees(PAPERS, row=-1), "row is -1"),
    (lambda: plot_trees(PAPERS, notes={12: "e = 1"}), "notes has node 12; the forest has the nodes 0 to 11"),
    (lambda: plot_trees(PAPERS, kept=np.zeros(5, dtype=bool)), r"kept has shape \(5,\); .* each of the forest's 12 nodes"),
    (lambda: plot_trees(PAPERS, kept=np.arange(12) == 2), "kept keeps node 2, whose parent it cuts off; give the splits of"),
    (lambda: plot_trees(PAPERS, kept=SPLITS | (np.arange(12) == 1)), "kept keeps node 1, which is a leaf"),
    (lambda: plot_trees(grove(), trees=range(150)), r"the picture would have [\d,]+ nodes, at most 4,000 can be read"),
    (lambda: plot_trees(grove(), trees=range(20), named=True), "at most 400 can be read"),
    (lambda: plot_point(PAPERS, Z | {"w[3,0]": 1}), r"point has w\[3,0\]; .* the items 0 to 2 and the examples 0 to 0"),
    (lambda: plot_point(PAPERS, Z | {"w[0,1]": 1}), r"point has w\[0,1\]; "),
    (lambda: plot_point(PAPERS, Z | {"w[lab]": 1}), r"point has w\[lab\]; "),
    (lambda: plot_point(PAPERS, Z | {"w[0,0]": None}), r"point\['w\[0,0\]'\] is None; give a number"),
    (lambda: plot_point(PAPERS, Z | {"z[3]": "one"}), r"point\['z\[3\]'\] is 'one'; give a number"),
    (lambda: plot_point(PAPERS, {"y[0]": 1}), r"point has no z\[0\]; give one of a formulation in z"),
]


@pytest.mark.parametrize(("call", "words"), CALLS)
def test_what_cannot_be_drawn_is_refused(call: Callable[[], Any], words: str) -> None:
    """Before anything is drawn."""
    with pytest.raises(InvalidInputError, match=words):
        call()
