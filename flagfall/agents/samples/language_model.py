"""Agent that asks a language model, at any endpoint with OpenAI's chat completions.

    FLAGFALL_LLM_URL=http://127.0.0.1:8000/v1 FLAGFALL_LLM_MODEL=small flagfall run -t micro4 -a llm

Rule 1: the time of a turn is the budget. Without a valid answer within it, the agent answers NIL in time.
Rule 2: an answer is one JSON object and nothing else, parsed strictly. After an invalid one the model is
asked
    again, with the reason, while there is time.
Rule 3: the key is sent to the endpoint only: it is in no text, log, traceback or journal. Nor is the text of
an
    endpoint's refusal, which might repeat the key.
"""

from __future__ import annotations

__all__ = ["Endpoint", "EndpointError", "LanguageModel"]

import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs
import msgspec
import trio

from flagfall.errors import FlagfallError, UsageError
from flagfall.kernel.channels.codecs import SILENCE
from flagfall.kernel.hosting import Briefing
from flagfall.timing import MS, NEVER_NS, ElapsedTimer, S

if TYPE_CHECKING:
    import httpx

URL: Final = "FLAGFALL_LLM_URL"
KEY: Final = "FLAGFALL_LLM_KEY"
MODEL: Final = "FLAGFALL_LLM_MODEL"

MAX_WAIT_NS: Final = 60 * S
"""The budget of a turn without a limit."""

MARGIN_SHARE: Final = 5
MAX_MARGIN_NS: Final = 200 * MS
"""A fifth of the remaining time, at most this, is reserved for sending the answer."""

FIRST_PAUSE_SECONDS: Final = 0.1
MAX_PAUSE_SECONDS: Final = 10.0

MAX_ANSWER_BYTES: Final = 256 * 1024
"""Maximum size of a response that is read."""

MAX_ANSWER_TOKENS: Final = 200
MAX_PROMPT_CHARS: Final = 8_000
MAX_SAID_CHARS: Final = 200
MAX_HEARD: Final = 2_000
"""Characters of a conversation in the prompt, the newest."""

_AGAIN: Final = frozenset({408, 409, 425, 429, *range(500, 600)})
"""HTTP statuses after which a request is repeated."""

_OK: Final = 200
_BYTES: Final = 256


class EndpointError(FlagfallError):
    """Permanent refusal of the endpoint: a wrong key, an unknown model."""


class _Wrong(FlagfallError):
    """An answer that is not an action; the message goes into the next prompt."""


@attrs.frozen
class Endpoint:
    """Address of a model.

    Attributes:
        url: up to and with the version, such as `http://127.0.0.1:8000/v1`.
        model: its name.
        key: the bearer token, empty for none. Sent to this endpoint only.

    Raises:
        UsageError: there is no address, or the key has invalid characters.
    """

    url: str = attrs.field(repr=False)  # it may have a password in it
    model: str = ""
    key: str = attrs.field(default="", repr=False)

    def __attrs_post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise UsageError(
                f"a language model needs an address: set {URL}, such as http://127.0.0.1:8000/v1"
            )
        if not (self.key.isascii() and self.key.isprintable()) or " " in self.key:
            raise UsageError(f"{KEY} has characters that no key has")

    @classmethod
    def from_env(cls, url: str | None, model: str | None, key: str | None) -> Endpoint:
        """Return the endpoint of the arguments, or for `None` of the environment variables.

        Args:
            url: see `Endpoint`.
            model: see `Endpoint`.
            key: see `Endpoint`.
        """
        env = os.environ
        return cls(
            (env.get(URL, "") if url is None else url).strip().rstrip("/"),
            (env.get(MODEL, "") if model is None else model).strip(),
            (env.get(KEY, "") if key is None else key).strip(),
        )


class _Message(msgspec.Struct):
    content: str


class _Choice(msgspec.Struct):
    message: _Message


class _Completion(msgspec.Struct):
    choices: list[_Choice]


class _Said(msgspec.Struct, forbid_unknown_fields=True):
    say: str


class _Move(msgspec.Struct, forbid_unknown_fields=True):
    action: int


_SYSTEM: Final = "You play a game, one turn at a time. Answer with one JSON object and nothing else."


class LanguageModel:
    """A language model behind an HTTP endpoint (FLAGFALL_LLM_URL); plays byte tasks and numbered actions.

    It needs the wall clock, and a time control of seconds. In a byte task it listens until the teacher is
    silent, and then sends the text of the model.

    Args:
        url: see `Endpoint`; by default from the environment.
        model: see `Endpoint`; by default from the environment.
        key: see `Endpoint`; by default from the environment.

    Raises:
        UsageError: there is no address, or httpx is not installed.
    """

    def __init__(self, url: str | None = None, model: str | None = None, key: str | None = None) -> None:
        try:
            import httpx  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise UsageError("a language model needs httpx: pip install 'flagfall[llm]'") from error
        self._endpoint = Endpoint.from_env(url, model, key)
        self._http = httpx
        self._client: httpx.AsyncClient | None = None

    async def start(self, briefing: Briefing) -> None:
        """Take the action space of the match, and open the HTTP client.

        Args:
            briefing: the briefing of the match.
        """
        spaces = briefing.spaces
        self._space = {} if spaces is None else spaces.action
        self._nil = None if spaces is None else spaces.nil
        self._heard: deque[str] = deque(maxlen=MAX_HEARD)
        self._to_say: deque[int] = deque()
        self._asked_at = ""
        headers = {"Accept-Encoding": "identity"}
        if self._endpoint.key:
            headers["Authorization"] = f"Bearer {self._endpoint.key}"
        self._client = self._http.AsyncClient(headers=headers, timeout=None)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def reply(self, observation: Any, reward: float, timer: ElapsedTimer) -> Any:
        """Return the action of the model, or NIL.

        Args:
            observation: the observation of the turn.
            reward: the reward of the turn before.
            timer: the timer of the turn.
        """
        if type(observation) is int and self._space.get("n", _BYTES) == _BYTES:
            return await self._converse(observation, reward, timer)
        legal = _legal(observation, self._space)
        question = (
            f"You see: {_shown(observation)}\nReward for your last action: {reward:g}\n{_lateness(timer)}"
            f'Choose one of these actions: {legal}\nAnswer such as {{"action": {legal[0]}}}.'
        )
        move = await self._ask(question, lambda text: _move(text, legal), timer)
        if move is not None:
            return move
        return self._nil if self._nil is not None else legal[0]

    # Byte tasks.

    async def _converse(self, byte: int, reward: float, timer: ElapsedTimer) -> int:
        silence = SILENCE if self._nil is None else int(self._nil)
        if reward:
            self._heard.append(f"\n[reward {reward:g}]\n")
            self._to_say.clear()
        self._heard.append(chr(byte))
        heard = "".join(self._heard)
        if byte == silence and not self._to_say and heard.rstrip() != self._asked_at:
            self._asked_at = heard.rstrip()
            question = (
                "A teacher talks to you, character by character. What you say is marked with >.\n"
                f"{heard[-MAX_HEARD:]}\n{_lateness(timer)}"
                'Answer such as {"say": "hello."}; with {"say": ""} you go on listening.'
            )
            said = await self._ask(question, _speech, timer)
            if said:
                self._to_say.extend(said.encode("latin-1"))
                self._heard.append(f"\n> {said}\n")
                self._asked_at = "".join(self._heard).rstrip()
        return self._to_say.popleft() if self._to_say else silence

    # Asking.

    async def _ask(self, question: str, read: Callable[[str], Any], timer: ElapsedTimer) -> Any:
        """Return the parsed answer of the model; `None` where no valid one comes in time."""
        left_ns = timer.remaining_ns
        left_ns = MAX_WAIT_NS if left_ns >= NEVER_NS else left_ns
        budget_ns = left_ns - min(left_ns // MARGIN_SHARE, MAX_MARGIN_NS)
        pause = FIRST_PAUSE_SECONDS
        hint = ""
        with trio.move_on_after(max(0, budget_ns) / S):
            while True:
                try:
                    return read(await self._complete(question + hint))
                except _Wrong as wrong:
                    hint = f"\nYour last answer could not be played: {wrong}"
                    wait = pause
                except _Later as later:
                    wait = max(pause, later.seconds)
                await trio.sleep(wait)
                pause = min(2 * pause, MAX_PAUSE_SECONDS)
        return None

    async def _complete(self, question: str) -> str:
        """Send one request, and return the text of the answer.

        Raises:
            EndpointError: the endpoint refuses permanently.
            _Later: the request may be repeated.
        """
        assert self._client is not None
        asked = {
            "model": self._endpoint.model,
            "messages": [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": question}],
            "temperature": 0,
            "max_tokens": MAX_ANSWER_TOKENS,
        }
        body = bytearray()
        failed = False
        try:
            url = f"{self._endpoint.url}/chat/completions"
            with trio.CancelScope() as reading:  # leaving the loop would leave httpx's generators open
                async with self._client.stream("POST", url, json=asked) as response:
                    _judge(response.status_code, response.headers.get("retry-after", ""))
                    async for chunk in response.aiter_raw():
                        body += chunk
                        if len(body) > MAX_ANSWER_BYTES:
                            reading.cancel()
        except (self._http.HTTPError, self._http.InvalidURL):
            failed = True  # its message may contain the address, and that a password
        if failed or len(body) > MAX_ANSWER_BYTES:
            raise _Later(0)
        return _content(bytes(body))


class _Later(FlagfallError):
    """Failure after which the request may be repeated.

    Attributes:
        seconds: pause that the endpoint asks for.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


def _judge(status: int, retry_after: str) -> None:
    if status in _AGAIN:
        whole = retry_after.isdecimal() and retry_after.isascii() and len(retry_after) < 6  # noqa: PLR2004 - a day or so at most
        raise _Later(float(retry_after) if whole else 0)
    if status != _OK:
        raise EndpointError(f"the endpoint of the language model refuses: HTTP status {status}")


def _content(body: bytes) -> str:
    try:
        choices = msgspec.json.decode(body, type=_Completion).choices
    except (ValueError, RecursionError):
        raise _Later(0) from None
    if not choices:
        raise _Later(0)
    return choices[0].message.content


def _move(text: str, legal: Sequence[int]) -> int:
    action: int = _read(text, _Move).action
    if action not in legal:
        raise _Wrong(f"{action} is not one of the actions")
    return action


def _speech(text: str) -> str:
    said: str = _read(text, _Said).say
    if len(said) > MAX_SAID_CHARS:
        raise _Wrong(f"more than {MAX_SAID_CHARS} characters")
    if any(ord(char) >= _BYTES for char in said):
        raise _Wrong("a character that is not a byte")
    return said


def _read(text: str, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(text.strip().encode("utf-8", "replace"), type=kind)
    except (msgspec.DecodeError, ValueError, RecursionError):
        wanted = msgspec.structs.fields(kind)[0].name
        raise _Wrong(f'it is not a JSON object with the field "{wanted}" alone') from None


def _legal(observation: Any, space: dict[str, Any]) -> list[int]:
    """Return the legal actions.

    Raises:
        UsageError: they are not numbered.
    """
    start = space.get("start", 0)
    if isinstance(observation, dict) and "action_mask" in observation:
        legal = [start + number for number, may in enumerate(observation["action_mask"]) if may]
    else:
        legal = list(range(start, start + space.get("n", 0)))
    if not legal:
        raise UsageError("a language model plays byte tasks, and games whose actions have numbers")
    return legal


def _shown(observation: Any) -> str:
    """Return an observation as text of bounded length."""
    if isinstance(observation, str):
        return observation[:MAX_PROMPT_CHARS]
    if isinstance(observation, dict):
        observation = {key: value for key, value in observation.items() if key != "action_mask"}
    try:
        text = msgspec.json.encode(observation, enc_hook=_as_list).decode()
    except (TypeError, ValueError):
        text = str(observation)
    return text[:MAX_PROMPT_CHARS]


def _as_list(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError


def _lateness(timer: ElapsedTimer) -> str:
    return "" if timer.late is None else "Your last answer came too late, or was illegal.\n"
