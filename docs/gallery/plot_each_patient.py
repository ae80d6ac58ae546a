"""
How many tests does each patient need?
======================================

A forest can be asked tree by tree, and stop when the trees that are left cannot change the answer. The mean cost
hides how much patients differ: most are cheap, and a few are dear.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
forest = RandomForestClassifier(30, random_state=0).fit(X[:250], y[:250])
result = pm.prune_forest(forest, X[250:400], y[250:400], costs=1, budget=10)
patients = X.index[400:]

# %%
# `from_table` plays the laboratory: it looks up what is asked for.
laboratory = pm.on_demand.from_table(X)
costs = {}
for name, model in {"unpruned": forest, "pruned": result.estimator}.items():
    answer = pm.OnDemandPredictor(model, 1, laboratory, early_stopping=True).run(patients)
    costs[name] = answer.cost
    wrong = np.mean(answer.predictions != y.loc[patients])
    least, most = answer.cost.min(), answer.cost.max()
    print(f"{name:8s}: {answer.mean_cost:.1f} tests a patient, from {least:.0f} to {most:.0f}; error {100 * wrong:.1f} %")

# %%
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
bins = np.arange(0, 32) - 0.5
axes.hist(costs["unpruned"], bins, color="#D55E00", alpha=0.55, label="unpruned, stopping early")
axes.hist(costs["pruned"], bins, color="#0072B2", alpha=0.75, label="pruned, stopping early")
axes.set(xlabel="tests that a patient needs", ylabel="patients")
axes.spines[["top", "right"]].set_visible(False)
legend = axes.legend(frameon=False)
