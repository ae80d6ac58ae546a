"""The picture of a decomposition shows every entry, and a frame around each piece."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.patches import Rectangle

import prunemodels as pm
from proofs_checks.total_unimodularity.explanation import leaves_of
from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.proofs_checks.total_unimodularity.nested_sums import nested


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


def test_what_cannot_be_drawn_is_refused() -> None:
    """Too large a matrix, the verdict on another matrix, and a certificate that is no decomposition."""
    large = np.eye(500, dtype=np.int8)
    with pytest.raises(pm.errors.InvalidInputError, match="500 rows and 500 columns; a picture shows at most 400"):
        pm.plots.plot_decomposition(large, pm.checks.check_total_unimodularity(large))
    mixed = families.block_diagonal(families.r10(), families.r12())
    verdict = pm.checks.check_total_unimodularity(mixed)
    with pytest.raises(pm.errors.InvalidInputError, match="not one of this matrix"):
        pm.plots.plot_decomposition(np.ones((12, 12), dtype=np.int8), verdict)
    counted = pm.checks.check_total_unimodularity(families.r10(), method="camion")
    with pytest.raises(pm.errors.InvalidInputError, match="give a network, a decomposition or a violating submatrix"):
        pm.plots.plot_decomposition(families.r10(), counted)
