"""
What if no single case may cost more than B?
============================================

A budget on the mean lets some cases be dear. A limit for every single case is stricter, and costs accuracy.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
forest = RandomForestClassifier(20, max_depth=6, random_state=0).fit(X[:300], y[:300])
problem = pm.problem_from_forest(forest, X[300:450], costs=1)

# %%
# The same number twice: as the mean, and as a limit for every case. The limit holds on the rows that the problem was made with;
# new cases may cost a little more.
mean = pm.solve(problem, budget=12, time_limit=5).pruning
every = pm.solve(problem, limits=[pm.Limit(12, each=True)], time_limit=5).pruning
prunings = {"12 on average": mean, "12 at most": every}
for name, pruning in prunings.items():
    dearest = pm.hold_out(pruning, forest, X[450:]).cost.largest
    print(f"{name}: trees err on {100 * pruning.error:.1f} %, the dearest test case costs {dearest:.0f}")

# %%
figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
laboratory = pm.on_demand.from_table(X)
for (name, pruning), color in zip(prunings.items(), ("#D55E00", "#0072B2"), strict=True):
    bought = pm.OnDemandPredictor(pm.apply_pruning(pruning, forest), 1, laboratory).run(X.index[450:]).cost
    axes.hist(bought, np.arange(0, 32) - 0.5, color=color, alpha=0.6, label=name)
axes.set(xlabel="cost of a test case", ylabel="test cases")
axes.spines[["top", "right"]].set_visible(False)
legend = axes.legend(frameon=False)
