"""
How sure am I?
==============

A pruned forest was tried on some hundred examples. What it costs and how often it errs elsewhere is known up to an
interval, and the interval belongs beside the number.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
forest = RandomForestClassifier(40, random_state=0).fit(X[:200], y[:200])
problem = pm.problem_from_forest(forest, X[200:350], costs=1)
X_test, y_test = X[350:], y[350:]

# %%
# `hold_out` counts the cost and the errors on examples that played no part, and gives 95 % intervals.
budgets = [2, 4, 6, 8, 12]
path = pm.pruning_path(problem)
seen = [pm.hold_out(pm.solve(problem, budget=b, path=path, method="path").pruning, forest, X_test, y_test) for b in budgets]
for budget, found in zip(budgets, seen, strict=True):
    cost, error = found.cost, found.error
    print(f"budget {budget:2d}: cost {cost.low:5.2f} to {cost.high:5.2f}, error {error.low:.3f} to {error.high:.3f}")

# %%
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for found in seen:
    axes.plot([found.cost.mean] * 2, [found.error.low, found.error.high], "-", color="#0072B2", lw=2)
    axes.plot(found.cost.mean, found.error.mean, "o", color="#0072B2")
axes.set(xlabel="cost of a prediction on held-out examples", ylabel="error, with 95 % interval", ylim=(0, None))
axes.yaxis.set_major_formatter(lambda rate, _: f"{100 * rate:g} %")
axes.spines[["top", "right"]].set_visible(False)

# %%
# More held-out examples make the intervals narrower: four times as many halve them.
