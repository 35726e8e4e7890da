"""The command `flagfall`: the list of commands, one file each, and the exit codes of errors."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import warnings
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

from flagfall.cli.console.signals import SIGNALLED, Ended, as_interrupts, release_terminal
from flagfall.errors import HostFault, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cyclopts import App

HOST_FAILED: Final = 1
BAD_USAGE: Final = 2

_COLOUR: Final = re.compile("\x1b\\[[0-9;]*m")

_SUMMARY: Final = "Play matches of agents and tasks under deadlines that the kernel enforces."

_EXIT_CODES: Final = (
    "Exit codes: 0 success (agents that were late or disqualified are results, not errors), 1 the host"
    " failed, `verify` or a check found a difference, a journal to export was damaged, an agent was"
    " unavailable (such as the server of its language model), or `--fail-on-disqualified` found an agent,"
    " 2 invalid request (nothing was played or written), 130 ended by Ctrl-C, 143 by SIGTERM, 129 by a closed"
    " terminal."
)

_MOST_COLUMNS: Final = 100
"""Columns of a wide terminal that the overview uses."""

COMMANDS: Final = {
    "run": "Play agents on tasks under a time control, and print the results.",
    "play": "Play a match yourself, in the browser.",
    "tournament": "Play a tournament from a plan file, and print the standings.",
    "capacity": "Measure how many matches of a plan this machine carries at once.",
    "merge": "Make one folder of parts of a tournament that several machines played.",
    "ctl": "Show or control a running tournament.",
    "serve": "Show a tournament in a browser while it runs.",
    "verify": "Execute a recorded match again, or check the results of a tournament.",
    "branch": "Play on from a turn of a recorded match, with other agents, clocks or seeds.",
    "replay": "Show a recorded match in the browser, or write it into one HTML file.",
    "transcript": "Print the dialogue of a recorded byte match, one JSON object per line.",
    "what-if": "Judge recorded matches under other time controls, and advise on limits.",
    "results": "Print the statistics of a recorded match, or the standings of a tournament.",
    "report": "Write the report of a tournament as a page to look at, and its plots.",
    "export": "Write journals as a timeline for Perfetto, or as a table in Parquet.",
    "curriculum": "Let a byte agent learn one task after another, and print which it learned.",
    "gvgai": "GVGAI's learning track: train, validate, serve clients, run a contest.",
    "new": "Write a commented file to start from: an agent, a task or a plan.",
    "tasks": "List the tasks by family.",
    "agents": "List the sample agents, and show how to name your own.",
    "schema": "Print the JSON Schema of plans or configurations, for editors.",
    "completion": "Print a script that completes commands and options in a shell.",
    "agent": "Run the agent's side of a match on another host: serve.",
    "check-agent": "Examine an agent: speed, stability, and whether it keeps to the rules.",
    "check-task": "Examine a task: whether matches can be repeated, recorded and verified.",
    "explore": "Search for faults under which a match or a tournament breaks an invariant.",
    "doctor": "Say what this machine can do, and how to add what is missing.",
    "check-host": "Play misbehaving agents on this machine, and print how each host handles them.",
}
"""Every command with its line in the overview; its function and the file in `commands` have its name."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and return one of the exit codes that `docs/command-line.md` lists.

    Args:
        arguments: the words after `flagfall`; by default those of the command line.
    """
    ended = Ended()
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # escapes for what the terminal cannot encode
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            command = _command(words)
            with as_interrupts(ended):
                code = command()
                sys.stdout.flush()
    except UsageError as error:
        return _failed(error, BAD_USAGE)
    except HostFault as error:
        return _failed(error, HOST_FAILED)
    except (KeyboardInterrupt, BaseExceptionGroup) as error:
        if isinstance(error, BaseExceptionGroup) and error.subgroup(KeyboardInterrupt) is None:
            raise
        return SIGNALLED + ended.number
    except OSError as error:
        return _file_failed(error)
    return int(code or 0)


def _command(words: list[str]) -> Callable[[], int | None]:
    """Return what the words ask for; the overview and the version need no parser of commands."""
    if words[:1] == ["--version"]:
        return partial(print, version_line())
    if not words or words[0] in {"--help", "-h"}:
        return partial(print, _overview())
    from cyclopts import CycloptsError, UnusedCliTokensError

    try:
        command, bound, _ = _app(words[:1]).parse_args(words, exit_on_error=False, print_error=False)
    except UnusedCliTokensError as error:
        named, left = " ".join(error.command_chain or ()), ", ".join(map(repr, error.unused_tokens or ()))
        line = f"{named} does not take {left}: `flagfall {named} --help` lists what it takes"
        raise UsageError(line) from None
    except CycloptsError as error:
        raise UsageError(str(error)) from None
    return partial(command, *bound.args, **bound.kwargs)


def _overview() -> str:
    """Return the help of the program: every command with its line."""
    width = min(get_terminal_size().columns, _MOST_COLUMNS)
    column = max(map(len, COMMANDS)) + 4
    rows = {**COMMANDS, "--help": "Print this, or what a command takes.", "--version": "Print the version."}
    lines = [
        fill(line, width, initial_indent=f"  {name}".ljust(column), subsequent_indent=" " * column)
        for name, line in rows.items()
    ]
    usage = "Usage: flagfall COMMAND [OPTIONS]"
    return "\n".join([usage, "", fill(_SUMMARY, width), "", *lines, "", fill(_EXIT_CODES, width)])


def version_line() -> str:
    """Return the version, and whether the engine of the games is compiled; the engine is not imported."""
    from importlib.machinery import ExtensionFileLoader, PathFinder
    from importlib.metadata import version

    module = "flagfall.tasks.vgdl.engine.cycle"
    folder = Path(__file__).parents[1].joinpath(*module.split(".")[1:-1])
    spec = PathFinder.find_spec(module, [str(folder)])
    is_compiled = spec is not None and isinstance(spec.loader, ExtensionFileLoader)
    return f"flagfall {version('flagfall')} ({'compiled engine' if is_compiled else 'pure Python'})"


def _app(called: Sequence[str]) -> App:
    """Return the application; only the command that is called is imported, and only it has its full help."""
    from cyclopts import App

    app = App(
        name="flagfall",
        version=version_line,
        version_flags=["--version"],
        help_format="markdown",
        suppress_keyboard_interrupt=False,
    )
    for order, (command, line) in enumerate(COMMANDS.items()):
        short = None if command in called else line
        function = command.replace("-", "_")
        place = f"flagfall.cli.commands.{function}:{function}"
        app.command(place, name=command, help=short, sort_key=order)
    return app


def full_app() -> App:
    """Return the application with the full help of every command; that imports them all."""
    return _app(list(COMMANDS))


def _show_warning(message: Warning | str, *_where: Any, **_more: Any) -> None:
    """Print a warning in one line, without the file and line that issued it."""
    print(f"flagfall: warning: {_COLOUR.sub('', str(message))}", file=sys.stderr)


def _failed(error: Exception, code: int) -> int:
    print(f"flagfall: {str(error).strip()}", file=sys.stderr)
    return code


def _file_failed(error: OSError) -> int:
    """Return the exit code for a file, or an output, that the system refused.

    A reader such as `| head` that has seen enough is not an error, nor is the later flush by Python. A closed
    terminal counts as SIGHUP. Anything else is reported in one line.
    """
    if error.errno == errno.EIO and release_terminal():
        return SIGNALLED + signal.SIGHUP
    if error.filename is None:
        discard_output()
    if isinstance(error, BrokenPipeError):
        return 0
    what = "the output cannot be written" if error.filename is None else error.filename
    bad_name = error.errno in {errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR}
    return _failed(UsageError(f"{what}: {error.strerror or error}"), BAD_USAGE if bad_name else HOST_FAILED)


def discard_output() -> None:
    """Discard further output, which cannot be written, so that the flush at exit succeeds."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
