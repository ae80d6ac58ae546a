"""
What if the scanner sees three patients of ten?
===============================================

A capacity is a limit on how often something is asked for, whatever it costs. Here one measurement is the scarce one, and a budget
for all others stays in force.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
forest = RandomForestClassifier(5, max_depth=5, random_state=0).fit(X[:300], y[:300])
problem = pm.problem_from_forest(forest, X[300:450], costs=1)

# %%
# The unpruned forest needs "worst concave points" for everybody. Ask for it at most so often; six measurements a case in all.
# Most trees ask near their roots, so a forest has few ways to ask some cases only: much of a share may stay unused.
SCARCE = "worst concave points"
shares = [0, 0.1, 0.3, 0.5, 1]
found = [pm.solve(problem, limits=[pm.Limit(6), pm.Limit(share, SCARCE)]) for share in shares]
for share, answer in zip(shares, found, strict=True):
    print(f"at most {share:.0%}: asked for by {float(answer.uses[1]):.0%}, trees err on {100 * answer.error:.1f} %")

# %%
# What the limit is worth: by how much the error falls for another case of a hundred that is scanned.
worth = float(found[2].relaxation.multipliers[1]) / 100
print(f"at three of ten another case of a hundred lowers the trees' error by {100 * worth:.3f} points")

# %%
figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
axes.plot(shares, [answer.error for answer in found], "o-", color="#0072B2", label="pruning found")
axes.plot(shares, [answer.bound for answer in found], ":", color="#0072B2", label="proven: no pruning below")
axes.set(xlabel='share of cases that may ask for "worst concave points"', ylabel="error of single trees", ylim=(0, None))
axes.spines[["top", "right"]].set_visible(False)
legend = axes.legend(frameon=False)
