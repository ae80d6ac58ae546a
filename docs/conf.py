"""The site: `make docs`.

The source folder is the repository's root, so that a link from a page to a notebook, or from a notebook to a page, is one and the
same on the site and where the files are browsed. Nothing is fetched: formulas are MathML, made at build time.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE / "_ext"), str(ROOT)]

import prunemodels  # noqa: E402 (from this checkout)

project = "prunemodels"
author = "the authors of prunemodels"
copyright = "the authors of prunemodels, MIT licence"
release = version = prunemodels.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "mathml",
    "plain_docstrings",
    "front_door",
    "growth_pictures",
    "page_pictures",
    "background",
    "math_font",
    "accessible",
    "chapters",
    "sphinx_gallery.gen_gallery",
]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/api/*.md",
    "docs/api/generated/*.rst",
    "docs/gallery_pages/*.rst",
    "notebooks/*.ipynb",
    "benchmarks/README.md",
    "benchmarks/papers/README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
]
exclude_patterns = ["docs/_build", ".venv", ".git"]
templates_path = [str(HERE / "_templates")]

# Markdown and notebooks
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # a notebook's sections need not start at level 2
nb_execution_mode = "off"  # chapters are stored with their outputs, which tests hold to the code
nb_merge_streams = True

# the gallery: docs/gallery is run, and its pages are written to docs/gallery_pages
sphinx_gallery_conf = {
    "examples_dirs": str(HERE / "gallery"),
    "gallery_dirs": str(HERE / "gallery_pages"),
    "within_subsection_order": "gallery_pictures.order",
    "image_scrapers": ("gallery_pictures.drawn",),
    "capture_repr": (),
    "abort_on_example_error": True,
    "min_reported_time": 1e9,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "copyfile_regex": "",
    "plot_gallery": "True",
}

# docstrings: `name` is a link where the name is documented, and code elsewhere
default_role = "py:obj"
REQUESTS = ("fit", "score", "predict", "predict_proba")
INHERITED = [f"set_{method}_request" for method in REQUESTS] + ["get_metadata_routing", "get_params", "set_params", "score"]
INHERITED += ["classes_", "feature_names_in_", "n_features_in_"]  # every estimator has them, and docstrings link to none of them
autodoc_default_options = {"exclude-members": ", ".join(INHERITED)}  # documented by scikit-learn
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
NUMBERS = {"Seconds": "float", "Share": "float", "NotNegative": "float", "Count": "int", "Natural": "int", "Seed": "int"}
NAMES = ("Acquire", "ArrayLike", "Column", "Costs", "Price")  # not what they stand for, spelt out
autodoc_type_aliases = {**{name: name for name in NAMES}, **NUMBERS, "Errors": "ErrorSample"}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
shutil.rmtree(HERE / "api" / "generated", ignore_errors=True)  # else pages of names that went stop the build
autosummary_generate = True  # one page an object: docs/api/generated
autosummary_ignore_module_all = False
autosummary_imported_members = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_attr_annotations = False
napoleon_preprocess_types = False
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
add_module_names = False

# the pages
highlight_language = "text"  # what has no language is output
html_theme = "pydata_sphinx_theme"
html_title = f"prunemodels {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
html_sidebars = {"docs/start": []}  # a page without sections below it
html_theme_options = {
    "logo": {"text": "prunemodels"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": {
        "docs/api/generated/*": [],  # an object's page needs the width for its code
        **{key: ["page-toc"] for key in ("docs/[!a]*", "docs/ad*", "docs/api/[!g]*", "notebooks/*", "benchmarks/*", "C*")},
    },
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_exclude = ".linenos, .gp, .go"
