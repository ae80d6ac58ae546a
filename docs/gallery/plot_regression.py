"""
Does it work for numbers, too?
==============================

A forest that predicts a number is pruned in the same way; the error is the squared error.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split

import prunemodels as pm

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.5, random_state=0)
X_valid, X_test, y_valid, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)
forest = RandomForestRegressor(40, min_samples_leaf=5, random_state=0).fit(X_train, y_train)

# %%
# The six blood values cost 5 each, age, sex, body mass and blood pressure cost 1.
prices = {name: 5 if name.startswith("s") and name != "sex" else 1 for name in X.columns}
errors = pm.samples.Given(X_valid, y_valid)
path = pm.pruning_path(pm.problem_from_forest(forest, X_valid, costs=prices, errors=errors))
curve = pm.tradeoff_curve(path, X_test, y_test)
point = curve.best_within(10)
print(f"within 10 of {curve.cost.max():.0f}: squared error {curve.error[point]:.0f}, the least is {curve.error.min():.0f}")

# %%
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
axes.plot(curve.cost, curve.error**0.5, "-", lw=2, color="#0072B2")
axes.plot(curve.cost[point], curve.error[point] ** 0.5, "o", color="#D55E00", label="within 10")
axes.set(xlabel="cost of a prediction", ylabel="root mean squared error on test rows", ylim=(0, None))
axes.spines[["top", "right"]].set_visible(False)
legend = axes.legend(frameon=False)
