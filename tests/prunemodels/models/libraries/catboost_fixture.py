"""Small models of CatBoost for tests without CatBoost.

``python -m tests.prunemodels.models.libraries.catboost_fixture`` writes them.

The file `catboost_models.json` holds, for each model, the content of CatBoost's JSON file, less what is not read, and the raw
predictions of some rows.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FILE = Path(__file__).with_name("catboost_models.json")
SHOWN = 12  # rows whose predictions are stored


def data() -> tuple[NDArray[np.float64], dict[str, NDArray[Any]]]:
    """Rows with missing values, and labels of each kind."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(300, 4)).round(2)
    X[draw.random(X.shape) < 0.1] = np.nan
    z = np.nan_to_num(X)
    three = np.array(list("abc"))[np.digitize(z[:, 0] + 0.3 * draw.normal(size=300), [-0.5, 0.5])]
    return X, {"two": (z[:, 0] + z[:, 1] > 0).astype(int), "three": three, "numbers": 2 * z[:, 0] + z[:, 2]}


def trained() -> dict[str, tuple[Any, NDArray[Any]]]:
    """Name -> (model, labels); needs CatBoost."""
    import catboost

    X, labels = data()
    small = {"iterations": 2, "depth": 2, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    models = {
        "two classes": (catboost.CatBoostClassifier(**small), "two"),
        "three classes": (catboost.CatBoostClassifier(**small), "three"),
        "one against the rest": (catboost.CatBoostClassifier(loss_function="MultiClassOneVsAll", **small), "three"),
        "numbers, missing high": (catboost.CatBoostRegressor(nan_mode="Max", **small), "numbers"),
        "grown best first": (catboost.CatBoostClassifier(grow_policy="Lossguide", **small), "two"),
    }
    return {name: (model.fit(X, labels[kind]), labels[kind]) for name, (model, kind) in models.items()}


def margins(model: Any, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """CatBoost's raw predictions, shape (N, outputs)."""
    return np.asarray(model.predict(X, prediction_type="RawFormulaVal"), dtype=np.float64).reshape(len(X), -1)


def main() -> None:
    """Write the file."""
    X, _ = data()
    stored = {}
    for name, (model, _) in trained().items():
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.json"
            model.save_model(str(file), format="json")
            document = json.loads(file.read_text())
        document["model_info"] = {"params": {"loss_function": document["model_info"]["params"]["loss_function"]}}
        for column in document["features_info"]["float_features"]:
            del column["borders"]
        stored[name] = {"model": document, "margins": margins(model, X[:SHOWN]).tolist()}
    FILE.write_text(json.dumps(stored) + "\n")


if __name__ == "__main__":
    main()
