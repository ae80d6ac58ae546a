"""
Which budget should I choose?
=============================

Without a budget from above, let the data say where savings begin to hurt. Two rules are usual: the cheapest forest
whose error is within one standard error of the least, and the corner of the curve.
"""

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import prunemodels as pm

X, y = load_digits(return_X_y=True, as_frame=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.6, random_state=0)
X_valid, X_test, y_valid, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)
forest = RandomForestClassifier(30, max_features=None, random_state=0).fit(X_train, y_train)
path = pm.pruning_path(pm.problem_from_forest(forest, X_valid, costs=1))

# %%
# The rules look at validation images, and test images say what the choice is worth.
seen = pm.evaluate_path(path, X_valid, y_valid)
unseen = pm.evaluate_path(path, X_test, y_test)
for rule in ("one_se", "knee"):
    row = pm.evaluation.choose_row(seen, rule)
    print(f"{rule:6s}: cost {unseen.cost[row]:5.2f}, error {100 * unseen.error[row]:.1f} %")
print(f"all   : cost {unseen.unpruned_cost:5.2f}, error {100 * unseen.unpruned_error:.1f} %")

# %%
figure = pm.plots.plot_choice(seen)
