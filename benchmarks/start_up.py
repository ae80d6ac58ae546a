"""Seconds until the first answer, in a new environment and later: what numba compiles, and how long that takes.

    python -m benchmarks.start_up --jobs evaluate path     default: all jobs

Each job runs in a process of its own, from a copy of the packages without compiled code. The first run compiles and stores, the
second one finds what the first stored. Seconds are those of the processor (user and system), so that other work on the machine
matters less.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measuring import command_line, line, markdown
from prunemodels.comparison.processes import machine

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("formulations", "solvers", "proofs_checks", "prunemodels")

DATA = """
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
import prunemodels as pm
X, y = load_breast_cancer(return_X_y=True, as_frame=True)
forest = RandomForestClassifier(50, min_samples_leaf=3, random_state=0).fit(X[:300], y[:300])
"""

JOBS = {
    "serve, stopping early": DATA
    + "pm.OnDemandPredictor(forest, 1, pm.on_demand.from_table(X), early_stopping=True).run(X.index[300:])",
    "evaluate": DATA + "pm.evaluate(forest, X[300:], y[300:], costs=1)",
    "path": DATA + "pm.pruning_path(pm.problem_from_forest(forest, X[300:450], costs=1))",
    "prune, searching": DATA + "print(pm.prune_forest(forest, X[300:450], y[300:450], costs=1, budget=8))",
    "demo": "from prunemodels.command_line.cli import main; assert main(['demo', '--quiet']) == 0",
}

RECORDED = """
import time
from numba.core import event

class Recorder(event.Listener):
    def __init__(self):
        self.open, self.done = [], []
    def on_start(self, started):
        self.open.append([time.process_time(), 0.0])
    def on_end(self, ended):
        start, inner = self.open.pop()
        took = time.process_time() - start
        if self.open:
            self.open[-1][1] += took
        function = ended.data["dispatcher"].py_func
        self.done.append((took - inner, f"{function.__module__}.{function.__qualname__}"))

recorder = Recorder()
event.register("numba:compile", recorder)
"""

REPORTED = """
import json
print("RECORD" + json.dumps([time.process_time(), recorder.done]))
"""


def run(job: str, packages: Path, folder: Path) -> tuple[float, list[tuple[float, str]]]:
    """Processor seconds of a process that does the job, and what it compiled with the seconds of each."""
    environment = os.environ | {"PYTHONPATH": str(packages), "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    environment.pop("NUMBA_CACHE_DIR", None)
    work = Path(tempfile.mkdtemp(dir=folder))
    command = [sys.executable, "-c", RECORDED + JOBS[job] + REPORTED]
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=True)
    seconds, kernels = json.loads(done.stdout.split("RECORD")[1])
    return seconds, [(took, name) for took, name in kernels]


def runs(job: str) -> tuple[float, list[tuple[float, str]], float]:
    """Seconds of the first run, what it compiled, and seconds of the second run, from a copy without compiled code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for package in PACKAGES:
            shutil.copytree(ROOT / package, folder / "packages" / package, ignore=shutil.ignore_patterns("*.nb[ic]"))
        first, kernels = run(job, folder / "packages", folder)
        later, _ = run(job, folder / "packages", folder)
    return first, kernels, later


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--jobs", nargs="*", choices=JOBS, default=list(JOBS), help="which jobs")
    jobs = parser.parse_args().jobs
    head = ["job", "first run, s", "later runs, s", "of the first, compiling, s", "functions compiled; ours"]
    print(machine(), markdown(head, []), sep="\n\n")
    for job in jobs:
        first, kernels, later = runs(job)
        ours = sum(name.split(".")[0] in PACKAGES for _, name in kernels)
        compiling = sum(took for took, _ in kernels)
        print(line(job, f"{first:.1f}", f"{later:.1f}", f"{compiling:.1f}", f"{len(kernels)}; {ours}"), flush=True)


if __name__ == "__main__":
    main()
