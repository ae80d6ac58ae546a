"""The error of every node, were it a leaf."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from formulations import Ensemble, ErrorComponent, InvalidInputError, NodeErrors
from formulations.instance.node_errors import errors_on_sample
from formulations.instance.routing import as_rows, route
from tests.instances import Node, ensemble_of


def stump(value, task):
    """One split of the only column at 0.5."""
    return Ensemble(
        np.array([0, 3]),
        np.array([1, -1, -1], dtype=np.int32),
        np.array([2, -1, -1], dtype=np.int32),
        np.array([0, -1, -1], dtype=np.int32),
        np.array([0.5, 0, 0]),
        np.zeros(3, dtype=bool),
        np.asarray(value, dtype=float),
        1,
        task,
        None if task == "regression" else np.arange(np.shape(value)[1]),
    )


def measured(ensemble, X, y, w):
    return errors_on_sample(ensemble, route(ensemble, as_rows(X, 1)), np.asarray(y), np.asarray(w, dtype=float))


def test_classification_by_hand():
    """The root says 1 and errs on the first row, left says 0 and errs on the second, right says 1 and is right."""
    ensemble = stump([[0.4, 0.6], [0.9, 0.1], [0.2, 0.8]], "classification")
    errors = measured(ensemble, [[0], [0], [1]], [0, 1, 1], [1, 2, 4])
    assert errors.e.tolist() == [1, 2, 0]
    assert errors.weight.tolist() == [7]


def test_ties_go_to_the_first_class():
    """Of equal fractions the first class is predicted, as by scikit-learn."""
    ensemble = stump([[0.5, 0.5], [0.5, 0.5], [0, 1]], "classification")
    assert measured(ensemble, [[0], [0], [1]], [0, 1, 0], [1, 1, 1]).e.tolist() == [1, 1, 1]


def test_unknown_class_errs_everywhere():
    """A class index of -1 is wrong at every node that it reaches."""
    ensemble = stump([[0.4, 0.6], [0.9, 0.1], [0.2, 0.8]], "classification")
    assert measured(ensemble, [[0]], [-1], [1]).e.tolist() == [1, 1, 0]


def test_regression_by_hand():
    """Weighted squared distances to the nodes' values 1, 0 and 3."""
    ensemble = stump([[1.0], [0.0], [3.0]], "regression")
    errors = measured(ensemble, [[0], [1]], [2.0, 5.0], [3, 1])
    np.testing.assert_allclose(errors.e, [3 * 1 + 16, 3 * 4, 4])


def test_weights_by_tree():
    """Every tree may weigh the rows differently."""
    ensemble, _ = ensemble_of([Node(0, 0, 0.5, Node(0), Node(0))] * 2, 1)
    errors = measured(ensemble, [[0], [1]], [-1, -1], [[1, 2], [0, 5]])
    assert errors.e.tolist() == [3, 1, 2, 5, 0, 5]
    assert errors.weight.tolist() == [3, 5]


def test_per_node_by_hand():
    """Share e / (T W): two trees, weights 2 and 5, shares 1/4 and 3/4."""
    ensemble, _ = ensemble_of([Node(0), Node(0)], 1)
    weight = np.array([2.0, 5.0])
    errors = NodeErrors(
        (
            ErrorComponent(np.array([1.0, 0.0]), weight, Fraction(1, 4), "in-bag"),
            ErrorComponent(np.array([2.0, 3.0]), weight, Fraction(3, 4), "given"),
        )
    )
    np.testing.assert_allclose(errors.per_node(ensemble), [(1 / 4 + 3 / 2) / 4, 9 / 4 / 10])
    assert errors.source == "0.25 in-bag + 0.75 given"


@pytest.mark.parametrize(
    ("components", "message"),
    [
        ([([1.0], [1.0], Fraction(1, 2))], r"the shares of a blend are \[0.5\]; they must sum to 1"),
        ([([-1.0], [1.0], Fraction(1))], r"errors \(given\): node 0 has error -1.0"),
        ([([np.nan], [1.0], Fraction(1))], "node 0 has error nan"),
        ([([1.0], [0.0], Fraction(1))], "tree 0 has an error sample of weight 0.0; every tree needs at least one example"),
        ([([1.0], [np.inf], Fraction(1))], "tree 0 has an error sample of weight inf"),
        ([], "the shares of a blend are"),
    ],
)
def test_refusals(components, message):
    """Shares that do not sum to 1, negative or undefined errors, and empty samples."""
    with pytest.raises(InvalidInputError, match=message):
        NodeErrors(tuple(ErrorComponent(np.array(e), np.array(w), share) for e, w, share in components))
