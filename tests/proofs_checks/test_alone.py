"""`proofs_checks` needs numpy and scipy only: everything else is blocked in a new process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

BLOCKED = '''
import sys
import warnings

class Blocked:
    """Finds nothing but the standard library, numpy, scipy, and the two packages."""

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in {"numpy", "scipy", "proofs_checks", "formulations"} or top in sys.stdlib_module_names or top.startswith("_"):
            return None
        raise ModuleNotFoundError(f"No module named {name!r}", name=top)

sys.meta_path.insert(0, Blocked())
warnings.simplefilter("error")
'''


def run_alone(code: str) -> str:
    """What code prints in a process where nothing else can be imported."""
    done = subprocess.run([sys.executable, "-c", BLOCKED + code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_package_is_imported_with_numpy_and_scipy_only() -> None:
    """And what is blocked is blocked."""
    assert run_alone("import proofs_checks; print(len(proofs_checks.__all__) > 20)") == "True\n"
    refused = "try:\n    import numba\nexcept ModuleNotFoundError as error:\n    print(error.name)"
    assert run_alone(refused) == "numba\n"


@pytest.mark.slow
def test_matrices_are_decided_with_numpy_and_scipy_only() -> None:
    """Networks, R10, a 3-sum (R12), F7 with signs that pass signing, an odd cycle, the definition, and the vertices of an LP."""
    assert (
        run_alone(
            """
import numpy as np
from proofs_checks import check_integral_vertices, check_total_unimodularity, check_violation, read_polyhedron
from proofs_checks.total_unimodularity import check_pieces

r10 = np.array([[1, -1, 0, 0, -1], [-1, 1, -1, 0, 0], [0, -1, 1, -1, 0], [0, 0, -1, 1, -1], [-1, 0, 0, -1, 1]])
r12 = np.array([[1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0], [1, 0, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1],
                [0, 0, 1, 0, -1, -1], [0, 0, 0, 1, -1, -1]])
f7 = np.array([[1, 1, 0, 1], [1, 0, 1, 1], [0, 1, -1, 1]])
for matrix in (np.triu(np.ones((6, 6))), r10, r12):
    verdict = check_total_unimodularity(matrix)
    print(verdict.holds, verdict.method)
    if "blocks" in verdict.method:
        print(check_pieces(matrix, verdict.certificate).holds)
for matrix in (f7, np.eye(5) + np.roll(np.eye(5), 1, axis=1)):
    verdict = check_total_unimodularity(matrix)
    print(verdict.holds, verdict.method, check_violation(matrix, verdict.certificate).certificate)
for method in ("network", "subdeterminants"):
    print(method, check_total_unimodularity(f7, method=method).holds)
polyhedron = read_polyhedron(r10[:3, :4], row_upper=1, upper=1)
print(check_integral_vertices(polyhedron).certificate)
"""
        )
        == """True network matrix
True reductions and blocks: R10
True
True reductions and blocks: 3-sum
True
False decomposition determinant 2, minimal
False signing determinant 2, minimal
network None
subdeterminants False
16 vertices, all integral
"""
    )
