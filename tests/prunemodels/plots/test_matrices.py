"""Pictures of matrices and of their decompositions."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

import prunemodels as pm
from formulations.instance.papers import two_trees
from formulations.programs.matrix import MATRICES
from formulations.programs.shortest_path import tree_network
from proofs_checks import check_total_unimodularity, formulation_network
from proofs_checks.matrices.network_matrix import NetworkMatrix
from proofs_checks.total_unimodularity.explanation import leaves_of
from prunemodels.plots.matrices import math_name, plot_matrix
from prunemodels.plots.networks import PATHS, plot_certificate
from prunemodels.plots.picture import Picture
from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.proofs_checks.total_unimodularity.matrix_families import nested

PROGRAM = MATRICES["IP3"](two_trees(), lam=1)
NETWORK = formulation_network(two_trees(), PROGRAM)
assert NETWORK is not None


def bands(figure: Figure) -> dict[str, set[frozenset[tuple[float, float]]]]:
    """The arcs of each path, by its colour."""
    found = [c for c in figure.axes[0].collections if isinstance(c, LineCollection)]
    return {to_hex(c.get_colors()[0]): {frozenset(map(tuple, part.tolist())) for part in c.get_segments()} for c in found}


def test_names_as_formulas() -> None:
    """Variables of the formulations are formulas, everything else stays as it is."""
    assert math_name("z[3]") == "$z_{3}$"
    assert math_name("w_t[2,1,0]") == "$w^t_{2{,}1{,}0}$"
    assert math_name("w[1,all]") == r"$w_{1{,}\mathrm{all}}$"
    assert math_name("y[12]") == "$y_{12}$"
    assert math_name("leaf[3]") == "leaf[3]"
    assert math_name("z1") == "z1"


def test_entries_and_names() -> None:
    """A small matrix has its numbers and its names, where they stand."""
    network = tree_network(two_trees(), 0, expanded=True)
    figure = plot_matrix(network.incidence(), columns=list(network.arcs))
    ax = figure.axes[0]
    dense = network.incidence().toarray()
    (image,) = ax.images
    assert (np.asarray(image.get_array()) == dense).all()
    written = {(int(t.get_position()[1]), int(t.get_position()[0])): int(t.get_text().replace("−", "-")) for t in ax.texts}
    assert written == {(i, j): dense[i, j] for i, j in np.argwhere(dense).tolist()}
    assert [t.get_text() for t in ax.get_xticklabels()] == [math_name(name) for name in network.arcs]
    assert [t.get_text() for t in ax.get_yticklabels()] == [f"r{k}" for k in range(6)]
    colours = image.cmap(image.norm([-1, 0, 1]))
    assert [to_hex(c) for c in colours] == ["#d55e00", "#ffffff", "#0072b2"]
    assert isinstance(figure, Picture)


@pytest.mark.slow
def test_programs_and_large_matrices() -> None:
    """A program brings its names; beyond 30 lines there are only colours."""
    ax = plot_matrix(PROGRAM).axes[0]
    assert [t.get_text() for t in ax.get_yticklabels()][:2] == ["leaf[1]", "leaf[3]"]
    large = plot_matrix(np.eye(400, 31, dtype=int)).axes[0]
    assert not large.texts
    assert (large.get_xlabel(), large.get_ylabel()) == ("31 columns", "400 rows")
    assert len(plot_matrix(np.eye(30, dtype=int)).axes[0].texts) == 30
    assert len(plot_matrix(np.eye(31, dtype=int)).axes[0].texts) == 0


def test_the_forests_tree() -> None:
    """Every arc of the certificate is an arrow with its variable's name; z hangs below the hub, w above it."""
    ax = plot_certificate(PROGRAM, NETWORK).axes[0]
    texts = {t.get_text(): t.get_position() for t in ax.texts}
    assert set(texts) == {"R", *map(math_name, PROGRAM.columns)}
    assert sum(isinstance(p, FancyArrowPatch) for p in ax.patches) == len(PROGRAM.columns)
    hub = texts["R"]
    assert hub[1] == 0
    assert all((position[1] > 0) == name.startswith("$w") for name, position in texts.items() if name != "R")
    places = [tuple(p) for p in np.asarray(ax.collections[0].get_offsets()).tolist()]
    assert len(set(places)) == len(places) == NETWORK.n_vertices
    assert min(x for x, _ in places) == 0


def test_paths_are_bands() -> None:
    """The rows are the paths that the theorem says: down to a leaf; from w^t to the split; from w^t to w."""
    figure = plot_certificate(PROGRAM, NETWORK, paths=["leaf[4]", "usage[9,2,0]", "coupling[2,1,0]"])
    found = bands(figure)
    assert list(found) == [colour.lower() for colour in PATHS[:3]]
    leaf, usage, coupling = found.values()
    assert [len(path) for path in found.values()] == [3, 3, 2]
    vertices = {place for arc in leaf for place in arc}
    hub = next(place for place in vertices if place[1] == 0)
    assert {y for _, y in vertices} == {0, -1, -2, -3}
    assert {y for arc in usage for _, y in arc} == {1, 0, -1, -2}
    assert {y for arc in coupling for _, y in arc} == {1, 0}
    assert all(hub in set().union(*path) for path in found.values())
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert [t.get_text() for t in legend.get_texts()] == [
        "leaf[4]: $z_{0}$ + $z_{2}$ + $z_{4}$",
        "usage[9,2,0]: $z_{5}$ + $z_{9}$ + $w^t_{9{,}2{,}0}$",
        "coupling[2,1,0]: $w^t_{2{,}1{,}0}$ − $w_{1{,}0}$",
    ]


def test_a_network_matrix_that_is_not_transposed() -> None:
    """Where the matrix itself is the network matrix, arcs are its rows and paths its columns."""
    matrix = np.array([[1, 1, 0], [0, 1, 1], [0, 0, -1]])  # the line 0 -> 1 -> 2 and an arc 3 -> 1
    network = NetworkMatrix(np.array([0, 1, 1]), np.array([1, 2, 3]), np.array([0, 0, 3]), np.array([1, 2, 2]))
    verdict = check_total_unimodularity(matrix)
    assert verdict.holds
    figure = plot_certificate(matrix, network, paths=["c2"])
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert [t.get_text() for t in legend.get_texts()] == ["c2: r1 − r2"]
    heights = {t.get_text(): t.get_position()[1] > 0 for t in figure.axes[0].texts}
    assert heights == {"R": False, "r0": True, "r1": True, "r2": True}  # vertex 1 is the hub, all else is a single arc


def test_entries_and_frames_are_drawn() -> None:
    """The picture holds the matrix with its lines in another order; each leaf has a frame of its size."""
    matrix = nested(40, 5, leaves=6)
    verdict = pm.checks.check_total_unimodularity(matrix)
    (ax,) = pm.plots.plot_decomposition(matrix, verdict).axes
    shown = np.asarray(ax.images[0].get_array())
    assert sorted(map(tuple, np.sort(shown, axis=1))) == sorted(map(tuple, np.sort(matrix, axis=1)))
    sizes = [(p.get_height(), p.get_width()) for p in ax.patches if isinstance(p, Rectangle)]
    expected = [(len(leaf.rows), len(leaf.columns)) for leaf in leaves_of(verdict.certificate, matrix.shape)]
    assert sizes == [(max(h, 0.2), max(w, 0.2)) for h, w in expected]


def test_a_violation_stands_in_the_upper_left_corner() -> None:
    """With its names; a network has one frame around everything."""
    matrix = families.hidden(families.odd_cycle(5), 4, 4, 0)
    verdict = pm.checks.check_total_unimodularity(matrix)
    (ax,) = pm.plots.plot_decomposition(matrix, verdict).axes
    order = verdict.certificate.order
    corner = np.asarray(ax.images[0].get_array())[:order, :order]
    assert np.array_equal(corner, np.array(verdict.certificate.entries))
    assert [tick.get_text() for tick in ax.get_yticklabels()][:order] == list(verdict.certificate.row_names)
    (frame,) = [p for p in ax.patches if isinstance(p, Rectangle)]
    assert (frame.get_height(), frame.get_width()) == (order, order)
