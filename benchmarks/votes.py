"""How often a pruned forest's vote is cut anew, and what that does to its error on other rows.

    python -m benchmarks.votes

Forests of 40 trees on six tables of two classes, four splits of each, are pruned on the validation part to 10, 20, 40 and 80 % of
what they cost there, with `prune_forest(cut_vote=True)`. *Errs less* is the error of the likelier class on the test part, less
that of the vote cut anew, in points.
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.frontier.data import load_problem
from benchmarks.measuring import command_line, markdown

TABLES = ("heart_cleveland", "heart_statlog", "pima", "hepatitis", "bupa", "breast_cancer")
SPLITS, SHARES = 4, (0.1, 0.2, 0.4, 0.8)


def gains(name: str) -> list[float]:
    """Points that the vote gains on the test part where it is cut anew; NaN where it is not."""
    found = []
    for seed in range(SPLITS):
        problem = load_problem(name, seed).imputed
        forest = RandomForestClassifier(40, random_state=seed).fit(problem.train.X, problem.train.y)
        known, test = (problem.valid.X, problem.valid.y), problem.test
        full = float(pm.evaluate(forest, *known, costs=problem.costs).cost)
        for share in SHARES:
            plain, cut = (
                pm.prune_forest(forest, *known, costs=problem.costs, budget=share * full, cut_vote=c) for c in (False, True)
            )
            errs = [float(np.mean(p.estimator.predict(test.X) != test.y)) for p in (plain, cut)]
            found.append(100 * (errs[0] - errs[1]) if cut.cut is not None else np.nan)
    return found


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    given = parser.parse_args().tables
    seen = {name: gains(name) for name in given}
    seen["all"] = [gain for found in seen.values() for gain in found]
    lines = []
    for name, found in seen.items():
        anew = np.array(found)[~np.isnan(found)]
        numbers = [f"{of:+.1f}" for of in (anew.mean(), anew.min(), anew.max())] if anew.size else ["", "", ""]
        lines.append([name, len(found), anew.size, int((anew < 0).sum()), *numbers])
    print(markdown(["table", "prunings", "cut anew", "of these errs more", "errs less, mean", "least", "most"], lines))


if __name__ == "__main__":
    main()
