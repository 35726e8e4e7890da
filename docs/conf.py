"""Settings of the documentation site, which `python -m sphinx -W docs site` builds."""

from importlib.metadata import version as installed_version
from typing import Any

from sphinx.application import Sphinx

project = "flagfall"
author = "The flagfall developers"
release = version = installed_version("flagfall")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["images"]

html_theme = "furo"
html_title = "flagfall"
html_copy_source = False
html_show_sphinx = False

myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
default_role = "code"  # docstrings write code as `this`


def _tables_as_text(*arguments: Any) -> None:
    """Show the Markdown tables of docstrings as they are written."""
    lines: list[str] = arguments[-1]
    shown: list[str] = []
    in_table = False
    for line in lines:
        if line.startswith("|") and not in_table:
            shown += ["::", ""]
        in_table = line.startswith("|")
        shown.append(f"    {line}" if in_table else line)
    lines[:] = shown


def setup(app: Sphinx) -> None:
    """Connect the hooks of this file; Sphinx calls it.

    Args:
        app: the running Sphinx.
    """
    app.connect("autodoc-process-docstring", _tables_as_text)
