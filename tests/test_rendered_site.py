"""The pages as a reader sees them: no markup left over, no code that runs off the screen, nothing that axe-core finds.

The site is built once, notebooks not executed. What needs a browser is skipped by name where there is no Chromium.
"""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
MAIN = (
    "docs/index", "docs/start", "docs/budgets", "docs/api/generated/prunemodels.PruningPath", "notebooks/01_pruning_by_hand",
    "docs/gallery_pages/plot_stop_paying",
)  # fmt: skip
"""The first page, one of each kind of the others."""

SKIPPED = ("_static", "genindex.html", "search.html", "py-modindex.html")
CITED = re.compile(r"\bsee \((\d)\)|(?<=: )\((\d)\)(?=[.;,]|$)")
MARKUP = {
    "a role of Sphinx": re.compile(r"\{(?:ref|doc|class|func|meth|exc|py:\w+)\}|:py:|:(?:ref|doc|class|func|meth):`"),
    "a backtick": re.compile(r"`"),
    "bold marks": re.compile(r"(?<!\w)\*\*\w[^*]*\w\*\*"),
    "an error": re.compile(r"Traceback \(most recent call last\)|\bNameError: "),
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a strict build; gallery executed, notebooks not."""
    pytest.importorskip("myst_nb", reason='the site needs pip install "prunemodels[docs]"')
    folder = tmp_path_factory.mktemp("site")
    options = ["-q", "-W", "--keep-going", "-d", str(folder / "doctrees"), "-c", str(DOCS)]
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(ROOT), str(folder / "html")],
        capture_output=True, text=True, timeout=1800, check=False,
    )  # fmt: skip
    assert (built.returncode, built.stderr) == (0, "")
    return folder / "html"


def pages(site: Path) -> Iterator[tuple[str, str]]:
    """The name of each page and the HTML of its article."""
    for file in sorted(site.rglob("*.html")):
        name = str(file.relative_to(site))
        text = file.read_text()
        if not any(part in name for part in SKIPPED) and "<article" in text:
            yield name, text[text.index("<article") : text.index("</article>")]


def prose(article: str) -> str:
    """What a reader sees of an article outside of code and formulas."""
    article = re.sub(r"<(pre|code|math|script|style|dt)\b.*?</\1>", " ", article, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", article)).split())


def test_no_page_shows_markup_or_errors(site: Path) -> None:
    """Nothing of what the sources are written in is left over, and no output is an error."""
    found = [
        (name, what, seen[max(0, at.start() - 30) : at.end() + 30])
        for name, article in pages(site)
        for seen in [prose(article)]
        for what, pattern in MARKUP.items()
        if name not in ("CHANGELOG.html", "CONTRIBUTING.html") and (at := pattern.search(seen))
    ]
    assert found == []


def test_every_page_of_an_object_has_the_equations_that_it_cites(site: Path) -> None:
    """Where a page says "see (1)", there is a line that ends with (1)."""
    missing = []
    for name, article in pages(site):
        if "/generated/" in name:
            numbers = {next(filter(None, found)) for found in CITED.findall(prose(article))}
            drawn = html.unescape(re.sub(r"<[^>]+>", "", " ".join(re.findall(r"<pre.*?</pre>", article, re.DOTALL))))
            missing += [(name, number) for number in numbers if f"({number})" not in drawn]
    assert missing == []


def test_objects_show_inherited_members_and_an_example(site: Path) -> None:
    """What a path inherits is on its page; every public object's page has an example."""
    path = (site / "docs/api/generated/prunemodels.PruningPath.html").read_text()
    for member in ("at_cost", "to_frame", "cost", "error"):
        assert f'id="prunemodels.PruningPath.{member}"' in path
    public = [(name, article) for name, article in pages(site) if name.startswith("docs/api/generated/prunemodels.")]
    inner = ("report_page.", "forests.costs", "ensemble_loss.objective")
    assert len(public) > 190
    assert [
        name for name, article in public if ">&gt;&gt;&gt; </span>" not in article and not any(x in name for x in inner)
    ] == []


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    sync = pytest.importorskip("playwright.sync_api", reason='needs pip install "prunemodels[browser]"')
    with sync.sync_playwright() as player:
        chromium = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def opened(browser: Any, file: Path, width: int, scheme: str = "light") -> Any:
    """A page at a width in pixels."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(file.as_uri())
    return page


def test_no_page_scrolls_sideways_on_a_telephone(site: Path, browser: Any) -> None:
    """At 400 pixels tables, code and formulas scroll in their own boxes."""
    page = browser.new_page(viewport={"width": 400, "height": 800})
    wide = []
    for name, _ in pages(site):
        page.goto((site / name).as_uri())
        if (width := page.evaluate("document.documentElement.scrollWidth")) > 400:
            wide.append((name, width))
    page.close()
    assert wide == []


def test_code_fits_its_box_on_a_desk(site: Path, browser: Any) -> None:
    """At 1400 pixels no line of Python runs off its box."""
    widest = """[...document.querySelectorAll('.bd-article .highlight-python pre, .bd-article .highlight-ipython3 pre')]
        .map(box => [box.scrollWidth - box.clientWidth, box.innerText.slice(0, 60)]).filter(found => found[0] > 1)"""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    wide = []
    for name, _ in pages(site):
        page.goto((site / name).as_uri())
        wide += [(name, *found) for found in page.evaluate(widest)]
    page.close()
    assert wide == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_main_pages(site: Path, browser: Any, scheme: str) -> None:
    """No violation of axe-core's rules for accessibility."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason='needs pip install "prunemodels[browser]"').Axe()
    found = []
    for name in MAIN:
        page = opened(browser, site / f"{name}.html", 1400, scheme)
        for violation in axe.run(page).response["violations"]:
            found += [(name, violation["id"], node["target"], node["html"][:120]) for node in violation["nodes"]]
        page.close()
    assert found == []
