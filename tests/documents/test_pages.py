"""The code blocks and commands of the README and of `docs/` work, and print what the pages show.

Each page is executed in an empty folder, its blocks in order:

- A block whose first line is a comment with the name of a file is written to that file.
- `python` blocks are executed in one namespace, `sh` blocks line by line by bash.
- A block without a language directly below one that was executed is its output; times are not compared, and
  a line `...` stands for any lines.
- `<!-- not executed: REASON -->` before a block skips it, and so does `<!-- tested by PATH -->`, which names
  the test that executes its commands. `<!-- needs: PACKAGE -->` asks for an installed package.

Sybil makes a test of each block, but the blocks of a page depend on each other, and pytest-xdist spreads
tests over processes; pytest-examples executes Python only. So a parser of Markdown, markdown-it-py, finds
the blocks, and they are executed here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents.pages import MARKED, PAGES, ROOT, BlockFailed, Page, blocks_of, differs

NOT_EXECUTED = {
    "from-gvgai": ["needs the original, Java and Python 2.7"] * 6,
    "from-round1": ["needs a configuration and a learner of round 1"],
    "gvgai": ["takes minutes, and needs a public game"],
    "hosts": ["needs bubblewrap, and files of yours"],
    "human": ["needs a person at a terminal"],
    "langroom": ["needs a person at a terminal"],
    "live": ["needs a second terminal", "needs a certificate"],
    "play": ["needs a person at a browser", "needs a match that a person has played"],
    "protocol": ["needs a second terminal", "needs a certificate"],
    "remote": ["needs a learner of round 1"],
    "replay": ["opens the browser"],
    "tournaments": [
        *("takes two minutes", "needs a second terminal"),
        *("needs a key, or an account", "needs several machines"),
    ],
    "tutorial": ["installs the package"],
    "vgdl": [
        *("needs a public game, and a person at a terminal", "needs public games"),
        *("needs GVGAI", "compiles the engine, for a minute"),
    ],
}
"""The reasons of all blocks that are skipped, by page: this list should not grow."""

TESTED_ELSEWHERE = {
    "hosts": ["tests/cli/test_checks.py"],
    "language-models": ["tests/cli/test_model_page.py"] * 3
    + ["tests/cli/test_resume.py"]
    + ["tests/cli/test_model_page.py"] * 2,
    "limits": ["tests/cli/test_model_rates.py"],
    "report": ["tests/viewer/test_report_command.py"],
    "tournaments": ["tests/cli/test_capacity.py", "tests/cli/test_tournament.py"],
}
"""Blocks whose commands other tests execute: they take long, or need a server."""

EXECUTED = [path for path in PAGES if any(block.executed for block in blocks_of(path.read_text()))]


@pytest.mark.parametrize("path", EXECUTED, ids=lambda path: path.stem)
def test_a_page_does_what_it_shows(path: Path, tmp_path: Path) -> None:
    Page(path, tmp_path).run()


def test_few_blocks_are_not_executed() -> None:
    blocks = {path.stem: blocks_of(path.read_text()) for path in PAGES}
    skipped = {page: [block.skipped for block in found if block.skipped] for page, found in blocks.items()}
    assert {page: reasons for page, reasons in skipped.items() if reasons} == NOT_EXECUTED
    tested = {page: [block.tested_by for block in found if block.tested_by] for page, found in blocks.items()}
    assert {page: paths for page, paths in tested.items() if paths} == TESTED_ELSEWHERE
    assert all((ROOT / path).is_file() for paths in TESTED_ELSEWHERE.values() for path in paths)


def test_no_command_stands_in_a_block_without_a_language() -> None:
    """Such a block would be taken for an output or a drawing."""
    words = ("flagfall ", "import ", "from ", "pip ", "python ")
    blocks = [block for path in PAGES for block in blocks_of(path.read_text()) if not block.language]
    assert [block for block in blocks if block.text.startswith(words)] == []


def test_the_readme_marks_the_commands_that_continuous_integration_takes() -> None:
    readme = blocks_of(PAGES[0].read_text())
    assert [block.comment for block in readme if MARKED.fullmatch(block.comment)] == [
        "<!-- play -->",
        "<!-- test -->",
    ]


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```sh\ntrue\nfalse\n```\n", "page.md:2:"),
        ("```python\nx = 1\n```\n\n```python\nprint(y)\n```\n", "NameError: name 'y' is not defined"),
        ("```python\nprint(1 / 0)\n```\n", 'page.md", line 2'),
        ("```sh\necho one two\n```\n\n```\none three\n```\n", "page.md:6: the page shows"),
        ("```sh\ntrue\n```\n\n```\none\n```\n", "page.md:6: the page shows"),
        ("```perl\n1\n```\n", "no rule for blocks in 'perl'"),
    ],
)
def test_a_wrong_block_fails(tmp_path: Path, page: str, message: str) -> None:
    path = tmp_path / "page.md"
    path.write_text(page)
    (tmp_path / "run").mkdir()
    with pytest.raises(BlockFailed) as failed:
        Page(path, tmp_path / "run").run()
    assert message in str(failed.value)


def test_a_right_page_passes(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(
        "```python\n# own/mine.py\nx = 3\n```\n\n"
        "```python\nfrom own.mine import x\nprint('took', 12.5, 'ms', x)\n```\n\n"
        "```\ntook 99 ms 3\n```\n\n```sh\nls own/*.py; seq 9\n```\n\n```\nown/mine.py\n...\n9\n```\n\n"
        "<!-- not executed: it fails -->\n```sh\nfalse\n```\n"
    )
    (tmp_path / "run").mkdir()
    Page(path, tmp_path / "run").run()


def test_outputs_are_compared_without_times_and_blanks() -> None:
    assert differs("a   1 ms\n────\nb 3", "\na 2.5 ms \n──\nb 3\n") == ""
    assert differs("a 1", "a 2") != ""
    assert differs("a\n...\nz", "a\nb\nc\nz") == ""
    assert differs("a\n...", "b\na\n") != ""
