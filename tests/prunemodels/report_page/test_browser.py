"""The pages in a browser: nothing that axe-core objects to, and nothing beside the screen, on wide and narrow ones."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import prunemodels as pm
from prunemodels.report_page import write_report
from tests.prunemodels.cascade_cases import case as cascade_case
from tests.prunemodels.report_page.cases import classifier, regressor

pytestmark = pytest.mark.slow
WIDTHS = (1280, 400)  # A notebook's screen and a phone's, in CSS pixels


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core."""
    package = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python, with axe-core, is not installed")
    return (Path(package.__file__).parent / "axe.min.js").read_text()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window; skipped where there is none."""
    program = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("there is no Chromium: none of chromium, chromium-browser and google-chrome is on the PATH")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A budget that is overrun, a regression, and a cascade with and without held-out examples."""
    folder = tmp_path_factory.mktemp("pages")
    forest, numbers, cascade = classifier(), regressor(), cascade_case("sets")
    over = pm.solve(forest.path.problem, budget=forest.some.exact_cost, method="path", path=forest.path)
    arguments: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
        "forest": ((forest.path, forest.forest, forest.X, forest.y), {"chosen": over, "unit": "dollars"}),
        "regression": ((numbers.path, numbers.forest, numbers.X, numbers.y), {"chosen": numbers.some}),
        "cascade": ((cascade.cascade, cascade.X, cascade.y), {}),
        "fitted": ((cascade.cascade,), {}),
    }
    return {name: write_report(folder / f"{name}.html", *given, **options) for name, (given, options) in arguments.items()}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["forest", "regression", "cascade", "fitted"])
def test_it_is_accessible_and_fits(pages: dict[str, Path], browser: Any, axe: str, name: str, width: int, scheme: str) -> None:
    """With all of its parts unfolded: no violation of axe-core's rules, and no scrolling sideways."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(pages[name].as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    page.close()
    assert len(found["passes"]) > 10  # it has looked
    assert [(rule["id"], rule["nodes"][0]["html"][:120]) for rule in found["violations"]] == []
