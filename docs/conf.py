"""Sphinx: MyST pages, furo."""

project = "Equipoise"
author = "The Equipoise developers"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
exclude_patterns = ["draw.py"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
suppress_warnings = ["myst.xref_missing"]
