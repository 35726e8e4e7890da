"""The command `flagfall`: one command a file; here are only the list of them and what errors come to.

Exit codes, of every command:

| code | meaning |
|---|---|
| 0 | it was done. Agents that were late, illegal or out are results, not errors |
| 1 | the host failed (a task, the disk, this program), or `verify` or a check found something |
| 2 | what was asked for cannot be; nothing was played or written |
| 128 + n | ended by signal n: 129 where the terminal was closed, 130 for Ctrl-C, 143 for SIGTERM; what was
played is printed and recorded |
"""

from __future__ import annotations

__all__ = ["discard_output", "main"]

import errno
import os
import re
import signal
import sys
import warnings
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, Final

from flagfall.cli.console.signals import SIGNALLED, Ended, as_interrupts, release_terminal
from flagfall.errors import HostFault, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts import App

HOST_FAILED: Final = 1
BAD_USAGE: Final = 2

_COLOUR: Final = re.compile("\x1b\\[[0-9;]*m")

_HELP: Final = """\
Matches of agents and tasks, under deadlines that the kernel enforces.

Exit codes: 0 done (agents that were late or out are results, not errors), 1 the host failed or `verify`
found a difference, 2 what was asked for cannot be (nothing was played or written), 130 ended by Ctrl-C,
143 by SIGTERM, 129 by a closed terminal.
"""

_COMMANDS: Final = {
    "run": "Play agents on tasks, under a time control, and print how they did.",
    "tournament": "Play a tournament: who meets whom, how sure the ranking is, and whose fault it was.",
    "ctl": "Look at a tournament that is being played, or steer it.",
    "verify": "Execute a recorded match again, and compare it.",
    "transcript": "Print what was said in a match, one JSON object a line.",
    "results": "Print the figures of a recorded match, or the standings of a tournament.",
    "curriculum": "Let a byte agent learn task after task, and print which it learned and how soon.",
    "gvgai": "GVGAI's learning track: train, validate, serve clients, hold a contest.",
    "tasks": "List the tasks.",
    "agents": "List the sample agents, and tell how to name your own.",
    "agent": "The agent's end of a match that somebody else holds: serve.",
    "check-agent": "Examine an agent: how fast it is, whether it lasts, whether it plays by the rules.",
    "check-host": "Play agents that do what none should, and print what becomes of them on this machine.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the words after `flagfall`; by default those that the program was started with.

    Returns:
        The exit code.
    """
    from cyclopts import CycloptsError

    ended = Ended()
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what the terminal cannot show is told in ASCII
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            app = _app(words[:1])
            command, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
            with as_interrupts(ended):
                code = command(*bound.args, **bound.kwargs)
                sys.stdout.flush()
    except (CycloptsError, UsageError) as error:
        return _failed(error, BAD_USAGE)
    except HostFault as error:
        return _failed(error, HOST_FAILED)
    except (KeyboardInterrupt, BaseExceptionGroup) as error:
        if isinstance(error, BaseExceptionGroup) and error.subgroup(KeyboardInterrupt) is None:
            raise
        return SIGNALLED + ended.number
    except OSError as error:
        return _reader_gone(error)
    return int(code or 0)


def _app(called: Sequence[str]) -> App:
    """The commands; only the one that is called is imported, and has all of its help."""
    from importlib.metadata import version

    from cyclopts import App

    app = App(
        name="flagfall",
        help=_HELP,
        version=lambda: version("flagfall"),
        version_flags=["--version"],
        help_format="markdown",
        suppress_keyboard_interrupt=False,
    )
    for order, (command, line) in enumerate(_COMMANDS.items()):
        short = None if command in called else line
        function = command.replace("-", "_")
        module = "gvgai.app" if command == "gvgai" else f"commands.{function}"
        app.command(f"flagfall.cli.{module}:{function}", name=command, help=short, sort_key=order)
    return app


def _show_warning(message: Warning | str, *_where: Any, **_more: Any) -> None:
    """A warning in one line; which line of which file warned is of no use to who plays."""
    print(f"flagfall: warning: {_COLOUR.sub('', str(message))}", file=sys.stderr)


def _failed(error: Exception, code: int) -> int:
    print(f"flagfall: {str(error).strip()}", file=sys.stderr)
    return code


def _reader_gone(error: OSError) -> int:
    """Return the exit code where output could not be written, because its reader is gone.

    A reader such as `| head` has seen enough: no error, and none later, when Python flushes. A terminal that
    was closed is like SIGHUP.

    Raises:
        OSError: it is something else.
    """
    if error.errno == errno.EIO and release_terminal():
        return SIGNALLED + signal.SIGHUP
    if not isinstance(error, BrokenPipeError):
        raise error
    discard_output()
    return 0


def discard_output() -> None:
    """Send further output nowhere: its reader (`| head`) has gone, which is no error, also not at the end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
