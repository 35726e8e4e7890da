"""Contents of a turn for the eyes of a person: a picture, a text, a byte or word, or the value itself."""

from __future__ import annotations

__all__ = ["Shown", "encode_png", "shown_of"]

import io
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import attrs
import numpy as np

from flagfall.agents.samples.langroom_solver import is_langroom
from flagfall.kernel.channels.codecs import CodecError
from flagfall.recording.journal.format import encode
from flagfall.tasks.rendering import ENVIRONMENT_MODES
from flagfall.viewer.play.score import room_word

MAX_PICTURE_PIXELS: Final = 4_000_000
"""Larger pictures are shown with fewer pixels: no screen shows more, and each is encoded and sent."""

MAX_TEXT_CHARS: Final = 8_000
"""Longest text that is sent; VGDL's largest text views have about 2,000 characters."""

_DIMENSIONS: Final = 3
_COLOURS: Final = (3, 4)


@attrs.frozen
class Shown:
    """The contents of a turn for the eyes of a person.

    Attributes:
        picture: uint8 [height, width, 3 or 4], or `None`.
        text: words beside the picture, or the observation as text.
        heard: the byte or bit of a task of bytes or bits, the word of a room; `None` for others.
        mask: the actions that are allowed, as whole numbers that are 0 or not; `None` for all.
    """

    picture: Any = None
    text: str = ""
    heard: int | str | None = None
    mask: list[int] | None = None


def shown_of(task: Any, observation: Any) -> Shown:
    """Return what to show of an observation.

    A picture or a text that is the observation is shown, as an agent sees it; else the task draws itself.

    Args:
        task: the task, in the state of the observation; `None` if it is not known.
        observation: any observation.
    """
    if type(observation) is int:
        return Shown(heard=observation)
    if is_langroom(observation):
        return Shown(_picture(observation["image"]), heard=room_word(observation["text"]))
    mask = _mask(observation)
    seen = _picture_in(observation)
    if seen is None and not isinstance(observation, str):
        seen = _rendered(task)
    if isinstance(seen, str):
        return Shown(text=seen[:MAX_TEXT_CHARS], mask=mask)
    return Shown(text=_text(observation), mask=mask) if seen is None else Shown(seen, mask=mask)


def _mask(observation: Any) -> list[int] | None:
    mask = observation.get("action_mask") if isinstance(observation, Mapping) else None
    return None if getattr(mask, "ndim", 0) != 1 else [int(bool(one)) for one in np.asarray(mask)]


def _picture_in(observation: Any) -> Any:
    if isinstance(observation, Mapping):
        observation = observation.get("image")
    return _picture(observation)


def _picture(value: Any) -> Any:
    """Return an array if it is a picture."""
    shape: tuple[int, ...] = getattr(value, "shape", ())
    is_picture = getattr(value, "dtype", None) == np.uint8 and len(shape) == _DIMENSIONS
    return value if is_picture and shape[2] in _COLOURS and 0 not in shape else None


def _rendered(task: Any) -> Any:
    """Return the picture or the text that a task renders of itself; `None` if it has neither."""
    for mode in ENVIRONMENT_MODES:
        with suppress(Exception):  # a task without a picture is played from its values
            rendered = task.render(mode)
            return rendered if isinstance(rendered, str) else _picture(rendered)
    return None


def _text(observation: Any) -> str:
    """Return an observation as text of bounded length."""
    if isinstance(observation, str):
        return observation[:MAX_TEXT_CHARS]
    if observation is None:
        return ""
    if isinstance(observation, Mapping):
        observation = {name: value for name, value in observation.items() if name != "action_mask"}
        observation = observation["observation"] if observation.keys() == {"observation"} else observation
    if isinstance(observation, np.ndarray | np.generic):
        return np.array2string(np.asarray(observation), threshold=400, precision=4)[:MAX_TEXT_CHARS]
    try:
        return encode(observation).decode()[:MAX_TEXT_CHARS]
    except (CodecError, TypeError, ValueError, RecursionError):
        return repr(observation)[:MAX_TEXT_CHARS]


def encode_png(picture: Any) -> bytes:
    """Return a picture as PNG.

    Args:
        picture: uint8 [height, width, 3 or 4].
    """
    from PIL import Image  # noqa: PLC0415 - takes 0.1 s, and only pictures need it

    height, width = picture.shape[:2]
    step = 1
    while (height // step) * (width // step) > MAX_PICTURE_PIXELS:
        step += 1
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(picture[::step, ::step])).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()
