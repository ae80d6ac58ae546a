"""The README and the documentation say what happens."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from prunemodels.data_files import data_folder

ROOT = Path(__file__).resolve().parent.parent
DOCS = [page.relative_to(ROOT) for page in (ROOT / "docs").rglob("*.md")]
PAGES = ["README.md", *sorted(str(page) for page in DOCS if "_build" not in page.parts)]
LONG = {"docs/big_data.md", "docs/exits.md", "docs/other_libraries.md", "docs/rivals.md"}
"""Pages whose examples train many models: `make test-slow` runs them."""


def blocks(page: str) -> list[tuple[str, str | None]]:
    """The Python blocks of a page, each with the output that is shown right below it."""
    found = re.findall(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", (ROOT / page).read_text(), re.DOTALL)
    return [(code, shown or None) for code, shown in found]


@pytest.mark.parametrize("page", [pytest.param(page, marks=pytest.mark.slow) if page in LONG else page for page in PAGES])
def test_examples_print_what_is_shown(page: str) -> None:
    """A page's examples, run one after the other from nothing, print exactly the lines below each, where there are any."""
    if "fetch_heart" in (ROOT / page).read_text() and not (data_folder() / "heart_statlog.csv.gz").is_file():
        pytest.skip("Heart's table is not there")
    names: dict[str, object] = {}
    for code, shown in blocks(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page, "exec"), names)
        assert shown is None or printed.getvalue() == shown


INSIDE = {"docs/add_a_formulation.md", "docs/add_an_engine.md"}
"""Pages that show files of the packages themselves."""


@pytest.mark.parametrize("page", sorted({*PAGES} - INSIDE))
def test_pages_use_public_names(page: str) -> None:
    """Of our packages a page imports `prunemodels` alone."""
    code = "\n".join(code for code, _ in blocks(page))
    assert re.findall(r"^ *(?:from|import) (?:formulations|solvers|proofs_checks|benchmarks).*$", code, re.MULTILINE) == []


def test_pages_have_examples() -> None:
    """The README has several examples, the first with its output, and so has the page on formulations."""
    assert len(blocks("README.md")) > 1
    assert blocks("README.md")[0][1]
    assert all(shown for _, shown in blocks("docs/formulations.md"))
