"""Sphinx: MyST pages, furo, and a reference made from the library's names."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from reference import reference_text

project = "Equipoise"
author = "The Equipoise developers"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
exclude_patterns = ["draw.py", "reference.py"]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 100  # longer ones: a line for each parameter
default_role = "code"  # in docstrings, `name` is code
suppress_warnings = ["myst.xref_missing"]


def _add_reference(_app, docname, source):
    if docname == "api":
        source[0] += "\n" + reference_text()


def setup(app):
    app.connect("source-read", _add_reference)
