"""Requests to an endpoint with OpenAI's chat completions.

The key is sent to the endpoint only: it is in no text, log, traceback or journal. Where an answer or an error
of the endpoint repeats it, it is replaced.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from http.client import responses
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import attrs
import msgspec
import trio

from flagfall.agents.samples.llm.forms import AnswerForm
from flagfall.agents.samples.llm.settings import Endpoint, ModelOptions
from flagfall.errors import UNAVAILABLE, AgentFault, FlagfallError, UsageError
from flagfall.kernel.usage import NOTHING, Usage
from flagfall.texts import one_line
from flagfall.timing.clocks import real_limit

if TYPE_CHECKING:
    import httpx


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

MAX_RETRY_DIGITS: Final = 5
"""Digits of a believable `Retry-After`: a day or so at most."""

FailureKind: TypeAlias = Literal[
    "unreachable", "rate_limited", "server_errors", "refused", "broken_answers", "timed_out"
]
"""Kinds of failures of an endpoint, as they are counted."""

_FORM_REFUSED: Final = frozenset({400, 422, 501})
"""HTTP statuses of endpoints that do not know the requested form of answers."""

_AGAIN: Final = frozenset({408, 409, 425, *range(500, 600)}) - _FORM_REFUSED
"""HTTP statuses besides 429 after which a request is repeated."""

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
        reasoning: what the model thought before, if the endpoint shows it.
        tool_calls: names and arguments of the functions that the model called.
        usage: tokens and cost of the request, as far as the endpoint reports them.
    """

    text: str
    reasoning: str = ""
    tool_calls: Sequence[Mapping[str, str]] = ()
    usage: Usage = NOTHING


class _Function(msgspec.Struct):
    name: str = ""
    arguments: str = ""


class _Call(msgspec.Struct):
    function: _Function


class _Message(msgspec.Struct):
    content: str | None = None
    tool_calls: list[_Call] | None = None
    reasoning_content: Any = None
    reasoning: Any = None


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
    thought = next((one for one in (message.reasoning_content, message.reasoning) if type(one) is str), "")
    return Completion(
        text,
        thought,
        [msgspec.to_builtins(call.function) for call in message.tool_calls or ()],
        _usage_in(found.usage),
    )


def _usage_in(reported: Any) -> Usage:
    """Return what an endpoint reports, in whatever form; it counts one request."""
    if not isinstance(reported, dict):
        return NOTHING
    known = {"prompt_tokens": "prompt_tokens", "answer_tokens": "completion_tokens", "cost": "cost"}
    return Usage.of({name: reported.get(theirs) for name, theirs in known.items()})


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
        return attrs.evolve(
            answer,
            text=self._without_key(answer.text),
            reasoning=self._without_key(answer.reasoning),
            tool_calls=[
                {name: self._without_key(text) for name, text in call.items()} for call in answer.tool_calls
            ],
        )

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
                    with nullcontext() if status == _OK else real_limit(MAX_ERROR_SECONDS):
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


def load_tokenizer(path: Path) -> Callable[[str], int]:
    """Return a function that counts the tokens of a text, by the `tokenizer.json` of a model.

    Raises:
        UsageError: the library is not installed, or the file cannot be read or is no tokenizer.
    """
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415 - an extra
    except ImportError:
        raise UsageError("tokenizer= needs tokenizers: pip install 'flagfall[llm]'") from None
    if path.exists() and not path.is_file():  # a pipe would block
        raise UsageError(f"tokenizer {path}: it is not a regular file")
    try:
        found = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"tokenizer {path}: {error.strerror or error}") from None
    except Exception as error:  # noqa: BLE001 - the library raises nothing more exact
        raise UsageError(
            f"tokenizer {path}: it is no tokenizer.json: {one_line(str(error), MAX_ERROR_CHARS)}"
        ) from None
    return lambda text: len(found.encode(text, add_special_tokens=False).ids)
