"""Conversation with a model, of bounded length: earlier questions and answers, and what a teacher says."""

from __future__ import annotations

from collections import deque
from typing import Final

MAX_CHARS: Final = 32_000
"""Most characters of earlier questions and answers in a request: some 8,000 tokens."""

MAX_HEARD_CHARS: Final = 20_000
"""Most characters that a listener keeps; more than are heard between two questions."""

_SENTENCE_ENDS: Final = ".?!;\n"
_PAUSE: Final = 2
"""Silent bytes in a row that are a pause; a single one separates words."""
_REWARDS: Final = 2
"""Rewards after which an answer is due; a single one ends a task, and the next message follows."""


class Dialogue:
    """Earlier questions and answers, the newest of them."""

    def __init__(self, exchanges: int) -> None:
        self._kept: deque[tuple[str, str]] = deque(maxlen=exchanges)
        self._chars = 0

    def add(self, question: str, answer: str) -> None:
        """Add an exchange; the oldest ones are dropped where there is no room.

        Args:
            question: the question without hints on invalid answers.
        """
        if self._kept.maxlen == 0:
            return
        if len(self._kept) == self._kept.maxlen:
            self._drop()
        self._kept.append((question, answer))
        self._chars += len(question) + len(answer)
        while self._chars > MAX_CHARS:
            self._drop()

    def _drop(self) -> None:
        question, answer = self._kept.popleft()
        self._chars -= len(question) + len(answer)

    def messages(self, system: str, question: str) -> list[dict[str, str]]:
        """Return the messages of a request."""
        said = [("system", system)]
        for exchange in self._kept:
            said += zip(("user", "assistant"), exchange, strict=True)
        return [{"role": role, "content": text} for role, text in (*said, ("user", question))]


class Listener:
    """Collects the bytes of a teacher, and decides when an answer is due.

    An answer is due when the teacher pauses, after a sentence at once and otherwise after two silent bytes;
    at the second reward, as a teacher who pays while it talks expects answers while it talks; and in any case
    when `most` bytes were heard, as a teacher may never pause, or may wait in silence.
    """

    def __init__(self, silence: int, most: int) -> None:
        self._silence = silence
        self._most = most
        self._heard: deque[str] = deque(maxlen=MAX_HEARD_CHARS)
        self._bytes = 0
        self._silent = 0
        self._rewards = 0
        self._is_new = False
        self._last = ""

    def hear(self, byte: int, reward: float) -> None:
        """Take the next byte."""
        if reward:
            self._heard.append(f"\n[reward {reward:g}]\n")
            self._rewards += 1
        self._heard.append(chr(byte))
        self._bytes += 1
        if byte == self._silence:
            self._silent += 1
        else:
            self._silent, self._is_new, self._last = 0, True, chr(byte)

    def is_due(self) -> bool:
        """Return whether the model is to be asked now."""
        if self._bytes >= self._most or self._rewards >= _REWARDS:
            return True
        pause = 1 if self._last in _SENTENCE_ENDS else _PAUSE
        return self._is_new and self._silent >= pause

    def take(self) -> str:
        """Return what was heard since the last time."""
        text = "".join(self._heard)
        self._heard.clear()
        self._bytes = self._silent = self._rewards = 0
        self._is_new = False
        return text
