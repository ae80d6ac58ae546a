"""
Which price discount matters?
=============================

A supplier offers half price on one kind of measurement, and lets you choose which. The best choice is the one that
lowers the error most within the same budget.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.filter(like="mean").rename(columns=lambda name: name.removeprefix("mean "))
forest = RandomForestClassifier(20, max_depth=6, random_state=0).fit(X[:300], y[:300])
X_valid, y_valid = X[300:], y[300:]
prices = dict.fromkeys(X.columns, 2.0)
given = pm.samples.Given(X_valid, y_valid)

# %%
# One budget, and one pruning for each offer. `bound` is proven: no pruning within the budget errs less.


def best_error(prices):
    """The least mean error of the trees within a budget of 8."""
    problem = pm.problem_from_forest(forest, X_valid, costs=prices, errors=given)
    return pm.solve(problem, budget=8, method="path").bound


today = best_error(prices)
gain = {name: today - best_error({**prices, name: 1.0}) for name in prices}
best = max(gain, key=gain.get)
print(f"error of the trees today {100 * today:.2f} %; half price on {best!r} lowers it by {100 * gain[best]:.2f} points")

# %%
names = sorted(gain, key=gain.get)
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
axes.barh(names, [100 * gain[name] for name in names], color="#0072B2")
axes.set(xlabel="points of error that half price on it saves")
axes.spines[["top", "right"]].set_visible(False)
