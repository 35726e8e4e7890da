"""Requests to an endpoint with OpenAI's chat completions, and the options of a language model.

The key is sent to the endpoint only: it is in no text, log, traceback or journal. Where an answer or an error
of the endpoint repeats it, it is replaced.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from http.client import responses
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

import attrs
import msgspec
import trio

from flagfall.agents.samples.llm.conversation import AnswerForm
from flagfall.errors import UNAVAILABLE, AgentFault, FlagfallError, UsageError, suggest
from flagfall.texts import one_line

if TYPE_CHECKING:
    import httpx


URL: Final = "FLAGFALL_LLM_URL"
KEY: Final = "FLAGFALL_LLM_KEY"
MODEL: Final = "FLAGFALL_LLM_MODEL"

VARIABLES: Final = (URL, MODEL, KEY)
"""The environment variables of the agent."""

MAX_MEMORY: Final = 1_000
MAX_LISTEN: Final = 10_000
MAX_TOKENS: Final = 100_000
MAX_TEMPERATURE: Final = 2.0
"""Upper limit of OpenAI's API."""

MAX_SYSTEM_CHARS: Final = 8_000
"""Longest system prompt; it is sent with every request."""


@attrs.frozen
class Endpoint:
    """Address of a model.

    Attributes:
        url: up to and with the version, such as `http://127.0.0.1:8000/v1`.
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
        """Return the endpoint of the arguments, or for `None` of the environment variables."""
        env = os.environ
        return cls(
            (env.get(URL, "") if url is None else url).strip().rstrip("/"),
            (env.get(MODEL, "") if model is None else model).strip(),
            (env.get(KEY, "") if key is None else key).strip(),
        )


@attrs.frozen
class ModelOptions:
    """Options of the agent; in its text `llm?temperature=0.2&max_tokens=50`.

    Attributes:
        url: address of the endpoint, without a password; by default from the environment.
        model: name of the model; by default from the environment.
        temperature: 0 to 2; `default` leaves it to the endpoint.
        max_tokens: most tokens of an answer.
        system: system prompt; by default one that describes the form of answers.
        memory: most exchanges of question and answer that are sent along; at most
            `flagfall.agents.samples.llm.conversation.MAX_CHARS` characters.
        format: the form of answers that is requested from the endpoint: `schema` (structured output by a
            JSON Schema), `tools` (a call of a function), `json` (a JSON object), `text` (nothing is
            requested), or `auto`: `schema`, and `text` if the endpoint refuses that.
        on_failure: after a turn for which the endpoint gave no answer: `nil` plays on, with the NIL action;
            `end` ends the match for this agent; `auto` plays on, but ends it where the model has never
            answered: at a refusal, after `MAX_FAILED_TURNS`, and at the end of the match.
        listen: in byte tasks: most bytes that are heard before the model is asked, pause or not.
    """

    url: str | None = None
    model: str | None = None
    temperature: float | Literal["default"] = 0
    max_tokens: int = 200
    system: str = ""
    memory: int = 8
    format: Literal["auto", "schema", "tools", "json", "text"] = "auto"
    on_failure: Literal["auto", "nil", "end"] = "auto"
    listen: int = 80

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> ModelOptions:
        """Return the options of a text.

        Raises:
            UsageError: an option is unknown or has an invalid value.
        """
        known = [field.name for field in attrs.fields(cls)]
        for name in options:
            if name == "key":
                raise UsageError(f"llm: a key is given by {KEY} only: texts of agents stand in records")
            if name not in known:
                raise UsageError(f"llm: unknown option {name!r}{suggest(name, known)}")
        made = cls(**options)
        for name, wanted in made._problems():
            raise UsageError(f"llm: {name}={getattr(made, name)!r}: write {wanted}")
        return made

    def _problems(self) -> list[tuple[str, str]]:
        """Return the names of invalid options, and what they may be."""
        rules = {
            "url": (_is_plain_url(self.url), "an address such as http://127.0.0.1:8000/v1, no password"),
            "model": (isinstance(self.model, str | None), "the name of a model"),
            "temperature": (
                self.temperature == "default" or _is_number(self.temperature, 0, MAX_TEMPERATURE),
                f"a number from 0 to {MAX_TEMPERATURE:g}, or default",
            ),
            "max_tokens": (_is_whole(self.max_tokens, 1, MAX_TOKENS), f"a number from 1 to {MAX_TOKENS}"),
            "system": (
                type(self.system) is str and len(self.system) <= MAX_SYSTEM_CHARS,
                f"a text of at most {MAX_SYSTEM_CHARS} characters",
            ),
            "memory": (_is_whole(self.memory, 0, MAX_MEMORY), f"a number from 0 to {MAX_MEMORY}"),
            "format": (
                self.format in {"auto", "schema", "tools", "json", "text"},
                "auto, schema, tools, json or text",
            ),
            "on_failure": (self.on_failure in {"auto", "nil", "end"}, "auto, nil or end"),
            "listen": (_is_whole(self.listen, 1, MAX_LISTEN), f"a number from 1 to {MAX_LISTEN}"),
        }
        return [(name, wanted) for name, (fits, wanted) in rules.items() if not fits]


def _is_plain_url(url: object) -> bool:
    if not isinstance(url, str):
        return url is None
    try:
        return url.startswith(("http://", "https://")) and "@" not in urlsplit(url).netloc
    except ValueError:
        return False


def _is_whole(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _is_number(value: Any, least: float, most: float) -> bool:
    return type(value) in {int, float} and least <= value <= most


MAX_ANSWER_BYTES: Final = 256 * 1024
"""Maximum size of a response that is read."""

MAX_ERROR_BYTES: Final = 16 * 1024
"""Most of a response with an error that is read."""

MAX_ERROR_SECONDS: Final = 1.0
"""Longest time in which such a response is read: its status has arrived."""

MAX_ERROR_CHARS: Final = 300
"""Longest text of an endpoint in a message."""

_TELLING: Final = 3
"""Characters of a key that tell nothing: many keys begin with the same."""

MAX_FAILED_TURNS: Final = 10
"""Turns without an answer after which a model that has never answered is taken to be unavailable."""

MAX_COUNTED_TOKENS: Final = 10**9
"""Larger counts of tokens are not believed."""

MAX_RETRY_DIGITS: Final = 5
"""Digits of a believable `Retry-After`: a day or so at most."""

FailureKind: TypeAlias = Literal[
    "unreachable", "rate_limited", "server_errors", "refused", "broken_answers", "timed_out"
]
"""Kinds of failures of an endpoint, as they are counted."""

_AGAIN: Final = frozenset({408, 409, 425, *range(500, 600)})
"""HTTP statuses besides 429 after which a request is repeated."""

_FORM_REFUSED: Final = frozenset({400, 422, 501})
"""HTTP statuses of endpoints that do not know the requested form of answers."""

_OK: Final = 200
_TOO_MANY: Final = 429
_FUNCTION: Final = "answer"


class EndpointError(AgentFault):
    """The endpoint gave no answer, so the match ends for the agent."""

    def __init__(self, what: str) -> None:
        super().__init__(UNAVAILABLE, what)


class Failure(FlagfallError):
    """A request without an answer.

    Attributes:
        what: describes it in one line, with what the endpoint says; never with the key.
        seconds: pause that the endpoint asks for.
        permanent: the request would fail again.
        may_be_form: it may fail because the endpoint does not know the requested form of answers.
    """

    def __init__(
        self, kind: FailureKind, what: str, *, seconds: float = 0, may_be_form: bool = False
    ) -> None:
        super().__init__(what)
        self.kind: FailureKind = kind
        self.what = what
        self.seconds = seconds
        self.permanent: bool = kind == "refused"
        self.may_be_form = may_be_form


@attrs.frozen
class Completion:
    """An answer of the model.

    Attributes:
        text: the content of the message, or the arguments of its call.
        prompt_tokens: tokens of the request, as the endpoint counts; 0 if it does not.
    """

    text: str
    prompt_tokens: int = 0
    answer_tokens: int = 0


class _Function(msgspec.Struct):
    arguments: str = ""


class _Call(msgspec.Struct):
    function: _Function


class _Message(msgspec.Struct):
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    message: _Message


class _Response(msgspec.Struct):
    choices: list[_Choice]
    usage: Any = None


def read_completion(body: bytes) -> Completion:
    """Return the answer in the body of a response; raises `Failure` if there is none."""
    try:
        found = msgspec.json.decode(body, type=_Response)
    except (ValueError, RecursionError):
        raise Failure("broken_answers", "the response is not a chat completion") from None
    if not found.choices:
        raise Failure("broken_answers", "the response has no choices")
    message = found.choices[0].message
    text = message.tool_calls[0].function.arguments if message.tool_calls else message.content
    if text is None:
        raise Failure("broken_answers", "the message of the response has no content")
    return Completion(text, _tokens(found.usage, "prompt_tokens"), _tokens(found.usage, "completion_tokens"))


def _tokens(usage: Any, name: str) -> int:
    count = usage.get(name) if isinstance(usage, dict) else 0
    return count if type(count) is int and 0 <= count <= MAX_COUNTED_TOKENS else 0


class ModelClient:
    """Connection to one endpoint.

    Attributes:
        in_flight: a request was sent, and its response is not complete.
        seconds: duration of all requests since `begin_turn`.
    """

    def __init__(self, endpoint: Endpoint, options: ModelOptions) -> None:
        self._http = load_httpx()
        self.in_flight: bool = False
        self.seconds: float = 0.0
        self.requests: int = 0
        self._endpoint = endpoint
        self._options = options
        self._form: str = "schema" if options.format == "auto" else options.format
        headers = {"Accept-Encoding": "identity"}
        if endpoint.key:
            headers["Authorization"] = f"Bearer {endpoint.key}"
        self._client: httpx.AsyncClient = self._http.AsyncClient(headers=headers, timeout=None)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def begin_turn(self) -> None:
        """Count from zero."""
        self.seconds = 0.0
        self.requests = 0
        self.in_flight = False

    async def ask(self, messages: list[dict[str, str]], form: AnswerForm) -> Completion:
        """Send one request, or a second one if the endpoint does not know the form of answers.

        Raises:
            Failure: there is no answer.
        """
        try:
            return await self._ask(messages, form)
        except Failure as failure:
            if not failure.may_be_form or self._options.format != "auto" or self._form == "text":
                raise
            self._form = "text"
            return await self._ask(messages, form)

    async def _ask(self, messages: list[dict[str, str]], form: AnswerForm) -> Completion:
        options = self._options
        request = {"model": self._endpoint.model, "messages": messages, "max_tokens": options.max_tokens}
        if options.temperature != "default":
            request["temperature"] = options.temperature
        began = time.perf_counter()
        self.requests += 1
        self.in_flight = True
        try:
            body = await self._post(request | self._requested(form))
            self.in_flight = False
        except Failure:
            self.in_flight = False
            raise
        finally:
            self.seconds += time.perf_counter() - began
        try:
            answer = read_completion(body)
        except Failure as failure:
            raise Failure(failure.kind, f"{failure.what}{self._said(body)}") from None
        return attrs.evolve(answer, text=self._without_key(answer.text))

    def _requested(self, form: AnswerForm) -> dict[str, Any]:
        """Return the fields of a request that ask for a form of answers."""
        if self._form == "json":
            return {"response_format": {"type": "json_object"}}
        if self._form == "schema":
            schema = {"name": _FUNCTION, "strict": True, "schema": form.schema}
            return {"response_format": {"type": "json_schema", "json_schema": schema}}
        if self._form == "tools":
            function = {"name": _FUNCTION, "description": form.example, "parameters": form.schema}
            choice = {"type": "function", "function": {"name": _FUNCTION}}
            return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}
        return {}

    async def _post(self, request: dict[str, Any]) -> bytes:
        http = self._http
        status, retry_after = 0, ""
        body = bytearray()
        failure: Failure | None = None
        try:
            url = f"{self._endpoint.url}/chat/completions"
            with trio.CancelScope() as reading:  # leaving the loop would leave httpx's generators open
                async with self._client.stream("POST", url, json=request) as response:
                    status, retry_after = response.status_code, response.headers.get("retry-after", "")
                    if status != _OK:
                        reading.deadline = trio.current_time() + MAX_ERROR_SECONDS
                    async for chunk in response.aiter_raw():
                        body += chunk
                        if len(body) > (MAX_ANSWER_BYTES if status == _OK else MAX_ERROR_BYTES):
                            reading.cancel()
        except (http.ConnectError, http.ConnectTimeout, http.InvalidURL, http.UnsupportedProtocol):
            # Its own text may hold the URL.
            failure = Failure("unreachable", "the endpoint cannot be reached")
        except http.HTTPError:
            if status in {0, _OK}:
                failure = Failure("broken_answers", "the connection broke, or spoke no HTTP")
        if failure is not None:
            raise failure
        _judge(status, retry_after, self._said(bytes(body)))
        if len(body) > MAX_ANSWER_BYTES:
            raise Failure("broken_answers", f"the response is longer than {MAX_ANSWER_BYTES} bytes")
        return bytes(body)

    def _said(self, body: bytes) -> str:
        """Return what the endpoint says in a response without an answer, to follow a description of it."""
        line = one_line(self._without_key(_message_in(body[:MAX_ERROR_BYTES])), MAX_ERROR_CHARS)
        return f": {line}" if line else ""

    def _without_key(self, text: str) -> str:
        key = self._endpoint.key
        if not key:
            return text
        text = text.replace(key, "***")
        # A text that was cut off may end within the key.
        for size in range(len(key) - 1, _TELLING, -1):
            text = f"{text[:-size]}***" if text.endswith(key[:size]) else text
        return text


def _message_in(body: bytes) -> str:
    """Return the message in the JSON of an error, of whichever server; else the whole text."""
    try:
        found = whole = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")
    for name in ("error", "message", "detail"):
        if isinstance(found, dict):
            found = found.get(name, found)
    return found if isinstance(found, str) else msgspec.json.encode(whole).decode()


def _judge(status: int, retry_after: str, said: str) -> None:
    """Raise the failure that a status means, if it means one."""
    if status == _OK:
        return
    what = f"HTTP status {status} {responses.get(status, '')}".rstrip() + said
    if status == _TOO_MANY or status in _AGAIN:
        whole = retry_after.isdecimal() and retry_after.isascii() and len(retry_after) <= MAX_RETRY_DIGITS
        kind: FailureKind = "rate_limited" if status == _TOO_MANY else "server_errors"
        raise Failure(kind, what, seconds=float(retry_after) if whole else 0)
    raise Failure("refused", what, may_be_form=status in _FORM_REFUSED)


def load_httpx() -> Any:
    """Return the library for HTTP; raises `UsageError` if it is not installed."""
    try:
        import httpx  # noqa: PLC0415 - an extra
    except ImportError:
        raise UsageError("a language model needs httpx: pip install 'flagfall[llm]'") from None
    return httpx
