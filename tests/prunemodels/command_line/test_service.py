"""`prunemodels warm-up` compiles ahead what a service compiles; the commands of the page on serving do what it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("formulations", "solvers", "proofs_checks", "prunemodels")

SERVICE = """
import json
import prunemodels as pm
from formulations.compiled import KERNELS
from prunemodels.example import X_test, costs, forest, y_test
result = pm.OnDemandPredictor(forest, costs, pm.on_demand.from_table(X_test), early_stopping=True).run(X_test.index)
assert (result.predictions == forest.predict(X_test)).all()
pm.OnDemandPredictor(forest, costs, pm.on_demand.from_table(X_test)).run(X_test.index)
pm.evaluate(forest, X_test, y_test, costs=costs)
print(json.dumps(sorted(k.py_func.__name__ for k in KERNELS if k.stats.cache_misses)))
"""


def containerfile() -> tuple[list[str], dict[str, str]]:
    """The RUN commands of the page's Containerfile, and what its ENV sets."""
    lines = (ROOT / "docs" / "serving.md").read_text().splitlines()
    runs = [line.removeprefix("RUN ") for line in lines if line.startswith("RUN ")]
    (environment,) = [line for line in lines if line.startswith("ENV ")]
    return runs, dict(re.findall(r"(\w+)=(\S+)", environment))


@pytest.mark.slow
def test_a_service_compiles_nothing_after_the_containerfiles_commands(tmp_path: Path) -> None:
    """After the image's commands a package that was never used serves from a folder that it may only read."""
    runs, environment = containerfile()
    assert runs[0].startswith("pip install ")
    assert runs[1:] == ["prunemodels warm-up", "prunemodels warm-up"]
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    compiled = tmp_path / environment.pop("NUMBA_CACHE_DIR").strip("/")
    names = os.environ | environment | {"NUMBA_CACHE_DIR": str(compiled), "PYTHONPATH": str(tmp_path)}

    def python(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=names, capture_output=True, text=True, check=False, timeout=900
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    first, second = (json.loads(python("-m", *command.split(), "--json")) for command in runs[1:])
    assert "prunemodels.on_demand.steps.advance" in first["compiled"]
    assert first["folder"] == str(compiled)
    assert second["compiled"] == []
    assert second["found"] > 0
    assert json.loads(python("-c", SERVICE)) == []
