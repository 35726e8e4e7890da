"""File format of journals: an event or many turns a line, and a seal after each batch of lines. Pure.

{"event":"match","at_ns":0,"schema":3, ...}
    {"event":"turns","turn":0,"at_ns":[2031,1977,...],"observation":[97,...],"reward":[0,...],"action":[32,...],
     "spent_ns":[1210,...]}
    {"event":"turn","at_ns":43110274,"turn":61,"observation":98, ... ,"verdict":"late"}
    ...
    {"event":"seal","lines":5,"sha256":"0f7c3a5be2d41986"}
    ...
    {"event":"seal","lines":7,"sha256":"<all 64 digits>"}

A line `turns` holds up to 256 plain turns (`flagfall.events.TurnsPlayed`): `turn` is the number of the first,
and each other field is a column. The first time is counted from the start of the match, each other one from
the time before it. A turn takes 20 bytes there instead of 100, and is written in a third of the time.

A seal has the number of lines between it and the previous seal, and the SHA-256 of all bytes of the file
before its own line, seals included: the first 16 digits, and all of them in the last line of the file. So a
changed byte breaks every seal after it, and a file without the long seal is incomplete.

A batch ends with the line that makes it `BATCH_EVENTS` or `BATCH_BYTES` long.

Unknown fields are ignored, so a field that changes no meaning can be added without a new schema. A newer
schema is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from hashlib import blake2b, sha256
from operator import or_
from types import MappingProxyType
from typing import Any, Final, Literal

import msgspec

from flagfall.events import ON_TIME, SCHEMA, Event, SeatDisqualified, TurnPlayed, TurnsPlayed, Verdict
from flagfall.kernel.channels.arrays import json_decoder, json_encoder, restore_arrays
from flagfall.kernel.channels.codecs import CodecError

# Digests that stand for long observations in a journal. Pure.
#
# The state of a game has 15 to 70 kB of JSON, a picture more; with whole observations the journal of one
# minute would have hundreds of megabytes. They can be made again by execution: `verify` does, and compares
# digests.

HASHED_BYTES: Final = 2047
"""The most bytes that `hashlib` hashes without releasing the interpreter lock. With more at once, other
threads may run, and the event loop has to wait until it gets the lock back."""

MAX_KEPT_BYTES: Final = 1024
"""An observation is kept whole if its JSON is at most this long."""

_DIGEST_BYTES: Final = 16
"""128 bits, so that it is infeasible to find another observation with a given digest."""


class Digest(msgspec.Struct, frozen=True, rename={"digest": "$digest"}):
    """The entry of a journal in place of a long observation.

    Attributes:
        digest: BLAKE2b hash of the observation's JSON, 32 hexadecimal digits; `$digest` in the file.
        bytes: the length of that JSON in bytes.
    """

    digest: str
    bytes: int


def update(state: Any, data: bytes) -> None:
    """Update a hash in pieces of at most `HASHED_BYTES`."""
    for at in range(0, len(data), HASHED_BYTES):
        state.update(data[at : at + HASHED_BYTES])


def digest_of(text: bytes) -> Digest:
    """Return the digest of an observation."""
    state = blake2b(digest_size=_DIGEST_BYTES)
    update(state, text)
    return Digest(state.hexdigest(), len(text))


def kept(text: bytes) -> msgspec.Raw | Digest:
    """Return the value that a journal writes for an observation: its JSON, or the digest if that is long."""
    return msgspec.Raw(text) if len(text) <= MAX_KEPT_BYTES else digest_of(text)


def restored(observation: Any) -> Any:
    """Return a decoded observation, with a `Digest` in place of the mapping that stands for one."""
    if isinstance(observation, dict) and observation.keys() == {"$digest", "bytes"}:
        digest, length = observation["$digest"], observation["bytes"]
        if type(digest) is str and type(length) is int:
            return Digest(digest, length)
    return observation


BATCH_EVENTS: Final = 256
"""A batch ends with the line that reaches this number of events; it has less than twice as many."""

BATCH_BYTES: Final = 64 * 1024
"""A batch ends with the line that reaches this length, which bounds the memory for large observations."""

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""The longest line: ten of the largest arrays (4 MiB, `kernel.channels.arrays`), each 5.6 MB in base64."""

MAX_LINE_TURNS: Final = 256
"""Turns in one line, as many as a match holds back (`flagfall.kernel.dispatcher.HELD_TURNS`)."""

SHORT_DIGITS: Final = 16
"""Digits of the hash in all seals but the last: enough to detect accidents, half the length of a turn."""

SEAL_PREFIX: Final = b'{"event":"seal",'

_FIRST_WITH_DISQUALIFIED: Final = 3
"""The first schema with today's words for a disqualified seat."""

_VERDICTS: Final[Mapping[str, Verdict]] = MappingProxyType({"fallen": "disqualified", "on time": ON_TIME})
"""Verdicts of older schemas that have another word now; `ON_TIME` is one object for all."""


class Fell(SeatDisqualified, frozen=True, tag="fell"):
    """A disqualified seat in the words of schemas 1 and 2."""


class _OldTurn(TurnPlayed, frozen=True, tag="turn", gc=False):
    """A turn with the verdicts of schemas 1 and 2."""

    verdict: Literal["on time", "late", "overrun", "illegal", "fallen", "absent"] = ON_TIME  # type: ignore[assignment]


class _Schema(msgspec.Struct):
    schema: int


def event_decoder(*others: type) -> Callable[[bytes], Any]:
    """Return a decoder of the lines of a journal to events and `TurnsPlayed`.

    Args:
        others: classes to decode to, in place of events with the same name in the journal.
    """
    by_name: dict[str, Any] = {
        kind.__struct_config__.tag: kind  # type: ignore[attr-defined]  # every class here is a Struct
        for kind in (*Event.__subclasses__(), TurnsPlayed, *others)
    }
    return json_decoder(reduce(or_, by_name.values()))


_decode: Callable[[bytes], Any] = event_decoder()
_decode_old: Callable[[bytes], Any] = event_decoder(_OldTurn, Fell)
_decode_schema: Callable[[bytes], Any] = json_decoder(_Schema)

encode: Final[Callable[[Any], bytes]] = json_encoder().encode
"""Encode a value as JSON; raises `CodecError`, another `ValueError` or `TypeError` if it has no JSON form."""


def seal_line(lines: int, digits: str) -> bytes:
    """Return the line of a seal."""
    return f'{{"event":"seal","lines":{lines},"sha256":"{digits}"}}\n'.encode()


class Sealer:
    """The seals of one journal, batch by batch."""

    def __init__(self) -> None:
        self._hash = sha256()

    def seal(self, text: bytes, lines: int, *, last: bool = False) -> bytes:
        """Return the seal of the next batch."""
        update(self._hash, text)
        digits = self._hash.hexdigest()
        seal = seal_line(lines, digits if last else digits[:SHORT_DIGITS])
        self._hash.update(seal)
        return seal


def decode_events(line: bytes, schema: int = SCHEMA) -> Sequence[Event]:
    """Return the event or the turns in a line, as of the newest schema; a `Digest` for a long observation.

    Raises:
        CodecError: the line is not an event.
    """
    found = decode_line(line, schema)
    return found.events() if isinstance(found, TurnsPlayed) else [_with_arrays(found)]


def decode_line(line: bytes, schema: int = SCHEMA) -> Event | TurnsPlayed:
    """Return what a line holds, as of the newest schema: turns in columns, and arrays and digests as written.

    Raises:
        CodecError: the line is not an event.
    """
    found: Any = _decode(line) if schema >= _FIRST_WITH_DISQUALIFIED else _renewed(_decode_old(line))
    if isinstance(found, TurnsPlayed):
        _check_columns(found)
    return found  # type: ignore[no-any-return]  # of the classes that the decoder has


def _renewed(event: Event | TurnsPlayed) -> Event | TurnsPlayed:
    """Return an event of an older schema in the words of today's."""
    if isinstance(event, Fell):
        return SeatDisqualified(event.at_ns, event.seat, event.reason, event.detail)
    if isinstance(event, _OldTurn):
        values = {field: getattr(event, field) for field in TurnPlayed.__struct_fields__}
        verdict = values["verdict"]
        values["verdict"] = _VERDICTS.get(verdict, verdict)
        return TurnPlayed(**values)
    return event


def _check_columns(turns: TurnsPlayed) -> None:
    columns = (turns.observation, turns.reward, turns.action, turns.spent_ns)
    if not len(turns) or any(len(column) != len(turns) for column in columns):
        raise CodecError("the columns of these turns differ in length")
    if len(turns) > MAX_LINE_TURNS:
        raise CodecError(f"{len(turns)} turns in one line; {MAX_LINE_TURNS} are the most")


def _with_arrays(event: Event) -> Event:
    if type(event) is TurnPlayed:
        observation, action = event.observation, event.action
        if isinstance(observation, dict | list) or isinstance(action, dict | list):
            return msgspec.structs.replace(
                event, observation=restored(restore_arrays(observation)), action=restore_arrays(action)
            )
        return event
    # Answers to results are in a match, too, what a journal holds: they stay as they are.
    facts = {name: of for name, of in event.facts().items() if name != "answers"}
    held = {name: of for name, of in facts.items() if isinstance(of, dict | list)}
    return msgspec.structs.replace(event, **restore_arrays(held)) if held else event


def schema_of(line: bytes) -> int:
    """Return the schema number in the first line of a journal; raises `CodecError` without one."""
    return int(_decode_schema(line).schema)


def writable(text: str) -> str:
    """Return a text with lone surrogates escaped, since UTF-8 cannot encode them."""
    return text.encode("utf-8", "backslashreplace").decode()
