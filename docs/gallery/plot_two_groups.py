"""
May the ill cost more than the healthy?
=======================================

A single mean hides who pays. Limits for each group of examples say what the ill and the healthy may cost, at the
least error.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
forest = RandomForestClassifier(20, max_depth=6, random_state=0).fit(X[:300], y[:300])
problem = pm.problem_from_forest(forest, X[300:450], costs=1)
ill = (y[300:450] == 0).to_numpy()

# %%
# The same money in two ways: 8.8 for everybody, and 14 for the ill with 7 for the healthy.
single = pm.solve(problem, budget=8.8, time_limit=5).pruning
apart = pm.solve(problem, limits=[pm.Limit(14, rows=ill), pm.Limit(7, rows=~ill)])


def mean_costs(pruning):
    """Mean cost of the ill and of the healthy, on the test rows."""
    pruned = pm.apply_pruning(pruning, forest)
    parts = {"ill": y[450:] == 0, "healthy": y[450:] == 1}
    return {name: pm.evaluate(pruned, X[450:][part], y[450:][part], costs=1).cost for name, part in parts.items()}


costs = {"one budget": mean_costs(single), "two budgets": mean_costs(apart.pruning)}
errors = {"one budget": single.error, "two budgets": apart.pruning.error}
for name, found in costs.items():
    print(f"{name}: ill {found['ill']:.2f}, healthy {found['healthy']:.2f}; trees err on {100 * errors[name]:.1f} %")

# %%
figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for shift, group, color in ((-0.2, "ill", "#D55E00"), (0.2, "healthy", "#0072B2")):
    axes.bar([k + shift for k in range(2)], [found[group] for found in costs.values()], 0.38, color=color, label=group)
axes.set(xticks=[0, 1], xticklabels=list(costs), ylabel="mean cost on test rows")
axes.spines[["top", "right"]].set_visible(False)
legend = axes.legend(frameon=False)
