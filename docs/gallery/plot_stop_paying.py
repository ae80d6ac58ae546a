"""
Which tests can I stop paying for?
==================================

You have a forest that reads thirty measurements of a tumour, and each measurement costs money. You can afford half of
what the forest buys today. Which measurements do you keep, and for how many patients?
"""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import prunemodels as pm

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.5, random_state=0)
X_valid, X_test, y_valid, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)
forest = RandomForestClassifier(40, random_state=0).fit(X_train, y_train)

# %%
# Made-up prices: the "worst" values need three pictures, the others one.
prices = {name: 3 if "worst" in name else 1 for name in X.columns}
before = pm.evaluate(forest, X_test, y_test, costs=prices)
result = pm.prune_forest(forest, X_valid, y_valid, costs=prices, budget=before.cost / 2)
after = pm.evaluate(result.estimator, X_test, y_test, costs=prices)
print(f"cost of a patient: {before.cost:.1f} before, {after.cost:.1f} after")
print(f"errors: {100 * before.error:.1f} % before, {100 * after.error:.1f} % after")

# %%
# The picture shows the share of patients for whom each measurement is bought.
figure = result.plot_purchases()

# %%
# A measurement that nobody buys any more can be taken off the form.
table = result.purchases()
print(table.head(10).to_string())
