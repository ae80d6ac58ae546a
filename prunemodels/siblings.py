"""A check that Python finds this project's `formulations`, `solvers` and `proofs_checks`, not a user's files of these names."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("formulations", "solvers", "proofs_checks")


def check_siblings() -> None:
    """Refuse to import if another module hides one of this project's packages."""
    home = Path(__file__).resolve().parent.parent
    for name in PACKAGES:
        spec = find_spec(name)
        origin = None if spec is None or spec.origin is None else Path(spec.origin).resolve()
        if origin != home / name / "__init__.py":
            found = "nothing" if origin is None else str(origin)
            raise ImportError(
                f"prunemodels needs its package {name!r} beside it in {home}, but Python finds {found}; "
                "rename that file or take its folder off sys.path"
            )
