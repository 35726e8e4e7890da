"""Reader and runner of the code blocks of a Markdown page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final

import attrs
from markdown_it import MarkdownIt

ROOT: Final = Path(__file__).parents[2]

PAGES: Final = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

BLOCK_SECONDS: Final = 120.0
"""Time for one block; a busy machine needs many times the second or two of a quiet one."""

SKIPPED: Final = re.compile(r"<!-- not executed: (.+) -->")
NEEDED: Final = re.compile(r"<!-- needs: (\w+) -->")
"""A package that is no requirement of the tests; the block is executed where it is installed."""

TESTED: Final = re.compile(r"<!-- tested by (tests/[\w/]+\.py) -->")
"""A test that executes the commands of the block in another setting."""

MARKED: Final = re.compile(r"<!-- (play|test) -->")
"""Commands of the README that continuous integration takes from there and executes."""

FILE_NAME: Final = re.compile(r"(?:#!.*\n)?# ([\w./-]+\.(?:py|toml|sh))\b")
TIMES: Final = re.compile(r"\d[\d.,]*(?= ?(?:h|min|m|s|ms|µs|ns|MB|kB|KiB)\b)|\d[\d.,]*(?= [\w ]+/s\b)")

DRIVER: Final = """
import sys
names = {"__name__": "__main__"}
sys.path.insert(0, "")
for request in sys.stdin:
    copy, page, line, done = request.rstrip("\\n").split("\\t")
    with open(copy, encoding="utf-8") as file:
        text = "\\n" * int(line) + file.read()
    exec(compile(text, page, "exec"), names)
    sys.stderr.flush()
    print(done, flush=True)
"""
"""A Python program that executes files, named with a line and a closing text, in one namespace."""


class BlockFailed(Exception):
    """A block ended with an error, or printed something other than the page shows."""


@attrs.frozen
class Block:
    """A code block of a page.

    Attributes:
        line: the number of its first line in the page, from 1.
        language: the word after the fence; empty for output and drawings.
        text: its lines.
        comment: the HTML comment that stands directly before it, or nothing.
        follows: the block stands directly below the one before it.
    """

    line: int
    language: str
    text: str
    comment: str
    follows: bool

    @property
    def skipped(self) -> str:
        """Why the block is not executed, or nothing."""
        found = SKIPPED.fullmatch(self.comment)
        return found[1] if found else ""

    @property
    def missing(self) -> bool:
        """True if the block needs a package that is not installed."""
        found = NEEDED.fullmatch(self.comment)
        return found is not None and find_spec(found[1]) is None

    @property
    def tested_by(self) -> str:
        """The path of the test that executes the commands instead, or nothing."""
        found = TESTED.fullmatch(self.comment)
        return found[1] if found else ""

    @property
    def executed(self) -> bool:
        """True for a block that is executed or written to a file here."""
        elsewhere = self.skipped or self.tested_by or MARKED.fullmatch(self.comment)
        return (
            not elsewhere and not self.missing and not self.language.startswith("{")
        )  # such as Sphinx's directives

    @property
    def file(self) -> str:
        """The name of the file that the block is, or nothing."""
        found = FILE_NAME.match(self.text)
        return found[1] if found else ""


def blocks_of(text: str) -> list[Block]:
    """Return the code blocks of a page in order."""
    blocks = []
    comment, before = "", ""
    for token in MarkdownIt("commonmark").parse(text):
        if token.type in {"fence", "code_block"}:
            assert token.map is not None
            blocks.append(Block(token.map[0] + 2, token.info, token.content, comment, before == "fence"))
        comment = token.content.strip() if token.type == "html_block" else ""
        before = token.type
    return blocks


def plain(text: str) -> list[str]:
    """Return the lines of an output without times, and without the blanks and rulers that depend on them."""
    lines = (re.sub(r"[\s─━]+", " ", TIMES.sub("#", line)).strip() for line in text.splitlines())
    return [line for line in lines if line]


def differs(shown: str, printed: str) -> str:
    """Return how an output differs from what the page shows, where a line `...` stands for any lines."""
    pattern = "\n".join(".*" if line == "..." else re.escape(line) for line in plain(shown))
    if re.fullmatch(pattern, "\n".join(plain(printed)), flags=re.DOTALL):
        return ""
    return f"the page shows:\n{shown}\nprinted was:\n{printed}"


class Page:
    """The run of a page in a folder of its own.

    Args:
        path: the page.
        folder: where its files are written and its commands run.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path
        self.folder = folder
        self._python: subprocess.Popen[str] | None = None
        for name in ("examples", "benchmarks"):
            (folder / name).symlink_to(ROOT / name)

    def run(self) -> None:
        """Execute all blocks.

        Raises:
            BlockFailed: with the page and the line.
        """
        printed = ""
        try:
            for block in blocks_of(self.path.read_text(encoding="utf-8")):
                if block.executed and block.language:
                    printed = self._execute(block)
                    continue
                if not block.language and block.follows and (difference := differs(block.text, printed)):
                    raise BlockFailed(f"{self.path}:{block.line}: {difference}")
                printed = ""
        finally:
            self._end_python()

    def _execute(self, block: Block) -> str:
        """Write or execute a block, and return what it printed."""
        if block.file:
            target = self.folder / block.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
            target.chmod(0o755)
            return ""
        match block.language:
            case "sh":
                return self._shell(block)
            case "python":
                return self._run_python(block)
            case "toml":
                tomllib.loads(block.text)
                return ""
            case other:
                raise BlockFailed(f"{self.path}:{block.line}: no rule for blocks in {other!r}")

    def _environment(self) -> dict[str, str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("FLAGFALL", "PYTEST"))
        }
        path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', os.defpath)}"
        cache = Path(kept.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        zig = {
            "ZIG_GLOBAL_CACHE_DIR": str(cache / "zig")
        }  # an empty one costs half a minute of the processor
        return kept | zig | {"PATH": path, "HOME": str(self.folder), "COLUMNS": "200"}

    def _shell(self, block: Block) -> str:
        trap = "trap 'echo \"failed, code $?: $BASH_COMMAND\" >&2' ERR\n"
        ended = subprocess.run(
            ["bash", "-e", "-c", trap + block.text],
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=BLOCK_SECONDS,
        )
        if ended.returncode:
            raise BlockFailed(f"{self.path}:{block.line}:\n{block.text}\n{ended.stdout}\n{ended.stderr}")
        return ended.stdout

    def _run_python(self, block: Block) -> str:
        if self._python is None:
            self._python = subprocess.Popen(
                [sys.executable, "-c", DRIVER],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        done = f"--- line {block.line} is done ---"
        source = self.folder / f".{self.path.stem}-{block.line}.py"
        source.write_text(block.text, encoding="utf-8")
        asked, answers = _pipes(self._python)
        asked.write(f"{source}\t{self.path}\t{block.line - 1}\t{done}\n")
        asked.flush()
        printed: list[str] = []
        guard = threading.Timer(BLOCK_SECONDS, self._python.kill)
        guard.start()
        try:
            for line in answers:
                if line == f"{done}\n":
                    return "".join(printed)
                printed.append(line)
        finally:
            guard.cancel()
        raise BlockFailed(f"{self.path}:{block.line}:\n{''.join(printed)}")

    def _end_python(self) -> None:
        if self._python is not None:
            asked, answers = _pipes(self._python)
            with asked, answers:
                asked.close()
                try:
                    self._python.wait(BLOCK_SECONDS)
                finally:
                    self._python.kill()
                    self._python.wait()


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout
