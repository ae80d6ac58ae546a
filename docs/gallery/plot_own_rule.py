"""
What if a rule of the house comes first?
========================================

Rules that are no limits, such as "this measurement only together with that one", go into the model as rows of your own. Branch
and bound then finds the best pruned forest that keeps them.
"""

import matplotlib.pyplot as plt
import pyomo.environ as pyo
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X[:300], y[:300])
problem = pm.problem_from_forest(forest, X[300:340], costs=1)

# %%
# At most k features in the whole forest, and "worst area" only where "mean texture" is asked for too.
model = pm.programs.FORMULATIONS["closure"](problem, lam=0, merge=True)
used = pm.programs.feature_used(model)
model.pair = pyo.Constraint(expr=used["worst area"] <= used["mean texture"])
model.most = pyo.Param(initialize=len(used), mutable=True)
model.few = pyo.Constraint(expr=pyo.quicksum(used.values()) <= model.most)

prunings = {}
for k in range(11):
    model.most.value = k
    pm.programs.solve_model(model)
    prunings[k] = pm.programs.read_pruning(model)
print({k: f"{100 * pruning.error:.1f} %" for k, pruning in prunings.items()})

# %%
figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
axes.step(list(prunings), [pruning.error for pruning in prunings.values()], "o-", where="post", color="#0072B2")
axes.set(xlabel="features in the whole forest, at most", ylabel="least error of single trees", ylim=(0, None))
axes.spines[["top", "right"]].set_visible(False)
