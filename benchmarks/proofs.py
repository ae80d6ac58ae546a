"""What a proof of a budget or limits takes: its leaves and bytes, and the seconds of search, proof and check.

    python -m benchmarks.proofs                    README's heart forest, breast cancer, MiniBooNE: five budgets each
    python -m benchmarks.proofs --only heart       one of them; with --limits the heart forest within a budget and a share of thal

Budgets are shares of what the unpruned forest costs; the heart forest's are those of the README, in dollars. *Holds* is the
answer of `check_solution`, from trees, rows and prices alone. MiniBooNE's forest is that of BP16: 40 entropy trees, 15,000 cost
rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import prunemodels as pm
from benchmarks.growth import miniboone
from benchmarks.instances import shipped
from benchmarks.measuring import command_line, line, markdown
from prunemodels.comparison.processes import machine
from prunemodels.example import problem as example

SHARES = (0.15, 0.3, 0.45, 0.6, 0.75)
DOLLARS = (50, 100, 150, 200, 250)
HEAD = ["limits", "status", "error", "bound", "leaves", "proof, kB", "search, s", "proof, s", "check, s", "holds"]


def heart() -> pm.PruningProblem:
    """The README's forest: 50 trees, 81 rows, prices in dollars."""
    X, y, prices = pm.datasets.fetch_heart()
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.6, random_state=0, stratify=y)
    X_valid, _ = train_test_split(X_rest, test_size=0.5, random_state=0, stratify=y_rest)
    forest = RandomForestClassifier(50, min_samples_leaf=3, random_state=0).fit(X_train, y_train)
    return pm.problem_from_forest(forest, X_valid, costs=prices)


INSTANCES: dict[str, Callable[[], pm.PruningProblem]] = {
    "heart": heart,
    "breast_cancer": lambda: shipped("breast_cancer", trees=40, rows=280),
    "miniboone": lambda: miniboone(None),
}


def questions(name: str, problem: pm.PruningProblem, *, limits: bool) -> Iterator[list[pm.Limit]]:
    """Five budgets; with `limits` each of the heart's beside a limit that cannot bind, and beside one that does."""
    full = pm.Pruning.unpruned(problem).cost
    for budget in DOLLARS if name == "heart" else [round(share * full, 2) for share in SHARES]:
        yield [pm.Limit(budget)]
        if limits:
            yield [pm.Limit(budget), pm.Limit(1.0, "chol")]
            yield [pm.Limit(budget), pm.Limit(0.3, "thal")]


def row(problem: pm.PruningProblem, limits: list[pm.Limit]) -> str:
    """One answer and its check."""
    found = pm.solve(problem, limits=limits)
    started = time.perf_counter()
    verdict = pm.checks.check_solution(problem, found)
    stats, seconds = found.stats, time.perf_counter() - started
    told = ", ".join(f"{limit.title} {float(limit.at_most):g}" for limit in limits)
    figures = [f"{stats['proof_leaves']:.0f}", f"{stats['proof_bytes'] / 1000:,.0f}"]
    times = [f"{x:.2f}" for x in (stats["seconds"] - stats["proof_seconds"], stats["proof_seconds"], seconds)]
    return line(told, str(found.status), f"{found.error:.4f}", f"{found.bound:.4f}", *figures, *times, str(verdict.holds))


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--only", choices=INSTANCES)
    parser.add_argument("--limits", action="store_true", help="the heart forest within limits, too")
    args = parser.parse_args()
    print(machine())
    pm.solve(example, budget=5)  # compiles
    for name in [args.only] if args.only else INSTANCES:
        problem = INSTANCES[name]()
        print(f"\n{name}: {problem}\n\n{markdown(HEAD, [])}", flush=True)
        for limits in questions(name, problem, limits=args.limits and name == "heart"):
            print(row(problem, limits), flush=True)


if __name__ == "__main__":
    main()
