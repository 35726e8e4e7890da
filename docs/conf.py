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
html_favicon = "images/flag.svg"
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


def _accessible(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Complete what axe-core misses in Sphinx's pages: levels of headings, and code that keys can scroll."""
    for part in ("body", "furo_navigation_tree"):
        if text := context.get(part):
            with_level = text.replace('role="heading">', 'role="heading" aria-level="2">')
            context[part] = with_level.replace("<pre>", '<pre tabindex="0">')


def setup(app: Sphinx) -> None:
    """Connect the hooks of this file; Sphinx calls it.

    Args:
        app: the running Sphinx.
    """
    app.connect("autodoc-process-docstring", _tables_as_text)
    app.connect("html-page-context", _accessible, priority=900)  # after the theme's own
