"""Agent that asks a language model, at any endpoint with OpenAI's chat completions.

    FLAGFALL_LLM_URL=http://127.0.0.1:8000/v1 FLAGFALL_LLM_MODEL=small flagfall run -t micro4 -a llm

Rule 1: the time of a turn is the budget. Without a valid answer within it, the agent answers NIL in time. The
    match ends for an agent whose model never answers, for that is no game of the model (option `on_failure`).
Rule 2: an answer is one JSON object and nothing else, parsed strictly. After an invalid one the model is
    asked again, with the reason, while there is time.
Rule 3: the key is sent to the endpoint only (`flagfall.agents.samples.llm.endpoint`).
Rule 4: each turn for which the model was asked has a note with question, answer, tokens, latency and failures
    (`flagfall.kernel.notes`).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

import attrs
import msgspec
import trio

from flagfall.agents.samples.llm import conversation, endpoint
from flagfall.errors import UsageError
from flagfall.kernel.channels.codecs import SILENCE
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.notes import MAX_NOTE_BYTES
from flagfall.texts import counted
from flagfall.timing import MS, NEVER_NS, ElapsedTimer, S

MAX_WAIT_NS: Final = 60 * S
"""The budget of a turn without a limit."""

MARGIN_SHARE: Final = 5
MAX_MARGIN_NS: Final = 200 * MS
"""A fifth of the remaining time, at most this, is reserved for sending the answer."""

FIRST_PAUSE_SECONDS: Final = 0.1
MAX_PAUSE_SECONDS: Final = 10.0

MAX_PROMPT_CHARS: Final = 8_000
"""Longest observation in a question."""

_BYTES: Final = 256

_SYSTEM: Final = "You play a game, one turn at a time. Answer with one JSON object and nothing else."


class LanguageModel:
    """A language model behind an HTTP endpoint (FLAGFALL_LLM_URL); plays byte tasks and numbered actions.

    It needs the wall clock, and a time control of seconds. In a byte task it listens until the teacher
    pauses, or for `ModelOptions.listen` bytes, and then sends the text of the model.

    Args:
        url: see `Endpoint`; by default from the options, then from the environment.
        model: see `Endpoint`; by default from the options, then from the environment.
        key: see `Endpoint`; by default from the environment.
        options: see `ModelOptions`.

    Raises:
        UsageError: there is no address, or httpx is not installed.
    """

    environment: ClassVar[tuple[str, ...]] = endpoint.VARIABLES
    """Environment variables that it gets in a process too."""

    preset: ClassVar[endpoint.ModelOptions] = endpoint.ModelOptions()
    """Options of instances that are made without any."""

    def __init__(
        self,
        url: str | None = None,
        model: str | None = None,
        key: str | None = None,
        options: endpoint.ModelOptions | None = None,
    ) -> None:
        endpoint.load_httpx()
        self._options = chosen = self.preset if options is None else options
        url, model = chosen.url if url is None else url, chosen.model if model is None else model
        self._endpoint = endpoint.Endpoint.from_env(url, model, key)
        self._client: endpoint.ModelClient | None = None

    @classmethod
    def with_options(cls, options: Mapping[str, Any]) -> type[LanguageModel]:
        """Return this class with other options for its instances; raises as `ModelOptions.parse` does."""
        changed = {"preset": endpoint.ModelOptions.parse(options), "__doc__": cls.__doc__}
        return type(cls.__name__, (cls,), changed)

    @classmethod
    def check(cls) -> None:
        """Check that an instance can be made here; raises `UsageError` as that does."""
        cls()

    async def start(self, briefing: Briefing) -> None:
        """Take the action space of the match, and open the HTTP client."""
        spaces = briefing.spaces
        self._space = {} if spaces is None else spaces.action
        self._nil = None if spaces is None else spaces.nil
        self._silence = SILENCE if self._nil is None or type(self._nil) is not int else self._nil
        self._note = briefing.note
        self._dialogue = conversation.Dialogue(self._options.memory)
        self._listener = conversation.Listener(self._silence, self._options.listen)
        self._to_say: deque[int] = deque()
        self._client = endpoint.ModelClient(self._endpoint, self._options)
        self._record = _Record(self._options.on_failure)

    async def close(self) -> None:
        """Close the connections; raises `EndpointError` if the model has never answered."""
        if self._client is not None:
            await self._client.aclose()
            self._record.close()

    async def reply(self, observation: Any, reward: float, timer: ElapsedTimer) -> Any:
        """Return the action of the model, or NIL."""
        if type(observation) is int and self._space.get("n", _BYTES) == _BYTES:
            return await self._converse(observation, reward, timer)
        legal = _legal(observation, self._space)
        form = conversation.action_form(legal)
        question = (
            f"You see: {_shown(observation)}\nReward for your last action: {reward:g}\n{_lateness(timer)}"
            f"Choose one of these actions: {legal}\n{form.example}"
        )
        move = await self._ask(question, form, timer)
        nil = legal[0] if self._nil is None else self._nil
        return nil if move is None else move

    async def _converse(self, byte: int, reward: float, timer: ElapsedTimer) -> int:
        """Return the next byte of what the model says, or silence."""
        if reward:
            self._to_say.clear()
        self._listener.hear(byte, reward)
        if not self._to_say and self._listener.is_due():
            form = conversation.speech_form()
            question = (
                f"A teacher talks to you, character by character:\n{self._listener.take()}\n"
                f"{_lateness(timer)}{form.example}"
            )
            self._to_say.extend((await self._ask(question, form, timer) or "").encode("latin-1"))
        return self._to_say.popleft() if self._to_say else self._silence

    async def _ask(self, question: str, form: conversation.AnswerForm, timer: ElapsedTimer) -> Any:
        """Return the action in the model's answer; `None` where no valid one comes in time.

        Raises:
            EndpointError: the endpoint failed, and the match is to end then.
        """
        assert self._client is not None
        left_ns = timer.remaining_ns
        left_ns = MAX_WAIT_NS if left_ns >= NEVER_NS else left_ns
        budget_ns = left_ns - min(left_ns // MARGIN_SHARE, MAX_MARGIN_NS)
        asked = _Asked(question)
        self._client.begin_turn()
        with trio.move_on_after(max(0, budget_ns) / S):
            await self._ask_until_answered(asked, form)
        if self._client.in_flight:
            asked.fail(endpoint.Failure("timed_out", "no answer within the time of the turn"))
        self._note(asked.note(self._client.requests, self._client.seconds))
        self._record.add(asked)
        if asked.is_answered:
            self._dialogue.add(question, asked.answer)
        return asked.action

    async def _ask_until_answered(self, asked: _Asked, form: conversation.AnswerForm) -> None:
        assert self._client is not None
        system = self._options.system or _SYSTEM
        pause = FIRST_PAUSE_SECONDS
        hint = ""
        while True:
            wait = pause
            try:
                found = await self._client.ask(self._dialogue.messages(system, asked.question + hint), form)
                asked.take(found.text, found.prompt_tokens, found.answer_tokens)
                asked.succeed(form.read(found.text))
            except conversation.InvalidAnswer as wrong:
                hint = f"\nYour last answer could not be played: {wrong}"
                asked.reject(str(wrong))
            except endpoint.Failure as failure:
                asked.fail(failure)
                if failure.permanent:
                    return
                wait = max(pause, failure.seconds)
            else:
                return
            await trio.sleep(wait)
            pause = min(2 * pause, MAX_PAUSE_SECONDS)


@attrs.define(eq=False)
class _Asked:
    """The question of one turn, and what came of it.

    Attributes:
        action: the action in it; `None` if it is not valid.
        is_answered: it is valid.
        is_heard: the model has answered, in whatever form.
        failure: the last failure of the endpoint; `None` once the model has answered.
    """

    question: str
    answer: str = ""
    action: Any = None
    is_answered: bool = False
    is_heard: bool = False
    failure: endpoint.Failure | None = None
    problem: str = ""
    counts: Counter[str] = attrs.Factory(Counter)

    def take(self, answer: str, prompt_tokens: int, answer_tokens: int) -> None:
        """Take an answer of the model."""
        self.answer = answer
        self.is_heard = True
        self.failure = None
        self.counts["prompt_tokens"] += prompt_tokens
        self.counts["answer_tokens"] += answer_tokens

    def succeed(self, action: Any) -> None:
        """Take the action of the last answer."""
        self.action = action
        self.is_answered = True
        self.counts["answers"] += 1

    def reject(self, problem: str) -> None:
        """Count the last answer as invalid."""
        self.problem = problem
        self.counts["invalid_answers"] += 1

    def fail(self, failure: endpoint.Failure) -> None:
        """Count a failure of the endpoint."""
        self.failure = failure
        self.problem = failure.what
        self.counts[failure.kind] += 1

    def note(self, requests: int, seconds: float) -> dict[str, Any]:
        """Return the note of the turn, with texts as long as there is room."""
        if not self.is_answered:
            self.counts["turns_without_answer"] += 1
        counts = {name: count for name, count in self.counts.items() if count}
        numbers = {"requests": requests, **counts, "seconds": round(seconds, 6)}
        given = {"prompt": self.question, "answer": self.answer, "problem": self.problem}
        whole = {name: text for name, text in given.items() if text}
        room = MAX_NOTE_BYTES // 2
        while True:
            texts = {name: text.encode("utf-8", "replace").decode()[:room] for name, text in whole.items()}
            note = {**texts, **numbers}
            if len(msgspec.json.encode(note)) <= MAX_NOTE_BYTES:
                return note
            room //= 2


@attrs.define(eq=False)
class _Record:
    """What came of the questions of a match, by which it may end for the agent.

    Attributes:
        on_failure: see `ModelOptions`.
        heard: the model has answered, in whatever form.
        turns: turns in which it was asked.
        failed: those in which the endpoint failed.
        last: the last failure of the endpoint.
    """

    on_failure: Literal["auto", "nil", "end"]
    heard: bool = False
    turns: int = 0
    failed: int = 0
    last: endpoint.Failure | None = None

    def add(self, asked: _Asked) -> None:
        """Add a turn; raises `EndpointError` if the match ends with it for the agent."""
        self.heard = self.heard or asked.is_heard
        self.turns += 1
        if asked.failure is None:
            return
        self.failed += 1
        self.last = asked.failure
        is_dead = self.last.permanent or self.failed >= endpoint.MAX_FAILED_TURNS
        if self.on_failure == "end" or (self.on_failure == "auto" and not self.heard and is_dead):
            raise self._error(self.last)

    def close(self) -> None:
        """End the match; raises `EndpointError` if the model has never answered."""
        if self.on_failure == "auto" and not self.heard and self.last is not None:
            raise self._error(self.last)

    def _error(self, last: endpoint.Failure) -> endpoint.EndpointError:
        kind = last.kind.replace("_", " ")
        turns = counted(self.turns, "turn")
        return endpoint.EndpointError(f"no answer in {self.failed} of {turns} ({kind}): {last.what}")


def _legal(observation: Any, space: dict[str, Any]) -> list[int]:
    """Return the legal actions; raises `UsageError` if they are not numbered."""
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
