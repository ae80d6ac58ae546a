"""Training once more, slowly and with other code: every split of a model against all others that could have been made then."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from formulations import CostItems
from prunemodels.models.labelled_samples import Sample
from prunemodels.models.libraries.lightgbm_models import ModelText, children, numbers
from prunemodels.models.trees import counterparts
from prunemodels.other_libraries import ModelForest
from prunemodels.rivals.boosted_learner import Prices, settings_of
from prunemodels.rivals.cegb import CEGBClassifier, CEGBRegressor
from prunemodels.rivals.cegb_engine import Settings, boost
from tests.instances import way


@dataclass
class Replay:
    """A model's training, example by example.

    Parameters
    ----------
    gains
        for each tree and node what the engine said the split gains, without LightGBM's factor 2; NaN at leaves.
    order
        for each tree and node when it was split.
    """

    X: NDArray[np.float64]
    y: NDArray[Any]
    weight: NDArray[np.float64]
    items: CostItems
    evaluation: NDArray[np.float64]
    model: Any
    forest: ModelForest
    gains: list[NDArray[np.float64]]
    order: list[list[int]]
    checked: int = 0
    bought: set[tuple[int, int]] = field(default_factory=set)
    owned: set[int] = field(default_factory=set)

    @property
    def shortcut(self) -> bool:
        """Whether LightGBM may have overlooked the best split: it gives up, below a leaf, features that gain nothing in the leaf.
        That can lead to something only where the ridge lowers gains.
        """
        return bool(self.model.engine == "lightgbm" and self.model.reg_lambda > 0)

    def derivatives(self, margins: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if isinstance(self.model, CEGBRegressor):
            return margins - self.y[:, None], np.ones_like(margins)
        labels = np.searchsorted(self.model.classes_, self.y)
        k = len(self.model.classes_)
        if k == 2:
            p = expit(margins)
            return p - labels[:, None], p * (1 - p)
        p = softmax(margins, axis=1)
        return p - np.eye(k)[labels], k / (k - 1) * p * (1 - p)

    def start(self) -> NDArray[np.float64]:
        """The margins before the first tree, shape (outputs,)."""
        if isinstance(self.model, CEGBRegressor):
            return np.array([np.average(self.y, weights=self.weight)])
        shares = np.array([self.weight[self.y == c].sum() for c in self.model.classes_]) / self.weight.sum()
        return np.array([np.log(shares[1] / shares[0])]) if len(shares) == 2 else np.log(shares)

    def penalty(self, rows: NDArray[np.int64], f: int) -> float:
        """CEGB17 eq. (13) as it stands, a loop over examples and items."""
        total = sum(self.weight[i] * self.evaluation[f] for i in rows)
        for m in self.items.needs[f]:
            price = float(self.items.prices[m])
            if self.items.paid_once[m]:
                total += 0.0 if m in self.owned else price * self.weight.sum()
            else:
                total += sum(price * self.weight[i] for i in rows if (int(i), m) not in self.bought)
        return float(total)

    def gain(self, rows: NDArray[np.int64], left: NDArray[np.bool_], f: int, g: Any, h: Any) -> float:
        """CEGB17 eq. (12), with the ridge; minus infinity where too little is on a side."""
        s = self.model
        sides = (rows[left], rows[~left])
        if min(len(side) for side in sides) < s.min_child_samples or min(h[side].sum() for side in sides) < s.min_child_weight:
            return -np.inf
        worth = [g[part].sum() ** 2 / (h[part].sum() + s.reg_lambda) for part in (*sides, rows)]
        return float((worth[0] + worth[1] - worth[2]) / 2 - s.lam * self.penalty(rows, f))

    def best_of(self, rows: NDArray[np.int64], g: Any, h: Any) -> float:
        best = -np.inf
        for f in range(self.X.shape[1]):
            for value in np.unique(self.X[rows, f])[:-1]:
                best = max(best, self.gain(rows, self.X[rows, f] <= value, f, g, h))
        return best

    def run(self, tolerance: float) -> None:
        """Assert that each split has the gain that the engine says, and that none would have had more."""
        outputs = self.forest.n_outputs
        for first in range(0, self.forest.ensemble.n_trees, outputs):
            before = self._margins(first) if first else np.tile(self.start(), (len(self.X), 1))
            g, h = (self.weight[:, None] * part for part in self.derivatives(before))
            for o in range(outputs):
                self._tree(first + o, g[:, o], h[:, o], tolerance)

    def _margins(self, trees: int) -> NDArray[np.float64]:
        """The first trees' sums, with the base."""
        e, margins = self.forest.ensemble, np.tile(self.forest.base, (len(self.X), 1))
        for t in range(trees):
            margins[:, self.forest.output[t]] += [e.value[way(e, e.roots[t], self.X[i])[-1], 0] for i in range(len(self.X))]
        return margins

    def _tree(self, t: int, g: Any, h: Any, tolerance: float) -> None:
        e = self.forest.ensemble
        first = int(e.tree_start[t])
        leaves = {first: np.arange(len(self.X))}
        for node in sorted(
            (n for n in range(first, int(e.tree_start[t + 1])) if e.left[n] >= 0), key=lambda n: self.order[t][n - first]
        ):
            best = max(self.best_of(rows, g, h) for rows in leaves.values())
            rows = leaves.pop(node)
            f = int(e.feature[node])
            left = self.X[rows, f] <= e.threshold[node]
            gain = self.gain(rows, left, f, g, h)
            assert abs(gain - self.gains[t][node - first]) <= tolerance * max(1, abs(gain))
            if not self.shortcut:
                assert abs(gain - best) <= tolerance * max(1, abs(gain))
            self.bought |= {(int(i), m) for i in rows for m in self.items.needs[f]}
            self.owned |= set(self.items.needs[f])
            leaves |= {int(e.left[node]): rows[left], int(e.right[node]): rows[~left]}
            self.checked += 1
        if len(leaves) < self.model.num_leaves and not self.shortcut:
            assert max(self.best_of(rows, g, h) for rows in leaves.values()) <= tolerance


def replay_of(model: CEGBClassifier | CEGBRegressor, X: Any, y: Any, weight: NDArray[np.float64] | None = None) -> Replay:
    """The replay of a model that was fitted to these examples, without a limit on depth."""
    X, y = np.asarray(X, dtype=np.float32).astype(np.float64), np.asarray(y)
    weight = np.ones(len(y)) if weight is None else weight
    prices = Prices.of(model.costs, model.evaluation_cost, X.shape[1], None)
    forest = model.forest_
    if model.engine == "own":
        classes = getattr(model, "classes_", None)
        labels = y if classes is None else np.searchsorted(classes, y)
        train = model._training_rows(Sample(X, labels, weight), classes)
        gains = list(boost(train, model._loss, prices, settings_of(Settings, model), hidden=True)[1])
        own = forest.ensemble
        # a node is split when its children are made, and they are numbered in that order
        order = [own.left[own.nodes_of(t)].tolist() for t in range(own.n_trees)]
    else:
        gains, order = _said_by_lightgbm(model)
    return Replay(X, y, weight, prices.items, prices.evaluation, model, forest, gains, order)


def _said_by_lightgbm(model: Any) -> tuple[list[NDArray[np.float64]], list[list[int]]]:
    """Half of each ``split_gain``; LightGBM numbers splits in the order in which it makes them."""
    gains, order = [], []
    for t, tree in enumerate(ModelText.parse(model.booster_.model_to_string()).trees):
        left, right = children(tree)
        file = counterparts(model.forest_.ensemble, t, left, right) if left.size else np.array([-1])
        said = numbers(tree, "split_gain") / 2
        gains.append(np.array([said[j] if j >= 0 else np.nan for j in file]))
        order.append(file.tolist())
    return gains, order
