"""Where the errors of the nodes are measured."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import mean_absolute_error, mean_poisson_deviance, mean_squared_error
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import prunemodels as pm
from formulations.instance.routing import as_rows
from prunemodels.models.forests import error_samples
from prunemodels.models.forests.reading import ReadForest
from prunemodels.models.forests.training_rows import MEDIANS_MEASURED_EXACTLY, VERSION
from tests.instances import way
from tests.loops import looped
from tests.prunemodels.forest_kinds import KINDS, Fitted, fitted, labels, random_pruning, rows, targets, weights


def paths(ensemble, X):
    """Nodes that each row visits in each tree, walked one by one: {(t, i): [nodes]}."""
    X32 = as_rows(X, ensemble.n_features)
    return {(t, i): way(ensemble, root, x) for t, root in enumerate(ensemble.roots) for i, x in enumerate(X32)}


def brute_force(ensemble, X, y, w):
    """e_h and W_t by walking every row down every tree; w has the shape (T, N)."""
    e, total = np.zeros(ensemble.n_nodes), np.zeros(ensemble.n_trees)
    for (t, i), nodes in paths(ensemble, X).items():
        total[t] += w[t, i]
        for h in nodes:
            if ensemble.task == "classification":
                e[h] += w[t, i] * (ensemble.classes[ensemble.value[h].argmax()] != y[i])
            else:
                e[h] += w[t, i] * (ensemble.value[h, 0] - y[i]) ** 2
    return e, total


def component(sample, forest):
    (only,) = sample.measure(ReadForest.of(forest)).components
    return only


class TestByHand:
    """A stump on six rows: x < 0.5 are a, a, b; the others b, b, b."""

    X = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]])
    y = np.array(["a", "a", "b", "b", "b", "b"])
    tree = DecisionTreeClassifier().fit(X, y)

    def test_in_bag(self):
        """The root says b and errs on both a; left says a and errs on one b; right errs on none."""
        stored = component(pm.samples.InBag(), self.tree)
        assert stored.e.tolist() == [2, 1, 0]
        assert stored.weight.tolist() == [6]
        assert component(pm.samples.InBag(self.X, self.y), self.tree).e.tolist() == [2, 1, 0]

    def test_given_with_a_negative_gain(self):
        """On rows whose labels are swapped, splitting errs more often than not splitting."""
        given = component(pm.samples.Given([[0], [0], [1]], ["b", "b", "b"]), self.tree)
        # the root says b, which is right; the left child says a
        assert given.e.tolist() == [0, 2, 0]
        assert given.weight.tolist() == [3]
        problem = pm.problem_from_forest(self.tree, self.X, costs=1, errors=pm.samples.Given([[0], [0], [1]], ["b", "b", "b"]))
        assert problem.gain.tolist() == [-2 / 3, 0, 0]

    def test_given_with_weights(self):
        """Weights of 1, 0 and 2.5: the wrong rows count their weight."""
        given = component(pm.samples.Given([[0], [0], [1]], ["b", "b", "a"], [1, 0, 2.5]), self.tree)
        assert given.e.tolist() == [2.5, 1, 2.5]
        assert given.weight.tolist() == [3.5]

    def test_blend(self):
        """A blend is the weighted mean of the error rates; its shares are made to sum to 1."""
        given = pm.samples.Given([[0], [0], [1]], ["b", "b", "b"])
        blend = pm.samples.Blend([(3, pm.samples.InBag()), (1, given)]).measure(ReadForest.of(self.tree))
        assert [c.share for c in blend.components] == [Fraction(3, 4), Fraction(1, 4)]
        np.testing.assert_allclose(blend.per_node(pm.read_forest(self.tree)), [3 / 4 * 2 / 6, 3 / 4 / 6 + 1 / 4 * 2 / 3, 0])
        assert blend.source == "0.75 in-bag + 0.25 given"

    def test_blend_of_a_blend(self):
        """Shares of nested blends multiply, exactly; a share of 0 leaves its sample unmeasured."""
        inner = pm.samples.Blend([(0.1, pm.samples.InBag()), (0.2, pm.samples.Given(self.X, self.y))])
        outer = pm.samples.Blend([(1, inner), (1, pm.samples.InBag()), (0, pm.samples.Given(None, None))])
        shares = [c.share for c in outer.measure(ReadForest.of(self.tree)).components]
        assert shares == [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]

    def test_regression(self):
        """Targets 1, 3 on the left and 8 on the right: means 4, 2, 8, squared residuals 26, 2, 0."""
        X, y = [[0], [0], [1]], [1.0, 3.0, 8.0]
        tree = DecisionTreeRegressor(max_depth=1).fit(X, y)
        np.testing.assert_allclose(component(pm.samples.InBag(), tree).e, [26, 2, 0], atol=1e-12)
        np.testing.assert_allclose(component(pm.samples.InBag(X, y), tree).e, [26, 2, 0], atol=1e-12)


def sends_training_rows_where_it_counted_them(kind):
    """Not with missing values in scikit-learn up to 1.7, whose `apply` and `decision_path` differ from its training."""
    return "missing values" not in kind or VERSION >= (1, 8)


@looped("kind", [kind for kind in KINDS if sends_training_rows_where_it_counted_them(kind)])
def test_stored_statistics_are_the_training_rows(kind):
    """What the trees store equals what routing the rows that they drew, with the weights of training, gives."""
    case = fitted(kind)
    stored = component(pm.samples.InBag(), case.forest)
    measured = component(pm.samples.InBag(case.X, case.y, case.sample_weight), case.forest)
    ensemble = pm.read_forest(case.forest)
    np.testing.assert_allclose(measured.weight, stored.weight, rtol=1e-9)
    root = stored.e[ensemble.roots][ensemble.tree_of]
    np.testing.assert_array_less(np.abs(measured.e - stored.e), 1e-9 * root + 1e-300)


def drawn(case):
    """How often each tree drew each row."""
    return np.stack([np.bincount(drawn, minlength=len(case.y)) for drawn in case.forest.estimators_samples_])


def in_bag(case):
    return pm.samples.InBag(), case.X, case.y, drawn(case)


def out_of_bag(case):
    return pm.samples.OutOfBag(case.X, case.y), case.X, case.y, (drawn(case) == 0).astype(float)


def given(case):
    X, y, w = rows(50, seed=9, missing=0.1), np.random.default_rng(0).choice(case.y, 50), weights(50)
    return pm.samples.Given(X, y, w), X, y, np.tile(w, (pm.read_forest(case.forest).n_trees, 1))


MEASURED = {
    in_bag: ["random forest", "random forest, 3 string labels", "bag, some columns", "regression forest"],
    out_of_bag: [
        "random forest",
        "random forest, weighted",
        *filter(sends_training_rows_where_it_counted_them, ["random forest, missing values"]),
        "bag, weighted draws",
        "regression forest, weighted",
    ],
    given: ["random forest, 3 string labels", "bag, missing classes", "tree", "regression forest"],
}


@pytest.mark.parametrize(("sample", "kind"), [(sample, kind) for sample, kinds in MEASURED.items() for kind in kinds])
def test_errors_by_brute_force(sample, kind):
    """Errors are those of the rows of ``estimators_samples_``, as often as drawn, of the others, or of given rows, weighted."""
    case = fitted(kind)
    errors, X, y, w = sample(case)
    ensemble = pm.read_forest(case.forest)
    e, total = brute_force(ensemble, X, y, w)
    measured = component(errors, case.forest)
    np.testing.assert_allclose(measured.e, e, atol=1e-9 * total.max())
    np.testing.assert_allclose(measured.weight, total)
    if sample is in_bag and ensemble.task == "classification":
        np.testing.assert_array_equal(measured.e, e)  # counts, exactly
    if sample is out_of_bag:
        np.testing.assert_array_equal(measured.weight, total)
        assert pm.problem_from_forest(case.forest, case.X, costs=1, errors=errors).gain.min() < 0


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson", "friedman_mse"])
@pytest.mark.filterwarnings("ignore:.*friedman_mse:FutureWarning")
def test_regression_forests_are_judged_by_their_criterion(criterion):
    """What the trees store, and what the rows that they drew give, is scikit-learn's own measure of the trees' predictions."""
    X = rows()
    y = np.abs(targets(X))
    forest = RandomForestRegressor(3, criterion=criterion, max_depth=4, random_state=0).fit(X, y)
    measure = {"absolute_error": mean_absolute_error, "poisson": mean_poisson_deviance}.get(criterion, mean_squared_error)
    drawn = forest.estimators_samples_
    own = np.mean([measure(y[d], t.predict(np.asarray(X)[d])) for t, d in zip(forest.estimators_, drawn, strict=True)])
    samples = [pm.samples.InBag(), pm.samples.InBag(X, y)]
    if criterion == "absolute_error" and not MEDIANS_MEASURED_EXACTLY:
        with pytest.raises(pm.errors.UnsupportedModelError, match=r"tree 0 .* before 1\.8 measures wrongly; give errors=InBag"):
            pm.problem_from_forest(forest, X, costs=1)
        samples = samples[1:]
    for errors in samples:
        problem = pm.problem_from_forest(forest, X, costs=1, errors=errors)
        assert pm.Pruning.unpruned(problem).error == pytest.approx(own, rel=1e-9)
    given = pm.problem_from_forest(forest, X, costs=1, errors=pm.samples.Given(X[:40], y[:40]))
    own = np.mean([measure(y[:40], t.predict(np.asarray(X)[:40])) for t in forest.estimators_])
    assert pm.Pruning.unpruned(given).error == pytest.approx(own, rel=1e-9)
    names = {"absolute_error": "mean absolute error", "poisson": "mean Poisson deviance"}
    assert given.ensemble.measure == names.get(criterion, "mean squared error")


def test_absolute_errors_by_hand(monkeypatch):
    """Targets 1, 3, 9 on the left and 8 on the right: medians 5.5, 3, 8; the deviations sum to 4.5 + 2.5 + 3.5 + 2.5, 8 and 0. A
    tree of plain rows stores them right in all versions; before 1.8 one that drew a row twice, or weighs it 2, may not.
    """
    X, y = [[0], [0], [0], [1]], [1.0, 3.0, 9.0, 8.0]
    grow = DecisionTreeRegressor(max_depth=1, criterion="absolute_error").fit
    for exactly, sample in ((MEDIANS_MEASURED_EXACTLY, (X, y)), (MEDIANS_MEASURED_EXACTLY, ()), (False, ())):
        monkeypatch.setattr(error_samples, "MEDIANS_MEASURED_EXACTLY", exactly)
        assert component(pm.samples.InBag(*sample), grow(X, y)).e.tolist() == [13, 8, 0]
    with pytest.raises(pm.errors.UnsupportedModelError, match="weighted rows"):
        component(pm.samples.InBag(), grow(X, y, sample_weight=[1, 1, 1, 2]))


@pytest.mark.parametrize("regression", [True, False])
def test_monotonic_trees(regression):
    """Trees whose predictions the constraints may have changed are refused with the remedy, which works."""
    X = rows()
    y = targets(X) if regression else labels(X, [0, 1])
    kind = RandomForestRegressor if regression else RandomForestClassifier
    forest = kind(4, random_state=0, monotonic_cst=[1, -1, 0, 0, 0]).fit(X, y)
    e, _ = brute_force(pm.read_forest(forest), X, y, drawn(Fitted(forest, X, y)))
    np.testing.assert_allclose(component(pm.samples.InBag(X, y), forest).e, e, atol=1e-9 * e.max())
    with pytest.raises(pm.errors.UnsupportedModelError, match=r"monotonic_cst.*give errors=InBag\(X, y\)"):
        pm.problem_from_forest(forest, X, costs=1)


class TestMisclassificationCosts:
    """A stump on six rows: x < 0.5 are a, a, b; the others b, b, b."""

    X, y, tree = TestByHand.X, TestByHand.y, TestByHand.tree

    def problem(self, costs, errors="in-bag"):
        return pm.problem_from_forest(self.tree, self.X, costs=1, errors=errors, misclassification_costs=costs)

    def test_a_dear_false_b(self):
        """An a that is called b costs 10: the root says b, which costs 20 for the two a; the left child says a and costs 1."""
        problem = self.problem([[0, 10], [1, 0]])
        assert problem.errors.components[0].e.tolist() == [20, 1, 0]
        assert problem.gain.tolist() == [pytest.approx(19 / 6), 0, 0]
        assert self.problem([[0, 10], [1, 0]], pm.samples.InBag(self.X, self.y)).errors.components[0].e.tolist() == [20, 1, 0]

    def test_a_dear_false_a(self):
        """A b that is called a costs 10: the split, whose left child calls one so, costs more than the root's two wrong b."""
        problem = self.problem([[0, 1], [10, 0]])
        assert problem.errors.components[0].e.tolist() == [2, 10, 0]
        assert problem.gain.tolist() == [pytest.approx(-8 / 6), 0, 0]

    @pytest.mark.parametrize("measured", [False, True])
    def test_fractions_are_exact(self, measured):
        """Costs of 1/3 and 0.1 have the common denominator 30, and the error of the root alone, 2 * (1/3) / 6, is exact."""
        problem = self.problem([[0, Fraction(1, 3)], [0.1, 0]], pm.samples.InBag(self.X, self.y) if measured else "in-bag")
        assert problem.numbers.exact
        assert pm.Pruning.all_roots(problem).exact_error == Fraction(1, 9)

    @pytest.mark.slow
    @looped("kind", KINDS)
    def test_counts_of_brute_force(self, kind):
        """Costs measured in-bag and on given rows are sums over the rows that reach a node."""
        case = fitted(kind)
        if not hasattr(case.forest, "classes_"):
            return
        ensemble = pm.read_forest(case.forest)
        K = len(ensemble.classes)
        C = np.random.default_rng(0).integers(0, 9, (K, K)).astype(float)
        code = np.searchsorted(ensemble.classes, case.y)
        problem = pm.problem_from_forest(
            case.forest, case.X, costs=1, errors=pm.samples.Given(case.X, case.y), misclassification_costs=C
        )
        e = np.zeros(ensemble.n_nodes)
        for (_, i), nodes in paths(ensemble, case.X).items():
            for h in nodes:
                e[h] += C[code[i], ensemble.value[h].argmax()]
        np.testing.assert_allclose(problem.errors.components[0].e, e, atol=1e-9)

    def test_refusals(self):
        """A matrix of another shape, costs below 0 or that are no numbers, and a model without classes."""
        for costs, message in (
            ([[0, 1]], r"misclassification_costs has shape \(1, 2\); give .* of \['a', 'b'\], shape \(2, 2\)"),
            ([[0, -1], [1, 0]], r"misclassification_costs\[0\]\[1\] is -1"),
            ([[0, np.nan], [1, 0]], r"misclassification_costs\[0\]\[1\] is nan"),
            ([[0, 0], [0, 0]], "misclassification_costs are all 0"),
            (5, "misclassification_costs is 5; give an array"),
        ):
            with pytest.raises(pm.errors.InvalidInputError, match=message):
                self.problem(costs)
        with pytest.raises(pm.errors.InvalidInputError, match="for classifiers, this model predicts numbers"):
            pm.read_forest(fitted("regression forest").forest).under_costs([[0, 1], [1, 0]])


InBag, OutOfBag, Given, Blend = pm.samples.InBag, pm.samples.OutOfBag, pm.samples.Given, pm.samples.Blend
ALL = (InBag, OutOfBag, Given)
WORDS, NUMBERS, PLAIN = "random forest, 3 string labels", "regression forest", "random forest"
OTHERS, UNDRAWN = ("bag, some columns", "extra trees"), "random forest, weights without bootstrap"


def shuffled(values):
    return values[np.random.default_rng(0).permutation(len(values))]


def at(values, place, value):
    changed = values.astype(object)
    changed[place] = value
    return changed


REFUSED = [
    # a label, or a target, that cannot be, by its place
    *((WORDS, lambda c, S=S: S(c.X, at(c.y, 7, "purple")), r"y\[7\] is the label 'purple', .* trained on \['high'") for S in ALL),
    *((WORDS, lambda c, b=b: Given(c.X, at(c.y, 3, b)), rf"y\[3\] is the label {b}, the model") for b in (None, np.nan, 1)),
    (NUMBERS, lambda c: Given(c.X, at(c.y, 2, np.nan)), r"y\[2\] is nan; targets must be finite"),
    (NUMBERS, lambda c: Given(c.X, at(c.y, 2, "far")), "y is not numeric .*'far'"),
    ("poisson", lambda c: Given(c.X[:1], [-1.0]), r"y\[0\] is -1; a forest with criterion='poisson'"),
    # a mask would be dropped, and an imaginary part; dates would be counted
    (NUMBERS, lambda c: Given(c.X[:2], np.ma.masked_array([0, 1], [True, False])), "y is a masked array"),
    (NUMBERS, lambda c: Given(c.X[:2], np.array([1j, 2])), "y holds complex numbers"),
    (NUMBERS, lambda c: Given(c.X[:2], np.array(["2020"] * 2, "M8[D]")), "y holds dates"),
    # lengths, and halves
    *((PLAIN, lambda c, S=S: S(c.X, c.y[1:]), r"y has shape \(89,\), X has 90 rows: give one label each") for S in ALL),
    *((PLAIN, lambda c, S=S: S(c.X, c.y[:, None]), r"y has shape \(90, 1\)") for S in ALL),
    *((PLAIN, lambda c, S=S: S(c.X, c.y, [1, 2]), r"sample_weight has shape \(2,\), there are 90 examples") for S in ALL),
    (PLAIN, lambda c: InBag(c.X), "give both X and y, or neither"),
    (PLAIN, lambda c: InBag(y=c.y), "give both X and y"),
    (PLAIN, lambda c: Given(c.X, c.y, at(np.ones(90), 4, -2).astype(float)), r"errors: sample_weight\[4\] is -2.0"),
    # rows that are not those of training, in their order and with their weights
    *((PLAIN, lambda c, S=S: S(c.X[:80], c.y[:80]), "X has 80 rows, .* trained on 90") for S in (InBag, OutOfBag)),
    *((k, lambda c: InBag(rows(len(c.y), seed=77), c.y), "tree 0, .* in its order") for k in (PLAIN, "tree", NUMBERS, *OTHERS)),
    *((k, lambda c: InBag(shuffled(c.X), shuffled(c.y)), "the rows put a weight of .* order") for k in (PLAIN, NUMBERS, WORDS)),
    *((k, lambda c: InBag(c.X, shuffled(c.y)), "the labels at node 0 of tree") for k in (PLAIN, WORDS)),
    *((k, lambda c: InBag(c.X, c.y), "with the sample_weight of fit") for k in ("tree, weighted", UNDRAWN)),
    *((k, lambda c: OutOfBag(c.X, c.y), r"none is out of bag; use Given\(X, y\)") for k in ("extra trees", "tree", UNDRAWN)),
    ("one that drew every row", lambda c: OutOfBag(c.X, c.y), r"tree \d has an error sample of weight 0.0"),
    # blends of nothing
    (PLAIN, lambda c: Blend([(0, InBag())]), r"the shares are \[0.0\]; at least one must be positive"),
    (PLAIN, lambda c: Blend([]), r"the shares are \[\]"),
    (PLAIN, lambda c: Blend([(1, InBag()), (-1, InBag())]), "share 1 is -1, negative"),
    (PLAIN, lambda c: Blend([(np.nan, InBag())]), r"parts\[0\]\[0\] is nan; give a number"),
]


@looped(("kind", "make", "message"), REFUSED)
def test_labelled_data_that_cannot_be_what_they_are_said_to_be(kind, make, message):
    """Labels, targets, lengths, weights, rows of other data or in another order, and shares: each is named."""
    if kind == "poisson":
        X = rows()
        case = Fitted(RandomForestRegressor(3, criterion=kind, max_depth=4, random_state=0).fit(X, np.abs(targets(X))), X, None)
    elif kind == "one that drew every row":
        X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
        case = Fitted(RandomForestClassifier(8, random_state=0).fit(X, y), X, y)
    else:
        case = fitted(kind)
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        make(case).measure(ReadForest.of(case.forest))


def test_booleans_and_numbers_are_the_same_labels():
    """Labels count by value: 0 and 1, False and True, 0.0 and 1.0 are the same classes."""
    case = fitted("random forest")
    expected = component(pm.samples.Given(case.X, case.y), case.forest).e
    for y in (case.y.astype(bool), case.y.astype(float), case.y.tolist()):
        np.testing.assert_array_equal(component(pm.samples.Given(case.X, y), case.forest).e, expected)


def test_pruned_forest_can_be_measured_again():
    """A pruned forest's errors are those of the nodes that were kept."""
    case = fitted("random forest, balanced subsample")
    problem = pm.problem_from_forest(case.forest, case.X, costs=1)
    pruning = random_pruning(problem)
    again = pm.problem_from_forest(pm.apply_pruning(pruning, case.forest), case.X, costs=1)
    assert pm.Pruning.unpruned(again).error == pytest.approx(pruning.error)
    again = pm.problem_from_forest(
        pm.apply_pruning(pruning, case.forest), case.X, costs=1, errors=pm.samples.InBag(case.X, case.y, case.sample_weight)
    )
    assert pm.Pruning.unpruned(again).error == pytest.approx(pruning.error)


def test_an_ensemble_is_a_forest_without_training_rows() -> None:
    """Trees as arrays give the problem of their forest where errors are given; what needs the forest itself says so."""
    forest, _, _, X, y, _, _, costs = pm.datasets.load_tumours()
    ensemble, given = pm.read_forest(forest), pm.samples.Given(X, y)
    problem = pm.problem_from_forest(ensemble, X, costs=costs, errors=given)
    assert (problem.node_error == pm.problem_from_forest(forest, X, costs=costs, errors=given).node_error).all()
    for asks in (
        lambda: pm.problem_from_forest(ensemble, X, costs=costs),
        lambda: pm.problem_from_forest(ensemble, X, costs=costs, errors=pm.samples.OutOfBag(X, y)),
        lambda: pm.apply_pruning(pm.solve(problem, lam=0.1).pruning, ensemble),
    ):
        with pytest.raises(pm.errors.UnsupportedModelError, match=r"errors=pm\.samples\.Given"):
            asks()


def test_the_papers_trees_take_errors_by_the_papers_numbers() -> None:
    """Nodes that are not named keep their errors; a node that is none of 1 to 12 is refused."""
    usual, changed = pm.datasets.two_trees(), pm.datasets.two_trees({3: 1})
    assert np.flatnonzero(usual.node_error != changed.node_error).tolist() == [2]
    with pytest.raises(pm.errors.InvalidInputError, match="the nodes 1 to 12"):
        pm.datasets.two_trees({13: 1})
