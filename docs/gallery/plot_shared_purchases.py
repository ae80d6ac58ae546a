"""
What if one purchase serves several features?
=============================================

One blood sample gives many values; one photograph gives thirty. Tell prunemodels which features come together, and it
buys them together.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
forest = RandomForestClassifier(30, max_depth=6, random_state=0).fit(X[:300], y[:300])
X_valid, X_test, y_test = X[300:420], X[420:], y[420:]

# %%
# The thirty columns are ten quantities, each with its mean, its error and its worst value. One measurement gives all three.
quantity = [name.removeprefix("mean ").removeprefix("worst ").removesuffix(" error") for name in X.columns]
together = pm.CostItems.grouped(quantity, dict.fromkeys(quantity, 1))
print(f"{together.n_features} features, {together.n_items} purchases")

# %%
# A pruning that does not know about groups pays for more measurements than one that does.
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for name, costs, style in (("each feature for itself", 1, "--"), ("groups known", together, "-")):
    path = pm.pruning_path(pm.problem_from_forest(forest, X_valid, costs=costs))
    grouped = pm.pruning_path(pm.problem_from_forest(forest, X_valid, costs=together)).problem
    paid, wrong = [], []
    for k in range(len(path)):
        pruning = pm.Pruning(grouped, path.rows_kept > k)
        paid.append(pruning.cost)
        wrong.append(pruning.error)
    axes.plot(paid, wrong, style, color="#0072B2" if name == "groups known" else "#D55E00", lw=2, label=name)
axes.set(xlabel="measurements for a patient, on average", ylabel="training error of single trees")
axes.yaxis.set_major_formatter(lambda rate, _: f"{100 * rate:g} %")
axes.spines[["top", "right"]].set_visible(False)
legend = axes.legend(frameon=False)

# %%
chosen = pm.solve(grouped, budget=3, method="path").pruning
found = pm.evaluate(pm.apply_pruning(chosen, forest), X_test, y_test, costs=together)
print(f"budget of 3 measurements: cost {found.cost:.2f}, error {100 * found.error:.1f} %")
