"""Settings of the documentation; `make docs` builds it."""

from __future__ import annotations

import re
import warnings

from docutils import nodes
from latex2mathml.converter import convert

import trueline

project = "trueline"
author = "trueline developers"
copyright = "trueline developers"  # noqa: A001
version = release = trueline.__version__
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
]
root_doc = "index"
exclude_patterns = ["_build", "releasing.md", "gallery/*.rst", "**/*.ipynb", "figures"]
templates_path = ["_templates"]
default_role = "py:obj"
nitpicky = False

# -- Markdown ----------------------------------------------------------------------------
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_block", "attrs_inline"]
myst_heading_anchors = 3

# -- API reference -------------------------------------------------------------------------
autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": True}
autodoc_class_signature = "mixed"
# The list of links beside a class is too narrow for its name before that of each method.
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

# -- pictures ------------------------------------------------------------------------------
plot_include_source = False
plot_html_show_formats = False
plot_html_show_source_link = False
plot_formats = [("png", 150)]
plot_rcparams = {"savefig.bbox": "tight"}

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "plot_gallery": True,
    "image_scrapers": ("matplotlib",),
    "capture_repr": ("_repr_html_", "__repr__"),
    "copyfile_regex": "",
    "doc_module": ("trueline",),
    "backreferences_dir": None,
    "nested_sections": False,
    "min_reported_time": 10_000,
    "write_computation_times": False,
}

# -- pages ---------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "trueline"
html_static_path = ["_static"]
html_css_files = ["trueline.css"]
html_show_sourcelink = False
html_copy_source = False
# Summaries are fetched, which a browser refuses for pages that are opened from disk.
html_show_search_summary = False
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system
html_math_renderer = "mathml"
html_theme_options = {
    "logo": {"text": "trueline"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {page: [] for page in ("index", "start", "which-method", "changelog")}
warnings.filterwarnings("error", category=trueline.CalibrationWarning)


def skip_member(app, what, name, member, skip, options):
    """Leave out what estimators inherit from scikit-learn: its texts point into its own pages."""
    added = re.fullmatch(r"get_metadata_routing|set_\w+_request|set_output", name)
    inherited = str(getattr(member, "__module__", "")).startswith("sklearn")
    return True if added or inherited else None


def rewrite_links(app, docname, source):
    """Links that are relative to the repository lead to pages of the site."""
    text = source[0]
    text = re.sub(r"\]\(\.\./results/([\w/-]+)\.md\)", r"](results/\1.md)", text)
    text = text.replace("[SECURITY.md](../SECURITY.md)", "`SECURITY.md` in the checkout")
    source[0] = text


def inline_formula(translator, node):
    """Write a formula as MathML, which browsers set themselves; MathJax comes from another site."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block_formula(translator, node):
    """Write a formula on lines of its own."""
    formula = convert(node.astext(), display="block")
    translator.body.append(f'<div class="formula">{formula}</div>')
    raise nodes.SkipNode


def setup(app):
    """Connect the functions above."""
    app.add_html_math_renderer("mathml", (inline_formula, None), (block_formula, None))
    app.connect("autodoc-skip-member", skip_member)
    app.connect("source-read", rewrite_links)
