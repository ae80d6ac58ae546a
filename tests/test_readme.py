"""The README and the documentation say what happens."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import traceback
from pathlib import Path

import pytest

import prunemodels as pm
from benchmarks.frontier.data import budgets_of
from benchmarks.frontier.results import read_results
from benchmarks.frontier.tables import at_budgets
from prunemodels.data_files import data_folder

ROOT = Path(__file__).resolve().parent.parent
DOCS = [page.relative_to(ROOT) for page in (ROOT / "docs").rglob("*.md")]
PAGES = ["README.md", *sorted(str(page) for page in DOCS if "_build" not in page.parts)]
LONG = {
    "README.md",
    "docs/add_a_formulation.md",
    "docs/big_data.md",
    "docs/budgets.md",
    "docs/claims.md",
    "docs/credit_bureaus.md",
    "docs/deployment.md",
    "docs/embedded_sensors.md",
    "docs/estimators.md",
    "docs/exits.md",
    "docs/forests.md",
    "docs/index.md",
    "docs/on_demand.md",
    "docs/other_libraries.md",
    "docs/pipelines.md",
    "docs/proofs.md",
    "docs/real_prices.md",
    "docs/rivals.md",
    "docs/start.md",
    "docs/which_forests_prune_well.md",
}
"""Pages whose examples train many models: `make test-slow` runs them."""


def blocks(page: str) -> list[tuple[int, str, str | None]]:
    """The Python blocks of a page: the lines above the code, the code, and the output that is shown right below it."""
    text = (ROOT / page).read_text()
    found = re.finditer(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", text, re.DOTALL)
    return [(text.count("\n", 0, block.start(1)), block[1], block[2] or None) for block in found]


def run_examples(page: str, *, before: str | None = None) -> None:
    """Run a page's examples from nothing, as far as the first that needs `before`; what fails names the page and the line."""
    names: dict[str, object] = {}
    for above, code, shown in blocks(page):
        if before and before in code:
            return
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile("\n" * above + code, str(ROOT / page), "exec"), names)
        except Exception as error:
            at = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(ROOT / page)]
            pytest.fail(f"{page}:{at[-1] if at else above + 1}: {type(error).__name__}: {error}")
        assert shown is None or printed.getvalue() == shown, (
            f"{page}:{above + 1}: this block does not print what is shown below it"
        )


@pytest.mark.parametrize("page", [pytest.param(page, marks=pytest.mark.slow) if page in LONG else page for page in PAGES])
def test_examples_print_what_is_shown(page: str) -> None:
    """A page's examples, run one after the other from nothing, print exactly the lines below each, where there are any."""
    if (data_folder() / "heart_statlog.csv.gz").is_file():
        run_examples(page)
        return
    run_examples(page, before="fetch_heart")
    if "fetch_heart" in (ROOT / page).read_text():
        pytest.skip("Heart's table is not there; what stands before the first example that needs it has run")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x = 1\n\nprint(x + y)\n", r"page\.md:5: NameError: name 'y' is not defined"),
        ("print(1)\n", r"page\.md:3: this block does not print what is shown below it"),
    ],
)
def test_a_failing_example_names_its_page_and_line(code: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever breaks an example reads where it stands."""
    (tmp_path / "page.md").write_text(f"# A page\n```python\n{code}```\n\n```\n2\n```\n")
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    with pytest.raises((AssertionError, pytest.fail.Exception), match=said):
        run_examples("page.md")


INSIDE = {"docs/add_a_formulation.md", "docs/add_an_engine.md"}  # pages that show files of the packages themselves


@pytest.mark.parametrize("page", sorted({*PAGES} - INSIDE))
def test_pages_use_public_names(page: str) -> None:
    """Of our packages a page imports `prunemodels` alone."""
    code = "\n".join(code for _, code, _ in blocks(page))
    assert re.findall(r"^ *(?:from|import) (?:formulations|solvers|proofs_checks|benchmarks).*$", code, re.MULTILINE) == []


def test_pages_have_examples() -> None:
    """The README's examples are shown with their output, as are those of the page on formulations."""
    assert len(blocks("README.md")) > 1
    assert all(shown for page in ("README.md", "docs/formulations.md") for _, _, shown in blocks(page))


def test_the_readme_is_short() -> None:
    """At most 1,500 words; the example of each door has at most ten lines and needs no file."""
    assert len((ROOT / "README.md").read_text().split()) <= 1500
    for _, code, _ in blocks("README.md")[:2]:
        assert len(code.splitlines()) <= 10
        assert "fetch" not in code


PROMISES = {
    "test_readme.py::test_cascades_err_least_short_of_all_features": [
        "Less error for the same money",
        "but not where all features",
    ],
    "test_readme.py::test_the_readme_counts_the_engines": ["the same by [18 engines]"],
    "solvers/test_conformance.py::test_engines_agree": [
        "solves the integer programs behind this exactly",
        "the optimum for one lambda",
    ],
    "solvers/path/test_pruning_path.py::test_path_holds_the_extreme_optimum_everywhere": ["the optima of all lambda at once"],
    "solvers/within/test_engines.py::test_every_engine_on_every_instance": ["the best pruning found within a budget"],
    "proofs_checks/test_alone.py::test_the_package_is_imported_with_numpy_and_scipy_only": [
        "with certificates that others can check",
        "[checked](docs/proofs.md) without the engines",
    ],
    "proofs_checks/optimality/test_optimality.py::test_one_dual_state_proves_the_whole_path": [
        "the last line checks its certificate",
        "solutions for growing lambda are nested",
        "every optimal pruning for every lambda",
    ],
    "proofs_checks/total_unimodularity/test_decide.py::test_every_instance_has_the_certificate": [
        "IP3's matrix is totally unimodular"
    ],
    "proofs_checks/integrality/test_integrality.py::test_only_ip1_and_lp1_have_fractional_vertices": [
        "so its relaxation has integral vertices"
    ],
    "prunemodels/test_main_job.py::test_a_checker_accepts_path_and_cut_on_real_forests": [
        "1,230 optimal prunings; the path and its certificate"
    ],
    "prunemodels/on_demand/test_guarantees.py::test_the_classes_are_the_full_walks": [
        "The same predictions for less",
        "until no other answer is possible",
        "The classes are the same",
    ],
    "prunemodels/estimators/test_pruned_forest.py::test_a_budget_is_kept_exactly": ["`prune_forest`: optimal"],
    "prunemodels/models/libraries/test_export.py::test_forests_of_other_libraries_in_pipelines": ["[`prune_model`](docs/ot"],
    "prunemodels/models/boosting/test_promise.py::test_never_worse_on_many_models": ["never worse than dropping rounds"],
}
"""What would fail if it were not so, below `tests`: the promises of the README by the test of each."""

PROMISING = re.compile(
    r"\b(?:prove[ns]?|proofs?|guarantee\w*|never|every|all|always|exactly|optim(?:al|um|a)|same|certificates?|nested|no other)\b"
)

NO_PROMISES = ["**Certificates** for bounds", "all commands"]
"""Statements with such a word that promise nothing, or what stands beside them promises."""


def statements(text: str) -> list[str]:
    """The sentences, headers and cells of a page outside of code blocks, on a line each."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    parts = re.split(r"(?<=[.:!?;])\**\s+(?=[A-Z*`\[])|\s\|\s|\n\n|\n(?=[|-])", text)
    return [" ".join(part.split()) for part in parts]


def test_every_promise_of_the_readme_has_a_test() -> None:
    """Each statement with a word like "never" or "every" is in the list, with a test that exists; the list has no other."""
    text = statements((ROOT / "README.md").read_text())
    known = [*(promise for promises in PROMISES.values() for promise in promises), *NO_PROMISES]
    assert [one for one in text if PROMISING.search(one) and not any(promise in one for promise in known)] == []
    assert [promise for promise in known if not any(promise in one for one in text)] == []
    for test in PROMISES:
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(), test


def test_the_readme_counts_the_engines() -> None:
    """As many engines as the registry has."""
    assert f"[{len(pm.SOLVERS)} engines]" in (ROOT / "README.md").read_text()


def test_cascades_err_least_short_of_all_features() -> None:
    """In the README's picture: cascades below backward elimination at every budget but the last, and that below the forest."""
    panels = ["miniboone", "covtype_two"]
    results = read_results(ROOT / "benchmarks" / "results" / "frontier.csv")
    chosen = at_budgets(results[results["data"].isin(panels)], {name: budgets_of(name) for name in panels})
    error = chosen.groupby(["data", "budget", "method"])["error"].mean().unstack()
    cascade, boosted, pruned = (
        error[m] for m in ("cascade of LightGBM models", "LightGBM, backward elimination", "optimal pruning path")
    )
    assert (boosted < pruned).all()
    for name in panels:
        assert (cascade[name] < boosted[name])[:-1].all()
