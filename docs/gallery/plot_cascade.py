"""
One forest or a cascade?
========================

A pruned forest asks for the same tests again and again. A cascade asks for cheap ones first and goes on only where it
is in doubt. The two combine: exits let a pruned forest stop early.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm

X, y = load_digits(return_X_y=True, as_frame=True)
rows = np.random.default_rng(0).permutation(len(X))
train, valid, test = rows[:500], rows[500:900], rows[900:]
forest = RandomForestClassifier(12, max_depth=8, max_features=None, random_state=0).fit(X.iloc[train], y.iloc[train])
path = pm.pruning_path(pm.problem_from_forest(forest, X.iloc[valid], costs=1))

# %%
# Each pixel costs 1. The pruned forest walks down all of its trees. With exits, an image stops where the answer is sure.
exits = pm.exit_path(path, X.iloc[valid], y.iloc[valid], n_stages=4, n_levels=8, random_state=0)
budgets = (9, 12, 16, 20)
alone, stopping = [], []
for budget in budgets:
    pruned = pm.prune_forest(forest, X.iloc[valid], y.iloc[valid], costs=1, budget=budget, time_limit=2)
    seen = pm.evaluate(pruned.estimator, X.iloc[test], y.iloc[test], costs=1)
    alone.append((seen.cost, seen.error))
    model = exits.at_cost(budget)
    stopping.append((model.prediction_cost(X.iloc[test]).mean(), 1 - model.score(X.iloc[test], y.iloc[test])))
    print(f"budget {budget:2d}: pruned {100 * alone[-1][1]:4.1f} % errors, with exits {100 * stopping[-1][1]:4.1f} %")

# %%
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
axes.plot(*np.transpose(alone), "o-", color="#D55E00", label="one pruned forest")
axes.plot(*np.transpose(stopping), "s-", color="#0072B2", label="the same with exits")
axes.set(xlabel="pixels of an image that are bought, on average", ylabel="error on test images", ylim=(0, None))
axes.yaxis.set_major_formatter(lambda rate, _: f"{100 * rate:g} %")
axes.spines[["top", "right"]].set_visible(False)
legend = axes.legend(frameon=False)
