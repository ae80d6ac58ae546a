"""
How much smaller does the forest become?
========================================

Pruning for cost also makes the forest smaller and its files shorter. That counts on a device with little memory.
"""

import io

import joblib
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import prunemodels as pm

X, y = load_digits(return_X_y=True, as_frame=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.6, random_state=0)
X_valid, X_test, y_valid, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)
forest = RandomForestClassifier(40, random_state=0).fit(X_train, y_train)


# %%
def kilobytes(forest):
    """The size of the forest's file."""
    file = io.BytesIO()
    joblib.dump(forest, file, compress=3)
    return len(file.getvalue()) / 1000


sizes, errors = [], []
for budget in (15, 20, 25, 30):
    pruned = pm.prune_forest(forest, X_valid, y_valid, costs=1, budget=budget, time_limit=2).estimator
    sizes.append(kilobytes(pruned))
    errors.append(pm.evaluate(pruned, X_test, y_test, costs=1).error)
    print(f"budget {budget}: {sizes[-1]:5.0f} kB, {100 * errors[-1]:.1f} % errors")
whole = kilobytes(forest)
print(f"unpruned : {whole:5.0f} kB, {100 * pm.evaluate(forest, X_test, y_test, costs=1).error:.1f} % errors")

# %%
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
axes.plot(sizes, errors, "o-", color="#0072B2")
axes.axvline(whole, color="0.5", ls="--", lw=1)
axes.annotate("unpruned", (whole, max(errors)), (-6, 0), textcoords="offset points", ha="right", va="top", color="0.35")
axes.set(xlabel="size of the file in kB", ylabel="error on test images", xlim=(0, None), ylim=(0, None))
axes.yaxis.set_major_formatter(lambda rate, _: f"{100 * rate:g} %")
axes.spines[["top", "right"]].set_visible(False)
