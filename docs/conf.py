"""Settings of the documentation site, which `python -m sphinx -W docs site` builds.

Beside each page `NAME.html` stands the same as Markdown, `NAME.md`. Pages are written in Markdown already, so
these are the sources, with links that lead to files of the site; a page of the Python interface has the
docstrings. `llms.txt` (https://llmstxt.org) lists them, `llms-full.txt` holds them all.
"""

import inspect
import re
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import attrs
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

import flagfall

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
html_show_copyright = False
html_domain_indices = False

myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
python_maximum_signature_line_length = 70  # longer ones have a line for each parameter
toc_object_entries_show_parents = "hide"
default_role = "code"  # docstrings write code as `this`

nitpicky = True  # a type that is not described is an error, except:
_NOT_PUBLIC = (
    *(
        "AgentHost",
        "AgentTable",
        "EndOfMatch",
        "Fault",
        "FaultSchedule",
        "JournalError",
        "JournalTruncated",
        "LocalHostKind",
    ),
    *("PlayedTrack", "PlayedTurn", "Rate", "SeatLatency", "SeatLog", "Shown", "Sink", "Spaces", "Standings"),
    *("TaskDescription", "UntrustedImportError", "Usage"),
)
nitpick_ignore_regex = [
    # types of others: the build needs no network, so it has no inventories of their sites
    (r"py:.*", r"(collections|contextlib|gymnasium|msgspec|np|numpy|opentelemetry|os|pathlib|ssl|trio)\..*"),
    (r"py:.*", r"AbstractContextManager|Array|Path|Space"),
    # flagfall's own types that programs get and pass on, but do not import
    (
        r"py:.*",
        r"flagfall\.(agents|environments|gvgai|kernel|recording|tasks|testing|timing|tournament)\..*\..*",
    ),
    (r"py:.*", "|".join(_NOT_PUBLIC)),
]

_WHOLE = re.compile(r"(?:~?typing\.)?Annotated\[int, (?:~?msgspec\.)?Meta\([^)]*\)\]")
_FIELD = re.compile(r"attr_dict\['(\w+)'\]\.default")
_MODULES = re.compile(r"~?\b(?:[a-z_]+\.)+(?=[A-Za-z_])")
_API_BLOCK = re.compile(r"^```\{eval-rst\}\n.*?^```\n", flags=re.DOTALL | re.MULTILINE)
_TOCTREE = re.compile(r"^```\{toctree\}\n.*?^```\n+", flags=re.DOTALL | re.MULTILINE)
_SIGNATURE = re.compile(r'<dt class="sig .*?</dt>', flags=re.DOTALL)
_COMMENT = re.compile(r"^<!-- .* -->\n", flags=re.MULTILINE)


def _api(env: BuildEnvironment) -> dict[str, str]:
    """Return the entries of the page that is read as Markdown, by name; they are kept with the page."""
    pages: dict[str, dict[str, str]] = env.__dict__.setdefault("flagfall_api", {})
    return pages.setdefault(env.docname, {})


def _plain_signature(
    app: Sphinx, what: str, name: str, value: Any, _options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Show defaults of attrs classes and whole numbers as they are meant, and keep the text for Markdown."""

    def default(found: re.Match[str]) -> str:
        shown = repr(attrs.fields_dict(value)[found[1]].default)
        return "..." if shown.startswith("<") or " at 0x" in shown else shown

    shown = _FIELD.sub(default, _WHOLE.sub("int", signature or ""))
    shown = re.sub(r"\bNOTHING\b|<factory>", "...", shown)
    returned = _WHOLE.sub("int", returned or "")
    text = _MODULES.sub("", shown + (f" -> {returned}" if returned else ""))
    words = {"class": "class ", "exception": "exception "}.get(what, "")
    heading = "##" if what in {"class", "exception", "function", "data"} else "###"
    code = f"```python\n{words}{name}{text}\n```\n\n" if text else ""
    if what == "module":  # the first of its page, which may have been read before
        _api(app.env).clear()
    _api(app.env)[name] = "" if what == "module" else f"{heading} {name}\n\n{code}"
    return (shown, returned) if signature is not None else (None, returned)


def _keep_docstring(app: Sphinx, _what: str, name: str, _value: Any, _options: Any, lines: list[str]) -> None:
    """Keep a docstring for Markdown: the sections of Google's style become lists."""
    section = ""
    kept: list[str] = []
    for line in lines:
        if re.fullmatch(r"[A-Z]\w+:", line):
            section, shown = line, f"**{line}**\n"
        else:
            section = "" if line and not line.startswith(" ") else section
            shown = line.removeprefix("    ") if section else line
            if section in {"Args:", "Attributes:", "Raises:"} and shown:
                shown = f"  {shown.strip()}" if shown.startswith(" ") else f"- {shown}"
        kept.append(shown)
    _api(app.env)[name] += "\n".join(kept).strip() + "\n\n"


def _list_names(_app: Sphinx, what: str, name: str, value: Any, _options: Any, lines: list[str]) -> None:
    """Append a list of its names, with links, to the text of a module."""
    if what == "module":
        own = (each for each, of in vars(value).items() if getattr(of, "__module__", "") == name)
        for each in getattr(value, "__all__", [each for each in own if each[0] != "_"]):
            home = "flagfall" if each in flagfall.__all__ else name
            first = (inspect.getdoc(getattr(value, each)) or "a value.").splitlines()[0]
            lines += [f"- :py:obj:`~{home}.{each}`: {first}"]


def _as_tables(*arguments: Any) -> None:
    """Make tables of the Markdown tables in docstrings."""
    lines: list[str] = arguments[-1]
    shown: list[str] = []
    for at, line in enumerate(lines):
        cells = re.split(r" *(?<!\\)\| *", line)[1:-1] if line.startswith("|") else []
        if cells and not (at and lines[at - 1].startswith("|")):
            shown += [".. list-table::", "   :header-rows: 1", ""]
        if not cells:
            shown.append(line)
        elif set(cells) != {"---"}:
            shown += [f"   {'-' if cell else '*'} - {text}" for cell, text in enumerate(cells)]
    lines[:] = [line.replace("   - - ", "     - ") for line in shown]


def _as_plain_lines(signature: re.Match[str]) -> str:
    return re.sub("<(dl|dd)>", r'<\1 role="none">', signature[0])


def _complete_page(_app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Link the page as Markdown, and add what axe-core misses: levels of headings, code that keys scroll."""
    if doctree is not None:
        link = f'<link rel="alternate" type="text/markdown" href="{page}.md">'
        context["metatags"] = f"{context.get('metatags', '')}\n{link}"
    for part in ("body", "furo_navigation_tree"):
        if text := context.get(part):
            text = text.replace('role="heading">', 'role="heading" aria-level="2">')
            text = text.replace("<pre>", '<pre tabindex="0">')
            text = text.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')
            context[part] = _SIGNATURE.sub(_as_plain_lines, text)


def _contents(env: BuildEnvironment, page: str) -> str:
    """Return the pages below a page as lists in Markdown, each with its first sentence."""
    shown = ""
    for tree in env.get_doctree(page).findall(addnodes.toctree):
        shown += f"## {tree['caption']}\n\n" if tree["caption"] else ""
        for name in tree["includefiles"]:
            first = next(iter(env.get_doctree(name).findall(nodes.paragraph)), nodes.paragraph()).astext()
            sentence = re.split(r"(?<=[.?])\s", first.replace("\n", " "))[0]
            shown += f"- [{env.titles[name].astext()}]({name}.md): {sentence}\n"
            shown += _contents(env, name)
        shown += "\n" if tree["caption"] else ""
    return shown


def _as_markdown(env: BuildEnvironment, page: str) -> str:
    """Return a page as Markdown whose links lead to files of the site."""
    text = Path(env.doc2path(page)).read_text(encoding="utf-8")
    shown = env.get_domain("py").data["objects"]  # autodoc asks for what modules import, too
    kept = env.__dict__.get("flagfall_api", {}).get(page, {})
    api = {name: entry for name, entry in kept.items() if name in shown}
    order = {name: at for at, name in enumerate(api)}  # members come after all classes, and the module first
    names = sorted(api, key=lambda name: (order.get(name.rpartition(".")[0]) or order[name], order[name]))
    text = _API_BLOCK.sub(lambda _: "".join(api[name] for name in names), _COMMENT.sub("", text))
    text = _TOCTREE.sub("", _TOCTREE.sub(lambda _: _contents(env, page), text, 1))
    for file, (_pages, copy) in env.dlfiles.items():
        text = text.replace(f"]({file})", f"](_downloads/{copy})")
    return text.replace("](images/", "](_images/").rstrip() + "\n"


def _write_markdown(app: Sphinx, error: Exception | None) -> None:
    """Write all pages as Markdown, and the two files for language models."""
    if error is not None or app.builder.format != "html":
        return
    pages = {page: _as_markdown(app.env, page) for page in sorted(app.env.found_docs)}
    for page, text in pages.items():
        (Path(app.outdir) / f"{page}.md").write_text(text, encoding="utf-8")
    first = next(iter(app.env.get_doctree("index").findall(nodes.paragraph))).astext()
    contents = _contents(app.env, "index")
    (Path(app.outdir) / "llms.txt").write_text(f"# flagfall\n\n> {first}\n\n{contents}", encoding="utf-8")
    listed = ["index", *re.findall(r"\]\((\S+)\.md\)", contents)]
    full = "\n---\n\n".join(pages[page] for page in listed)
    (Path(app.outdir) / "llms-full.txt").write_text(full, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect the hooks of this file; Sphinx calls it.

    Args:
        app: the running Sphinx.
    """
    app.connect("autodoc-process-signature", _plain_signature)
    app.connect("autodoc-process-docstring", _keep_docstring, priority=400)  # before napoleon's
    app.connect("autodoc-process-docstring", _as_tables)
    app.connect("autodoc-process-docstring", _list_names)
    app.connect("html-page-context", _complete_page, priority=900)  # after the theme's own
    app.connect("build-finished", _write_markdown)
