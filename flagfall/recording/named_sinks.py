"""Sinks of a user's own by their names: `module:Sink`, `file.py:Sink`."""

from __future__ import annotations

__all__ = ["NamedSink", "load_sink"]

import inspect
import traceback
from pathlib import Path
from typing import Any

import attrs

from flagfall.code_loader import find_member, load_module
from flagfall.errors import HostFault, UsageError
from flagfall.kernel.sinks import Sink
from flagfall.terminal_text import one_line


@attrs.frozen
class NamedSink:
    """A loaded sink.

    Attributes:
        text: the text that names it.
        found: a class, of which each match gets an instance; or a callable, which gets the events of all.
    """

    text: str
    found: Any

    def for_match(self, match: str) -> Sink:
        """Return the sink of one match.

        A class is called with the name of the match if it has a parameter `match`, otherwise without
        arguments.

        Args:
            match: the name of the match.

        Raises:
            UsageError: the class cannot be instantiated, or its instances cannot be called.
        """
        sink: Any = self.found
        if inspect.isclass(self.found):
            try:
                takes_match = "match" in inspect.signature(self.found).parameters
                sink = sink(match=match) if takes_match else sink()
            except Exception as error:
                raise UsageError(one_line(f"sink {self.text}: {_shown(error)}")) from error
            if not callable(sink):
                raise UsageError(f"sink {self.text}: it needs a method __call__(event)")
        return sink if _has_further_methods(sink) else _Named(self.text, sink)


@attrs.frozen
class _Named:
    """A plain sink whose failure names it."""

    text: str
    sink: Sink

    def __call__(self, event: Any) -> None:
        try:
            self.sink(event)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}, line {last.lineno}"
            raise HostFault(one_line(f"sink {self.text} failed ({where}): {_shown(error)}")) from error


def _has_further_methods(sink: Any) -> bool:
    """Return whether it is a `BatchSink` or a `WritingSink`, which the kernel finds by these methods."""
    return hasattr(sink, "write_batch") or hasattr(sink, "drain")


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def load_sink(text: str) -> NamedSink:
    """Import a sink.

    Args:
        text: `module:Sink` or `file.py:Sink`, where `Sink` is a class or a callable that takes an event.

    Raises:
        UsageError: there is no such sink, or its module cannot be imported.
    """
    place, _, member = text.rpartition(":")
    if not place or not member:
        raise UsageError(f"unknown sink {text!r}: write module:Sink or file.py:Sink")
    found = find_member(load_module(place, "sink"), member, place)
    if not callable(found):
        raise UsageError(f"sink {text}: it is neither a class nor a function that takes an event")
    return NamedSink(text, found)
