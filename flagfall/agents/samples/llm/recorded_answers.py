"""Recorded answers of a language model: a match is played again without the model.

The notes of a seat in a journal have the answers, each with the digest of the messages that led to it. So the
same tasks with the same seed lead to the same prompts, and these to the same answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from flagfall.agents.samples.llm.endpoint import EndpointError
from flagfall.agents.samples.llm.forms import AnswerForm, InvalidAnswer
from flagfall.errors import UsageError
from flagfall.events import MatchStarted, TurnPlayed
from flagfall.recording.journal.reader import JournalTruncated, read_journal


def check_answers(path: Path) -> None:
    """Check that a file is a journal with answers, or a folder one of results.

    Raises:
        UsageError: it is not.
    """
    if path.is_dir():
        if not (path / "journals").is_dir():
            raise UsageError(f"answers {path}: this is no folder of results: name one, or a journal")
    elif not any(True for _ in _noted(path, None)):
        raise UsageError(f"answers {path}: no agent of this match has noted answers of a language model")


class RecordedAnswers:
    """The answers of one seat of a match, in the order in which they were given.

    Args:
        path: the journal of the match.
        seat: zero-based index of the seat.

    Raises:
        EndpointError: there are no answers for this match.
    """

    def __init__(self, path: Path, seat: int) -> None:
        self._name = path.name
        self._last = -1
        if path.is_dir():
            raise EndpointError(
                f"answers {path}: name one of its journals: a folder is for its own tournament"
            )
        try:
            self._left = deque(_noted(path, seat))
            header = next(read_journal(path))
        except UsageError as error:
            raise EndpointError(f"answers: {error}") from None
        self._seed = header.seed if isinstance(header, MatchStarted) else 0

    def take(self, digest: str, form: AnswerForm) -> tuple[Mapping[str, Any], str, Any]:
        """Return the note of the next turn with these messages, its answer and the action in it.

        Answer and action are empty where the turn had no valid answer.

        Raises:
            EndpointError: the messages are not recorded, or their answer is not recorded in full.
        """
        place = next((n for n, (_, note) in enumerate(self._left) if note["digest"] == digest), None)
        if place is None:
            what = f"has no answer after turn {self._last}"
            if self._left:
                what = f"has another prompt than this in turn {self._left[0][0]}"
            how = f"play the recorded tasks with the options of then, and --seed {self._seed}"
            raise EndpointError(f"{self._name} {what}: {how}")
        for _ in range(place):
            self._left.popleft()
        self._last, note = self._left.popleft()
        try:
            return note, *answer_in(note, form)
        except InvalidAnswer as wrong:
            raise EndpointError(f"{self._name} has no valid answer of turn {self._last}: {wrong}") from None


def answer_in(note: Mapping[str, Any], form: AnswerForm) -> tuple[str, Any]:
    """Return the answer in the note of a turn, and the action in it; empty where there was no valid answer.

    Raises:
        InvalidAnswer: the note does not have the answer in full, or no match has written it.
    """
    if not note.get("answers"):
        return "", None
    if note.get("answer_is_cut"):
        raise InvalidAnswer("it was too long for a note, which has only its beginning")
    answer = str(note.get("answer"))
    return answer, form.read(answer)


def _noted(path: Path, seat: int | None) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the turns with answers of a seat, or of all; of a journal that was cut off, what is left."""
    with suppress(JournalTruncated):
        for event in read_journal(path):
            if isinstance(event, TurnPlayed) and seat in {None, event.seat}:
                note = event.note
                if isinstance(note, dict) and isinstance(note.get("digest"), str):
                    yield event.turn, note
