"""Messages of the agent protocol, between a host and an agent elsewhere: one protocol, two encodings.

    host                          agent
                                <- join(token)      over a network only
    joined()                    ->                  to an agent that asks for it
    hello(version, spaces, ...) ->
                                <- ready(wants, encoding), or failed(reason, detail) and the end
    ask(number, ..., limit_ns)  ->
                                <- answer(number, action), or skip(number) to see the newest turn instead
    ...
    bye()                       ->     the agent closes, and ends

The host asks again only when the last ask was answered or skipped, so an agent that is late finds the
newest turn next, and a host never fills the pipe of an agent that does not read. `docs/protocol.md` describes
the protocol for authors of agents.

Messages are mappings with a `type`. They are lines of JSON, up to and with `ready`; there the agent may
choose MessagePack for the rest, in frames (`flagfall.kernel.channels.framing`). Python agents in processes
speak the same protocol, and choose MessagePack: a round trip with clock and journal takes 33 µs, and took
31 µs with a protocol of arrays without names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from flagfall.errors import AgentFault
from flagfall.kernel.channels import arrays
from flagfall.kernel.channels.codecs import CodecError
from flagfall.kernel.channels.turn_channel import Envelope, LateNotice, PlayedTurn
from flagfall.kernel.spaces import Spaces, TaskDescription
from flagfall.timing.control import Phase

WIRE_VERSION: Final = 1

MAX_DETAIL_CHARS: Final = 8 * 1024
"""Maximum length of an agent's own description of its failure; its end is kept."""

Encoding: TypeAlias = Literal["json", "msgpack"]

_Text: TypeAlias = Annotated[str, Meta(max_length=1024)]


class _Message(Struct, frozen=True, tag_field="type", tag=str.lower):
    """Base of all messages."""


class Hello(_Message, frozen=True):
    """The first message of a host.

    Attributes:
        seed: a seed of the agent's own, 0 to 2**63 - 1.
        spaces: observations and actions of the first task; `None` if they are not known yet.
        resumed: the match has begun; the agent was ready before, on a connection that was lost.
        agent: the text of the agent to load, for the agent's end of flagfall.
        match: over a network, an id of the match, for the `join` of an agent that comes back to it.
        task: the first task in words; left out if it is not known yet, and for continuous tasks.
        transcript: in a match that goes on from a recorded one, the last turns of the seat; else left out.
        files: modules of `agent` by their names, for the agent's end of flagfall where it has no files.
    """

    version: int
    seat: int
    seats: int
    seed: int
    time_control: str
    spaces: Spaces | None = None
    resumed: bool = False
    agent: str | UnsetType = UNSET
    match: str | UnsetType = UNSET
    task: TaskDescription | UnsetType | None = UNSET
    transcript: tuple[PlayedTurn, ...] | UnsetType = UNSET
    files: Mapping[str, str] | UnsetType = UNSET


class Ask(_Message, frozen=True):
    """A turn.

    Attributes:
        limit_ns: the time left for the answer in nanoseconds; `None` for no limit.
        late: the notice of a turn that was late or illegal, sent once.
        spaces: observations and actions of the task, if they differ from those that were sent last.
        task: the task in words, if that differs from what was sent last; `None` for continuous tasks.
        text: the observation in words, for an agent that asked for `texts`.
        noted: in a recorded turn that is shown again, the agent's note on it, `{}` if it made none.
        tokens_left: tokens that are left for the match; left out where there is no budget of them.
        cost_left: the same in billionths of a US dollar.
    """

    number: int
    phase: Phase
    observation: Any
    reward: Any
    limit_ns: int | None
    late: LateNotice | UnsetType = UNSET
    spaces: Spaces | UnsetType = UNSET
    task: TaskDescription | UnsetType | None = UNSET
    text: str | UnsetType = UNSET
    noted: Any = UNSET
    tokens_left: int | UnsetType = UNSET
    cost_left: int | UnsetType = UNSET

    @property
    def left(self) -> tuple[int | None, int | None]:
        """What is left, as `flagfall.timing.Budget.left`."""
        tokens = None if self.tokens_left is UNSET else self.tokens_left
        return tokens, None if self.cost_left is UNSET else self.cost_left

    @property
    def envelope(self) -> Envelope:
        """The turn as an envelope of the kernel."""
        late = None if self.late is UNSET else self.late
        noted = None if self.noted is UNSET else self.noted
        return Envelope(self.number, self.observation, self.reward, self.phase, late, noted)


class Bye(_Message, frozen=True):
    """There will be no more turns."""


class Refused(_Message, frozen=True):
    """The agent that joined does not play, and why; the connection is closed."""

    reason: str
    detail: str = ""


class Joined(_Message, frozen=True):
    """Over a network: the token is right; `hello` follows when a match begins, or `refused`."""


class Join(_Message, frozen=True):
    """Over a network: the first message of an agent.

    Attributes:
        match: the id of the match to which the agent comes back, as in `hello`; empty if it comes anew. With
            either the host answers `joined`; if it is left out, it does not.
    """

    token: _Text = ""
    match: _Text | None = None


class Ready(_Message, frozen=True):
    """The agent is ready.

    Attributes:
        wants: the phases that it wants to be asked in; `act` always.
        encoding: the encoding of all messages that follow.
        texts: each `ask` is to have its observation in words, too.
    """

    wants: Annotated[tuple[Phase, ...], Meta(max_length=8)] = ("act",)
    encoding: Encoding = "json"
    version: int = WIRE_VERSION
    texts: bool = False


class Failed(_Message, frozen=True):
    """The agent broke down, and why; the last message."""

    reason: _Text
    detail: str = ""


class Answer(_Message, frozen=True):
    """The answer to the turn of that number.

    Attributes:
        note: a note for the journal (`flagfall.kernel.hosting.Briefing.note`).
    """

    number: int
    action: Any = None
    note: Any = UNSET


class Skip(_Message, frozen=True):
    """The agent does not answer the turn of that number; it wants the newest."""

    number: int


ToAgent: TypeAlias = Hello | Ask | Bye | Refused | Joined
FromAgent: TypeAlias = Join | Ready | Failed | Answer | Skip

_ENCODE: Final[Mapping[Encoding, Callable[[Any], bytes]]] = {
    "json": arrays.json_encoder().encode,
    "msgpack": arrays.msgpack_encoder().encode,
}
_FROM_AGENT: Final[Mapping[Encoding, Callable[[bytes], Any]]] = {
    "json": arrays.json_decoder(FromAgent),
    "msgpack": arrays.msgpack_decoder(FromAgent),
}
_TO_AGENT: Final[Mapping[Encoding, Callable[[bytes], Any]]] = {
    "json": arrays.json_decoder(ToAgent),
    "msgpack": arrays.msgpack_decoder(ToAgent),
}


def encode(message: ToAgent | FromAgent, encoding: Encoding) -> bytes:
    """Return the bytes of a message, without the end of a line or the head of a frame.

    Raises:
        CodecError: an action or observation holds a value that cannot be encoded.
    """
    try:
        return _ENCODE[encoding](message)
    except CodecError:
        raise
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise CodecError(str(error)) from error


def decode_from_agent(data: bytes, encoding: Encoding) -> FromAgent:
    """Return the message of an agent in some bytes.

    Raises:
        AgentFault: they are not a message of an agent.
    """
    try:
        message: FromAgent = _FROM_AGENT[encoding](data)
        if encoding == "json" and isinstance(message, Answer) and isinstance(message.action, dict | list):
            return Answer(message.number, arrays.restore_arrays(message.action), message.note)
    except CodecError as error:
        raise AgentFault("garbage", f"not a message: {error}; it begins {data[:40]!r}") from error
    if isinstance(message, Failed) and len(message.detail) > MAX_DETAIL_CHARS:
        return Failed(message.reason, message.detail[-MAX_DETAIL_CHARS:])
    return message


def decode_to_agent(data: bytes, encoding: Encoding) -> ToAgent:
    """Return the message of a host in some bytes; raises `CodecError` if they are not a message of a host."""
    message: ToAgent = _TO_AGENT[encoding](data)
    if encoding == "json" and isinstance(message, Ask):
        return replace(message, **_restored(message, "observation", "reward"))
    if encoding == "json" and isinstance(message, Hello) and message.transcript is not UNSET:
        turns = [replace(turn, **_restored(turn, "observation", "action")) for turn in message.transcript]
        return replace(message, transcript=tuple(turns))
    return message


def _restored(message: Ask | PlayedTurn, *names: str) -> dict[str, Any]:
    """Return fields of a message with arrays in place of the mappings that stand for them."""
    return {name: arrays.restore_arrays(getattr(message, name)) for name in names}
