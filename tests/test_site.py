"""The documentation site: its sources say something about all that is public, and a reader sees no dead link or markup."""

from __future__ import annotations

import ast
import html
import importlib
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import prunemodels as pm
from formulations import Solver
from prunemodels.data_files import data_folder
from prunemodels.plots import save_picture
from solvers.within import BUDGET_SOLVERS
from tests.test_layout import PUBLIC, namespaces

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *(DOCS / "api").glob("*.md")])
ENTRY = re.compile(r"^\.\. (currentmodule|data):: (\S+)|^   ()(\w[\w.]+)$", re.MULTILINE)


def documented() -> set[int]:
    """What the pages of the API reference have an entry for, by identity; each entry of a table has a page of its own."""
    found = set()
    for page in (DOCS / "api").glob("*.md"):
        module = ""
        for directive, name, _, listed in ENTRY.findall(page.read_text()):
            if directive == "currentmodule":
                module = name
            elif page.stem != "types":
                found.add(id(resolved(module, name or listed)))
    return found


def resolved(module: str, name: str) -> object:
    """The object that a directive names, in full or within the current module."""
    for full in (f"{module}.{name}", name):
        home, _, attribute = full.rpartition(".")
        try:
            return getattr(importlib.import_module(home), attribute)
        except (ImportError, AttributeError, ValueError):
            continue
    raise AssertionError(f"the API reference names {name}, in {module}, which is not there")


def test_every_public_name_is_in_the_api_reference() -> None:
    """Each name of `pm` and of its namespaces has an entry, and every entry is something that can be imported."""
    entries, spaces = documented(), namespaces().items()
    missing = [f"{full}.{name}" for full, space in spaces for name in PUBLIC[full] if id(getattr(space, name)) not in entries]
    assert missing == []


def first_cells(page: Path, heading: str) -> set[str]:
    """The names in the first column of the table below a heading."""
    section = re.split(r"^## ", page.read_text(), flags=re.MULTILINE)
    (table,) = (part for part in section if part.startswith(heading))
    return set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE))


def test_every_engine_and_formulation_is_in_the_tables() -> None:
    """The tables of engines are those of the registries: nothing missing, nothing made up."""
    engines = DOCS / "engines.md"
    assert first_cells(engines, "For one lambda") == set(pm.SOLVERS)
    assert first_cells(engines, "For a budget") == set(BUDGET_SOLVERS)
    assert first_cells(DOCS / "formulations.md", "# Formulations") == set(pm.programs.FORMULATIONS)


def test_the_picture_of_ip1_is_a_fractional_vertex() -> None:
    """The point that the page shows has halves, is a vertex, and is worth what is said, less than the best pruning."""
    trees = pm.datasets.two_trees()
    solved = pm.programs.solve_relaxation(trees, 0.25, formulation="IP1")
    point = np.asarray(solved.point.amounts)
    assert set(point) == {0, 0.5, 1}
    assert pm.checks.check_vertex(pm.checks.read_polyhedron(solved.program), point).holds
    assert solved.program.cost @ point + solved.program.offset == 0.6875
    assert pm.solve(trees, lam=0.25).value == 0.75


def test_each_example_of_the_gallery_has_its_place() -> None:
    """An example that is in no place of the list ends the build of the site."""
    tree = ast.parse((DOCS / "_ext" / "gallery_pictures.py").read_text())
    (listed,) = (node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "QUESTIONS")
    files = [file.stem.removeprefix("plot_") for file in (DOCS / "gallery").glob("plot_*.py")]
    assert sorted(ast.literal_eval(listed)) == sorted(files)


def test_what_the_pages_cite_is_there() -> None:
    """Tests, files and benchmark modules that are named on a page exist."""
    for page in [*PAGES, ROOT / "README.md"]:
        text = page.read_text()
        for file, name in re.findall(r"`(?:python -m pytest )?(tests/[\w/.]+?)(?:::(\w+))?`", text):
            assert (ROOT / file).exists() or "add_a" in page.name, (page.name, file)
            assert not name or f"def {name}(" in (ROOT / file).read_text(), (page.name, name)
        for module in re.findall(r"python -m (benchmarks\.\w+)", text):
            place = ROOT / module.replace(".", "/")
            assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file(), (page.name, module)
    for link in re.findall(r"\]\(([\w/]+\.\w+)\)", (ROOT / "README.md").read_text()):  # on the site the build follows links
        assert (ROOT / link).is_file(), link


OURS = re.compile(r"(?<![\w./])(?:pm|prunemodels|formulations|solvers|proofs_checks)(?:\.[A-Za-z_]\w*)+(?![\w/*-])")
FILES = (".md", ".py", ".pyi", ".csv")
FOREIGN = {
    *("NMF", "KMeans", "AdaBoost", "check_estimator", "cegb_penalty_", "update_config", "check_for_new_or_removed_constraints"),
    *("NUMBA_CPU_NAME", "PRUNEMODELS_FULL", "v0", "prunemodels.compiled", "solvers.equal_shares"),
}
"""What pages name beside our own: of other packages, the environment, a version, a logger, and the engine that a page adds."""
GONE = "### Removed"
"""Below this heading the changelog names what is no more."""


def is_there(name: str) -> bool:
    """Whether a dotted name leads to something: a module, an attribute, a field, or what `fit` learns."""
    parts = name.split(".")
    place: object = pm if parts[0] == "pm" else importlib.import_module(parts[0])
    for at, part in enumerate(parts[1:], 2):
        if hasattr(place, part):
            place = getattr(place, part)
            continue
        if isinstance(place, type):
            return part.endswith("_") or any(part in getattr(kind, "__annotations__", {}) for kind in place.__mro__)
        try:
            place = importlib.import_module(".".join(["prunemodels" if parts[0] == "pm" else parts[0], *parts[1:at]]))
        except ImportError:
            return False
    return True


def texts() -> Iterator[tuple[str, str]]:
    """All that readers read: pages, the text of chapters, the gallery, and the sources, for their docstrings."""
    for file in [*PAGES, *ROOT.glob("*.md"), *(ROOT / "benchmarks").rglob("*.md")]:
        yield str(file.relative_to(ROOT)), file.read_text().partition(GONE)[0]
    for file in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(file.read_text())["cells"]
        yield file.name, "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    for folder in ("docs/gallery", "formulations", "solvers", "proofs_checks", "prunemodels"):
        for file in (ROOT / folder).rglob("*.py"):
            yield str(file.relative_to(ROOT)), file.read_text()


def test_names_of_code_exist() -> None:
    """Whatever is written as pm.this or solvers.that, on pages, in chapters and in docstrings, is there."""
    named = {(name, place) for place, text in texts() for name in OURS.findall(text)}
    missing = {one for one in named if not one[0].endswith(FILES) and one[0] not in FOREIGN and not is_there(one[0])}
    assert missing == set()


def test_words_of_code_on_pages_exist() -> None:
    """Each name between backticks on a page is a word of our sources or of the page's own examples."""
    word = re.compile(r"[A-Za-z_]\w*")
    folders = ("formulations", "solvers", "proofs_checks", "prunemodels", "benchmarks", "tests", "docs/_ext", "notebooks")
    sources = [file for folder in folders for file in (ROOT / folder).rglob("*.py*") if file.suffix in (".py", ".pyi")]
    known = set(word.findall(" ".join(file.read_text() for file in [*sources, ROOT / "Makefile", ROOT / "pyproject.toml"])))
    for page in [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        text = page.read_text()
        shown = set(word.findall(" ".join(re.findall(r"^```.*?^```", text, re.DOTALL | re.MULTILINE))))
        prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        names = [code for code in re.findall(r"`([A-Za-z_][\w.]*)[^`\n/]*`", prose) if not code.startswith("tests.")]
        said = {part for code in names for part in word.findall(code)}
        assert said - known - shown - FOREIGN == set(), page.name


def code_of(page: str) -> str:
    """The first Python block of a page."""
    found = re.search(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    assert found
    return found[1]


@pytest.mark.parametrize("name", ["twin stumps", "losing splits", "breast cancer, licence"])
def test_the_example_of_an_engine_passes_the_conformance_suite(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `add_an_engine` shows is a true engine: the suite accepts it, as it would from the registry."""
    from tests.solvers import test_conformance

    names: dict[str, Solver] = {}
    exec(compile(code_of("add_an_engine.md"), "add_an_engine.md", "exec"), names)
    monkeypatch.setitem(test_conformance.ENGINES, "equal_shares", names["equal_shares"])
    test_conformance.assert_agrees("equal_shares", name)
    test_conformance.test_impossible_lambdas_are_refused.__wrapped__("equal_shares", -0.1)  # without the loop over engines


@pytest.mark.slow
def test_the_example_of_a_formulation_passes_the_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `add_a_formulation` shows is a true formulation: every pruning is a feasible point at its own value."""
    from tests.formulations.models import test_models

    names: dict[str, object] = {}
    exec(compile(code_of("add_a_formulation.md"), "add_a_formulation.md", "exec"), names)
    monkeypatch.setitem(test_models.FORMULATIONS, "IP3 summed", names["build"])
    test_models.test_every_pruning_is_a_feasible_point_at_its_value("IP3 summed")
    test_models.test_negative_numbers_are_refused(test_models.FORMULATIONS, "IP3 summed")
    test_models.test_models_say_what_they_are()


@pytest.mark.slow_cases("rivals", "tradeoff")
@pytest.mark.parametrize("name", ["same", "rivals", "tradeoff"])
def test_the_pictures_are_those_of_the_command(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python docs/pictures.py` draws what is committed: the same words and as many points; less than 60 kB."""
    if name == "tradeoff" and not (data_folder() / "heart_statlog.csv.gz").is_file():
        pytest.skip("Heart's table is not there")
    monkeypatch.syspath_prepend(str(DOCS))
    pictures = importlib.import_module("pictures")
    (drawn,) = save_picture(getattr(pictures, name)(), tmp_path / f"{name}.svg")
    committed = DOCS / "_static" / drawn.name
    assert committed.stat().st_size < 60_000
    assert words(drawn) == words(committed)


def words(file: Path) -> list[str]:
    """The texts of a picture, and how many marks it has."""
    root = ET.parse(file).getroot()
    texts = ["".join(node.itertext()).strip() for node in root.iter("{http://www.w3.org/2000/svg}text")]
    return [*texts, str(len(list(root.iter("{http://www.w3.org/2000/svg}use"))))]


SKIPPED = ("_static", "genindex.html", "search.html", "py-modindex.html")
MARKUP = {
    "a role of Sphinx": re.compile(r"\{(?:ref|doc|class|func|meth|exc|py:\w+)\}|:py:|:(?:ref|doc|class|func|meth):`"),
    "a backtick": re.compile(r"`"),
    "bold marks": re.compile(r"(?<!\w)\*\*\w[^*]*\w\*\*"),
    "an error": re.compile(r"Traceback \(most recent call last\)|\bNameError: "),
}


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


@pytest.mark.slow
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


@pytest.mark.slow
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
