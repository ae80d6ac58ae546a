"""The pages as a reader sees them: all there, no link dead, no markup left over. The site is built once, without notebooks."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"

SKIPPED = ("_static", "genindex.html", "search.html", "py-modindex.html")
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


class Page(HTMLParser):
    """What a page links to, what it fetches, and the places in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Gather one tag's."""
        found = {name: value or "" for name, value in attrs}
        self.places.add(found.get("id", ""))
        if target := found.get("href") or found.get("src"):
            (self.links if tag == "a" else self.fetched).append(target)


def dead(seen: dict[Path, Page], file: Path) -> list[str]:
    """Links of a page that lead to no file of the site, or to no place in it, and all that it fetches from elsewhere."""
    found = []
    for link in [*seen[file].links, *seen[file].fetched]:
        if re.match(r"[a-z]+:|//", link):
            if link in seen[file].fetched and not link.startswith("data:"):
                found.append(link)
            continue
        name, _, place = link.partition("#")
        target = (file.parent / name.split("?")[0]).resolve() if name else file
        if not target.is_file() or (place and target in seen and place not in seen[target].places):
            found.append(link)
    return found


def test_all_pages_are_there_and_no_link_is_dead(site: Path) -> None:
    """Each source has its page; no link leads nowhere, and nothing is fetched from elsewhere."""
    root = site.resolve()
    seen = {file: Page(file.read_text()) for file in root.rglob("*.html") if "_static" not in file.parts}
    sources = [*DOCS.glob("*.md"), *(DOCS / "api").glob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
    assert {root / source.relative_to(ROOT).with_suffix(".html") for source in sources} <= set(seen)
    assert {file.name: links for file in seen if (links := dead(seen, file))} == {}


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
