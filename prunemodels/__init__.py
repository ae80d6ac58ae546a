"""Optimal pruning of tree ensembles under prediction-time cost.

>>> import prunemodels as pm
>>> from prunemodels.example import X_valid, costs, forest, y_valid
>>> result = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=10)
>>> result.estimator
RandomForestClassifier(max_depth=4, n_estimators=8, random_state=0)
"""

# ruff: noqa: E402 (the check must run before any other import of this project)
from importlib.util import find_spec
from pathlib import Path


def _check_siblings() -> None:
    """Refuse to import where a user's file of the name hides one of this project's packages."""
    home = Path(__file__).resolve().parent.parent
    for name in ("formulations", "solvers", "proofs_checks"):
        spec = find_spec(name)
        origin = None if spec is None or spec.origin is None else Path(spec.origin).resolve()
        if origin != home / name / "__init__.py":
            found = "nothing" if origin is None else str(origin)
            raise ImportError(
                f"prunemodels needs its package {name!r} beside it in {home}, but Python finds {found}; "
                "rename that file or take its folder off sys.path"
            )


_check_siblings()

from formulations.extras import lazy_names

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
