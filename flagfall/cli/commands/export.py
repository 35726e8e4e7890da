"""`flagfall export`."""

from __future__ import annotations

import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Final, Literal, NamedTuple

from cyclopts import Parameter

from flagfall.cli.console.files import Flag, Output, reading, replacing
from flagfall.errors import UsageError
from flagfall.texts import one_line


class Export(NamedTuple):
    """A format of exports.

    Attributes:
        ending: that of the file's name, by which the format is chosen too.
        writer: `module:function`, imported when it is called. It takes the matches (`Source`), a file for
            bytes, and a function for a line about each damaged journal.
        about: what the file holds and what the format needs, for the help.
        executes: the match is executed again; the writer also takes how, see `flagfall.viewer.video`.
    """

    ending: str
    writer: str
    about: str
    executes: bool = False


EXPORTS: Final = {
    "trace": Export(
        ".trace.json",
        "flagfall.viewer.trace:write_trace",
        "a timeline of matches, turns, stalls and disqualifications in Chrome's trace event format, which"
        " ui.perfetto.dev opens.",
    ),
    "parquet": Export(
        ".parquet",
        "flagfall.viewer.parquet:write_parquet",
        "a table with a row for each turn; needs the extra `parquet`.",
    ),
    "mp4": Export(
        ".mp4",
        "flagfall.viewer.video:write_mp4",
        "a video of the match, which is executed again as by `replay`; needs the extra `video`.",
        executes=True,
    ),
    "gif": Export(
        ".gif",
        "flagfall.viewer.video:write_gif",
        "the same as a short animated picture, for pages that show no videos; needs the extra `video`.",
        executes=True,
    ),
}
"""Formats by name."""


MIN_SPEED: Final = 0.1
MAX_SPEED: Final = 1_000.0
"""Turns a second of a video; beyond them it would be a picture, or its end."""


def _help() -> str:
    return " ".join(f"`{name}`: {row.about}" for name, row in EXPORTS.items())


def export(
    file: Path,
    target: Path | None = None,
    /,
    *,
    to: Annotated[Literal[tuple(EXPORTS)] | None, Parameter(help=_help())] = None,  # type: ignore[valid-type]  # their names
    output: Output = None,
    turns: str | None = None,
    speed: str | None = None,
    config: str | None = None,
    trust: Flag = False,
) -> int:
    """Export a journal, or all journals of a tournament, for other programs; or a journal as a video.

    For timelines and tables nothing that a journal names is imported or executed. A video executes the match
    again to draw it, with the rules of `replay` for what a journal names. If a journal is cut off or damaged,
    the part before the damage is exported, a line tells about it, and the exit code is 1.

    Args:
        file: A journal, or the folder of a tournament.
        target: File to write, the same as --output.
        to: Format, a name of `EXPORTS`.
        output: File to write; by default in the working directory, named after the journal or folder. Without
            --to its ending chooses the format.
        turns: Of a video, the turns to show, such as `0:500`.
        speed: Of a video, turns a second, by default 10; or `clock` for the recorded times, in which a long
            turn is a pause.
        config: Of a video, the Python configuration of the match, if it had one, as for `verify`.
        trust: Of a video, import the modules that the journal names. Without this option `export` asks at a
            terminal, and elsewhere refuses.
    """
    from flagfall.cli.console.progress import watch_turns
    from flagfall.viewer.parquet import find_sources, match_name

    problems = 0

    def report(problem: str) -> None:
        nonlocal problems
        problems += 1
        print(f"flagfall: {one_line(problem)}; what it holds is exported", file=sys.stderr)

    if target is not None and output is not None:
        raise UsageError(f"--output {output}: the output is {target} already; give one of them")
    output = output or target
    row = EXPORTS[to or _format_of(output)]
    given = {"turns": turns, "speed": speed, "config": config, "trust": trust or None}
    for name, value in given.items():
        if value is not None and not row.executes:
            videos = " or ".join(name for name, other in EXPORTS.items() if other.executes)
            raise UsageError(f"--{name} is an option of videos: --to {videos}")
    with nullcontext() if file.is_dir() else reading(file):
        sources = find_sources(file, report)
        made = output or Path(match_name(file.absolute()) + row.ending)
        if any(made.exists() and made.samefile(source.path) for source in sources):
            raise UsageError(f"--output {made}: this is the journal itself; name another file")
        chosen: dict[str, Any] = {}
        if row.executes:
            from flagfall.cli.commands.replay import chosen_tasks, turn_span

            span = None if turns is None else turn_span(turns)
            tasks = chosen_tasks(sources[0].path, config, trust=trust)
            chosen = {"turns": span, "speed": _speed(speed or "10"), **tasks}
        with watch_turns(f"writing {made}") as watch, replacing(made) as writing:
            if row.executes:
                chosen["watch"] = watch
            resolve_name(row.writer)(sources, writing.buffer, report, **chosen)
    print(made)
    return 1 if problems else 0


def _format_of(output: Path | None) -> str:
    """Return the format of a file by its ending."""
    endings = {row.ending: name for name, row in EXPORTS.items()}
    for ending, name in endings.items():
        if output is not None and output.name.lower().endswith(ending):
            return name
    known = ", ".join(endings)
    found = "no format is chosen" if output is None else f"{output}: its ending names no format"
    raise UsageError(f"{found}; add --to {'|'.join(EXPORTS)}, or an output that ends in one of {known}")


def _speed(text: str) -> float | str:
    if text == "clock":
        return text
    with suppress(ValueError):
        if MIN_SPEED <= float(text) <= MAX_SPEED:
            return float(text)
    raise UsageError(f"--speed {text!r}: write turns a second from {MIN_SPEED:g} to {MAX_SPEED:g}, or clock")
