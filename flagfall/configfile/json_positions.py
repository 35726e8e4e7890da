"""Lines of the values of a JSON text, which `json` does not report."""

from __future__ import annotations

__all__ = ["JsonPositions"]

import json
import re
from typing import Final

from flagfall.configfile.problems import KeyPath

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|\n|[^\s{}\[\]:,"]+', re.DOTALL)


class JsonPositions:
    """Lines of the values of a JSON text.

    Args:
        text: JSON that `json.loads` accepts.
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[KeyPath, int] = {}
        self._one_line = "\n" not in text.strip()
        if not self._one_line:
            self._scan(text)

    def line(self, path: KeyPath) -> int | None:
        """Return the line of a value, or of the nearest object or list around it.

        Args:
            path: keys and indices from the top of the text.

        Returns:
            the line, from 1; `None` for the text as a whole, and for a text of a single line.
        """
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path)

    def _scan(self, text: str) -> None:
        path: list[str | int] = []  # the last part of each open object or list: its current key or index
        in_list: list[bool] = []
        line = 1
        is_key = False  # whether the next string is a key of an object
        for piece in _TOKEN.findall(text):
            if piece == "\n":
                line += 1
            elif piece in "{[":
                in_list.append(piece == "[")
                path.append(0 if in_list[-1] else "")
                is_key = not in_list[-1]
            elif piece in "}]":
                in_list.pop()
                path.pop()
            elif piece == ",":
                is_key = not in_list[-1]
                if in_list[-1]:
                    path[-1] = int(path[-1]) + 1
            elif is_key and piece != ":":
                path[-1] = json.loads(piece)
                is_key = False
                self._lines[tuple(path)] = line  # of equal keys the last one counts, as in `json.loads`
            elif piece != ":" and path and in_list[-1]:
                self._lines[tuple(path)] = line
