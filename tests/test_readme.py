"""The README and the documentation say what happens."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import traceback
from pathlib import Path

import pytest

from prunemodels.data_files import data_folder

ROOT = Path(__file__).resolve().parent.parent
DOCS = [page.relative_to(ROOT) for page in (ROOT / "docs").rglob("*.md")]
PAGES = ["README.md", *sorted(str(page) for page in DOCS if "_build" not in page.parts)]
LONG = {"docs/big_data.md", "docs/exits.md", "docs/other_libraries.md", "docs/rivals.md"}
"""Pages whose examples train many models: `make test-slow` runs them."""


def blocks(page: str) -> list[tuple[int, str, str | None]]:
    """The Python blocks of a page: the lines above the code, the code, and the output that is shown right below it."""
    text = (ROOT / page).read_text()
    found = re.finditer(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", text, re.DOTALL)
    return [(text.count("\n", 0, block.start(1)), block[1], block[2] or None) for block in found]


def run_examples(page: str) -> None:
    """Run a page's examples from nothing. What fails names the page and the line, since code keeps its place on the page."""
    names: dict[str, object] = {}
    for above, code, shown in blocks(page):
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
    if "fetch_heart" in (ROOT / page).read_text() and not (data_folder() / "heart_statlog.csv.gz").is_file():
        pytest.skip("Heart's table is not there")
    run_examples(page)


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


INSIDE = {"docs/add_a_formulation.md", "docs/add_an_engine.md"}
"""Pages that show files of the packages themselves."""


@pytest.mark.parametrize("page", sorted({*PAGES} - INSIDE))
def test_pages_use_public_names(page: str) -> None:
    """Of our packages a page imports `prunemodels` alone."""
    code = "\n".join(code for _, code, _ in blocks(page))
    assert re.findall(r"^ *(?:from|import) (?:formulations|solvers|proofs_checks|benchmarks).*$", code, re.MULTILINE) == []


def test_pages_have_examples() -> None:
    """The README has several examples, the first with its output, and so has the page on formulations."""
    assert len(blocks("README.md")) > 1
    assert blocks("README.md")[0][2]
    assert all(shown for _, _, shown in blocks("docs/formulations.md"))
