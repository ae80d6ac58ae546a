"""Which engine is taken, what is shown meanwhile, and which versions it needs."""

from __future__ import annotations

import io
import math
import subprocess
import sys
from functools import partial
from importlib import metadata
from itertools import product
from pathlib import Path

import pytest

import prunemodels as pm
from formulations import long_steps
from formulations.answers.solution import ItemDuals, SharedPrices, Status
from formulations.instance.papers import two_trees
from prunemodels.example import X_valid, forest, y_valid
from solvers.automatic import optimal_pruning
from solvers.closures.min_cut import min_cut
from solvers.engine import check_versions
from solvers.price_sharing.params import SharingParams
from tests.instances import random_problem
from tests.loops import looped


@looped("seed", range(0, 60, 3))
@pytest.mark.parametrize("ties", ["smallest", "largest"])
def test_both_engines_give_the_same_extreme_optimum(seed: int, ties: str) -> None:
    """Whichever engine is taken, the pruning is the one that min_cut proves."""
    problem = random_problem(seed)
    expected = min_cut(problem, 0.125, ties=ties)  # type: ignore[arg-type]
    for rounds in (1000, -1):
        params = SharingParams(small_core=-1, full_rounds=rounds)
        found = optimal_pruning(problem, 0.125, ties=ties, params=params)  # type: ignore[arg-type]
        assert (found.pruning.kept == expected.pruning.kept).all()  # type: ignore[union-attr]
        assert found.status is expected.status
        assert found.method == ("price_sharing" if rounds < 0 else "min_cut")


def test_a_cut_is_taken_only_well_within_the_time_limit() -> None:
    """A cut cannot be stopped, so under a limit that it could break the engine is the one that looks at the clock."""
    problem = two_trees()
    cut, _ = SharingParams().predicted_seconds(problem.n_usage_arcs, problem.ensemble.n_splits)
    for limit, certificate in ((math.inf, ItemDuals), (4.001 * cut, ItemDuals), (3.999 * cut, SharedPrices)):
        assert isinstance(optimal_pruning(problem, 0.1, time_limit=limit).certificate, certificate)
    stopped = optimal_pruning(problem, 0.1, time_limit=0.0)
    assert stopped.status is not Status.OPTIMAL or stopped.gap == 0


def test_the_choice_is_explained_beside_the_engine_s_own_figures() -> None:
    """The solution names the engine; the stats hold both predictions and what the engine itself says.

    Of a million usage arcs and ten thousand splits: 0.55 + 0.009 s; 55 rounds of 1.5 + 0.26 ms.
    """
    assert SharingParams().predicted_seconds(1_000_000, 10_000) == pytest.approx((0.559, 0.0968))
    solution = optimal_pruning(two_trees(), 0.2)
    cut, sharing = SharingParams().predicted_seconds(solution.problem.n_usage_arcs, solution.problem.ensemble.n_splits)
    assert solution.method == "min_cut"
    assert solution.stats["min_cut_seconds_predicted"] == cut
    assert solution.stats["price_sharing_seconds_predicted"] == sharing
    assert solution.stats["seconds"] > 0
    assert solution.value == pytest.approx(2 / 8 + 0.2 * 2)


@pytest.mark.parametrize("at_terminal", [True, False])
def test_nobody_asked_for_a_bar(monkeypatch: pytest.MonkeyPatch, at_terminal: bool) -> None:
    """It is shown on a terminal, where it takes long, and nowhere else: for a budget and for a rule."""
    monkeypatch.setattr(long_steps, "tqdm", partial(long_steps.tqdm, mininterval=0))
    for goal, unasked in product(({"budget": 9.7}, {"choose": "knee"}), (0.0, 3600.0)):  # what is quick shows nothing
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda: at_terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(long_steps, "SECONDS_UNASKED", unasked)
        pm.prune_forest(forest, X_valid, y_valid, **goal)  # type: ignore[arg-type]
        assert ("splits decided" in stream.getvalue()) == (at_terminal and not unasked)


ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "version", "needed"),
    [
        *(("highspy", wrong, "1.13") for wrong in ("1.15.0", "1.14.0", "1.130.0")),
        ("ortools", "9.16.1", "9.15"),
        *(("highspy", right, None) for right in ("1.13.0", "1.13")),
        ("ortools", "9.15.6755", None),
    ],
)
def test_wrong_versions_are_refused(package: str, version: str, needed: str | None, tmp_path: Path) -> None:
    """The message says what is installed, what is needed, why, and the command that mends it.

    All releases of the right versions pass, and looking them up imports neither package.
    """
    info = tmp_path / f"{package}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; from solvers.engine import check_versions; "
        "loaded = set(sys.modules); check_versions(); print(sorted((set(sys.modules) - loaded) & {'highspy', 'ortools'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    if needed is None:
        assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
        return
    assert done.returncode != 0
    message = done.stderr.splitlines()[-1]
    assert f"ImportError: {package} {version} is installed, {package} {needed} is needed" in message
    assert "libhighs.so.1" in message
    assert "wrong optima" in message
    assert "python -m pip install 'highspy==1.13.*' 'ortools==9.15.*'" in message


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without OR-Tools, the message names it and the command; highspy is left out of a light install."""

    def missing(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(ImportError, match=r"ortools 9\.15 is needed and not installed; mend it with: python -m pip install"):
        check_versions()
