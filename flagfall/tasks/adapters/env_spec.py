"""Text form of environments with options: `gym:FrozenLake-v1?is_slippery=false&map_name=8x8`.

`flagfall.option_text` describes the options. They are passed to the maker of the environment, except for
those of the task itself.
"""

from __future__ import annotations

__all__ = ["split_texts"]

import re
from collections.abc import Iterator
from typing import Final

_PARTS: Final = re.compile(r'"(?:\\.|[^"\\])*"|[\[\]{},]|[^"\[\]{},]+|"')
_OPENING: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


def split_texts(text: str) -> Iterator[str]:
    """Yield the ids of tasks in a comma-separated text; commas in brackets or quotes do not separate.

    Args:
        text: the ids.
    """
    depth, begun = 0, ""
    for part in _PARTS.findall(text):
        if part == "," and depth <= 0:
            if begun:
                yield begun
            begun = ""
            continue
        depth += _OPENING.get(part, 0)
        begun += part
    if begun:
        yield begun
