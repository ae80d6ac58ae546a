"""
May I drop features instead?
============================

Dropping a feature for everybody is the simple way to save money. Pruning drops it only where it does not pay. The
answer depends on whether you can train again: a forest that is trained again on the best features is a strong rival,
and it is drawn here, too.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm

X, y = load_digits(return_X_y=True, as_frame=True)
rows = np.random.default_rng(0).permutation(len(X))
train, valid, test = rows[:700], rows[700:1100], rows[1100:]
forest = RandomForestClassifier(30, max_features=None, random_state=0).fit(X.iloc[train], y.iloc[train])
problem = pm.problem_from_forest(forest, X.iloc[valid], costs=1)

# %%
# The optimal prunings, and the prunings that remove one whole feature after the other, each as a curve on test images.
pruned = pm.tradeoff_curve(pm.pruning_path(problem), X.iloc[test], y.iloc[test])
greedy = pm.tradeoff_curve(pm.rivals.greedy_feature_path(problem), X.iloc[test], y.iloc[test])

# %%
# What most people would do: keep the most important features, and train again.
ranked = X.columns[np.argsort(-forest.feature_importances_)]
trained = []
for n in (4, 6, 8, 12, 16, 24):
    again = clone(forest).fit(X.iloc[train][ranked[:n]], y.iloc[train])
    seen = pm.evaluate(again, X.iloc[test][ranked[:n]], y.iloc[test], costs=1)
    trained.append((seen.cost, seen.error))

# %%
figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
axes.plot(pruned.cost, pruned.error, "-", lw=2.4, color="#0072B2", label="optimal pruning")
axes.plot(greedy.cost, greedy.error, "-", color="#D55E00", label="features removed one by one")
axes.plot(*np.transpose(trained), "o--", color="#009E73", label="most important features, trained again")
axes.set(xlabel="pixels bought for an image, on average", ylabel="error on test images", ylim=(0, 0.5), xlim=(0, 30))
axes.yaxis.set_major_formatter(lambda rate, _: f"{100 * rate:g} %")
axes.spines[["top", "right"]].set_visible(False)
legend = axes.legend(frameon=False)
print(f"within 12 pixels: pruned {100 * pruned.error[pruned.best_within(12)]:.1f} %, trained again {100 * trained[3][1]:.1f} %")
