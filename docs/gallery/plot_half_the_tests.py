"""
What does a budget of half the tests cost in error?
===================================================

Pruning within a budget gives up some accuracy for money. The curve of error against budget shows how much, before you
commit yourself to a budget.
"""

from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import prunemodels as pm

X, y = load_wine(return_X_y=True, as_frame=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.6, random_state=0)
X_valid, X_test, y_valid, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)
forest = RandomForestClassifier(40, random_state=0).fit(X_train, y_train)

# %%
# Thirteen chemical analyses of a wine cost 1 each; the forest buys nearly all of them.
whole = pm.evaluate(forest, X_test, y_test, costs=1)
result = pm.prune_forest(forest, X_valid, y_valid, costs=1, budget=whole.cost / 2)
half = pm.evaluate(result.estimator, X_test, y_test, costs=1)
print(f"all analyses: cost {whole.cost:.1f}, error {100 * whole.error:.1f} %")
print(f"half of them: cost {half.cost:.1f}, error {100 * half.error:.1f} %")

# %%
# The bold line is the error of the pruned forest on wines that played no part in growing or pruning it.
figure = result.plot(X_test, y_test)
