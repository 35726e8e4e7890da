"""Agent that asks a language model, at any endpoint with OpenAI's chat completions.

    FLAGFALL_LLM_URL=http://127.0.0.1:8000/v1 FLAGFALL_LLM_MODEL=small flagfall run -t micro4 -a llm

Rule 1: the time of a turn is the budget. Without a valid answer within it, the agent answers NIL in time. The
    match ends for an agent whose model never answers, for that is no game of the model (option `on_failure`).
    On the virtual clock no time passes while the endpoint is waited for, and a turn takes the time of the
    tokens of its answers, if there is a rate: over its limit it is late. So neither a slow nor a failing
    endpoint costs a turn (`flagfall.kernel.usage`).
Rule 2: an answer is one JSON object and nothing else, parsed strictly. After an invalid one the model is
    asked again, with the reason, while there is time.
Rule 3: the key is sent to the endpoint only (`flagfall.agents.samples.llm.endpoint`).
Rule 4: each turn for which the model was asked has a note (`flagfall.kernel.notes`) with question, answer and
    tokens, and on the wall clock with latency and failures. From it the match can be played again without the
    model (`flagfall.agents.samples.llm.recorded_answers`). Recorded turns that are shown again are played
    from their notes, too, so that a match that goes on pays for none of them again.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Final

import attrs
import trio

from flagfall.agents.samples.llm import conversation, endpoint, forms, prompt, settings
from flagfall.agents.samples.llm.recorded_answers import RecordedAnswers, answer_in, check_answers
from flagfall.agents.samples.llm.turn import AskedTurn, Availability, digest_of
from flagfall.kernel import usage
from flagfall.kernel.channels.codecs import SILENCE
from flagfall.kernel.descriptions import ALLOWED, describe_value
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.spaces import TaskDescription
from flagfall.timing import MS, NEVER_NS, ElapsedTimer, S, VirtualClock
from flagfall.timing.clocks import real_sleep
from flagfall.timing.rates import Tokens

MAX_WAIT_NS: Final = 60 * S
"""The budget of a turn without a limit."""

MARGIN_SHARE: Final = 5
MAX_MARGIN_NS: Final = 200 * MS
"""A fifth of the remaining time, at most this, is reserved for sending the answer."""

FIRST_PAUSE_SECONDS: Final = 0.1
MAX_PAUSE_SECONDS: Final = 10.0

MAX_AWAY_SECONDS: Final = 900.0
"""Real time for which one answer is waited for on the virtual clock: rates are limited by the minute, and a
server that restarts loads a large model within some minutes."""

MAX_ANSWERS: Final = 10
"""Answers of one turn, at most: without a limit of time the model would be asked for a valid one for ever."""

_BYTES: Final = 256


class LanguageModel:
    """A language model behind an HTTP endpoint (FLAGFALL_LLM_URL); plays byte tasks and games.

    Actions of games are numbers, or made of numbers. On the wall clock it needs a time control of seconds. In
    a byte task it listens until the teacher pauses, or for `ModelOptions.listen` bytes, and then sends the
    text of the model.

    Args:
        url: see `Endpoint`; by default from the options, then from the environment.
        model: see `Endpoint`; by default from the options, then from the environment.
        key: see `Endpoint`; by default from the environment.
        options: see `ModelOptions`.

    Raises:
        UsageError: there is no address, httpx is not installed, or a file of the options cannot be used.
    """

    environment: ClassVar[tuple[str, ...]] = settings.VARIABLES
    """Environment variables that it gets in a process too."""

    preset: ClassVar[settings.ModelOptions] = settings.ModelOptions()
    """Options of instances that are made without any."""

    texts: ClassVar[bool] = True
    """It reads observations as text."""

    measures: ClassVar[str] = "tokens"
    """It reports what its model used, so a rate of tokens can be its think time."""

    def __init__(
        self,
        url: str | None = None,
        model: str | None = None,
        key: str | None = None,
        options: settings.ModelOptions | None = None,
    ) -> None:
        self._options = chosen = self.preset if options is None else options
        self._template = (
            None if chosen.template is None else prompt.PromptTemplate.read(Path(chosen.template))
        )
        self._count = None if chosen.tokenizer is None else endpoint.load_tokenizer(Path(chosen.tokenizer))
        self._endpoint: settings.Endpoint | None = None
        self._client: endpoint.ModelClient | None = None
        if chosen.answers is None:
            endpoint.load_httpx()
            url, model = chosen.url if url is None else url, chosen.model if model is None else model
            self._endpoint = settings.Endpoint.from_env(url, model, key)

    @classmethod
    def with_options(cls, options: Mapping[str, Any]) -> type[LanguageModel]:
        """Return this class with other options for its instances; raises as `ModelOptions.parse` does."""
        changed = {"preset": settings.ModelOptions.parse(options), "__doc__": cls.__doc__}
        return type(cls.__name__, (cls,), changed)

    repeats: ClassVar[bool] = False
    """Its answers do not follow from its seed and what it was shown."""

    resumes: ClassVar[bool] = True
    """It plays recorded turns that are shown again from its notes."""

    @classmethod
    def check(cls) -> None:
        """Check that an instance can be made here; raises `UsageError` as that does."""
        cls()
        if cls.preset.answers is not None:
            check_answers(Path(cls.preset.answers))

    async def start(self, briefing: Briefing) -> None:
        """Open the HTTP client, or the recorded answers."""
        self._briefing = briefing
        spaces = briefing.spaces
        nil = None if spaces is None else spaces.nil
        self._silence = nil if type(nil) is int else SILENCE
        self._dialogue = conversation.Dialogue(self._options.memory)
        self._listener = conversation.Listener(self._silence, self._options.listen)
        self._to_say: deque[int] = deque()
        self._is_virtual = isinstance(trio.lowlevel.current_clock(), VirtualClock)
        waited = f"{MAX_AWAY_SECONDS:g} s" if self._is_virtual else "the time of the turn"
        self._timed_out = f"no answer within {waited}"
        self._record = Availability(self._options.on_failure, is_patient=self._is_virtual)
        self._noted_system = ""
        self._recorded: RecordedAnswers | None = None
        if self._options.answers is not None:
            self._recorded = RecordedAnswers(Path(self._options.answers), briefing.seat)
        if self._endpoint is not None:
            self._client = endpoint.ModelClient(self._endpoint, self._options)

    async def close(self) -> None:
        """Close the connections; raises `EndpointError` if the model has never answered."""
        if self._client is not None:
            await self._client.aclose()
            self._record.close()

    async def reply(self, observation: Any, reward: float, timer: ElapsedTimer) -> Any:
        """Return the action of the model, or NIL."""
        spaces, task = self._briefing.spaces, self._briefing.task or TaskDescription("")
        space = {} if spaces is None else spaces.action
        if type(observation) is int and space.get("n", _BYTES) == _BYTES:
            return await self._converse(observation, reward, timer)
        form = forms.action_form(space, _legal(observation, space), task.actions)
        values = {
            "system": self._options.system or prompt.GAME_SYSTEM,
            "task": task.name,
            "player": task.player,
            "rules": task.instructions,
            "observation": _without(form.choices, self._briefing.text or describe_value(observation)),
            "reward": f"{reward:g}",
        }
        move = await self._ask(self._template or prompt.GAME, values, form, timer)
        nil = form.first if spaces is None or spaces.nil is None else spaces.nil
        return nil if move is None else move

    async def _converse(self, byte: int, reward: float, timer: ElapsedTimer) -> int:
        """Return the next byte of what the model says, or silence."""
        if reward:
            self._to_say.clear()
        self._listener.hear(byte, reward)
        if not self._to_say and self._listener.is_due():
            values = {
                "system": self._options.system or prompt.SPEECH_SYSTEM,
                "observation": self._listener.take(),
            }
            said = await self._ask(self._template or prompt.SPEECH, values, forms.speech_form(), timer)
            self._to_say.extend((said or "").encode("latin-1"))
        return self._to_say.popleft() if self._to_say else self._silence

    async def _ask(
        self,
        template: prompt.PromptTemplate,
        values: Mapping[str, str],
        form: forms.AnswerForm,
        timer: ElapsedTimer,
    ) -> Any:
        """Return the action in the model's answer; `None` where no valid one comes in time.

        Args:
            values: those of the template's fields that say what is played; others are empty.

        Raises:
            EndpointError: the endpoint failed, and the match is to end then; or the prompt is not recorded.
        """
        late = "" if timer.late is None else "Your last answer came too late, or was illegal."
        filled = {**dict.fromkeys(prompt.FIELDS, ""), **values, "lateness": late}
        filled |= {"actions": form.choices, "form": form.example}
        system, remembered = prompt.fill(template.system, filled), prompt.fill(template.question, filled)
        digest = digest_of(self._dialogue.messages(system, remembered))
        if self._briefing.noted is not None and self._recorded is None:
            return self._play_again(self._briefing.noted, system, remembered, form)
        if 0 in (timer.tokens_left, timer.cost_left):  # nothing is left to be asked for
            return None
        if self._recorded is not None:
            return await self._repeat(self._recorded, digest, remembered, form)
        left_ns = timer.remaining_ns
        filled |= {"time": f"{left_ns / S:.3g} s" if left_ns < NEVER_NS else "", "budget": _budget(timer)}
        asked = AskedTurn(prompt.fill(template.question, filled), digest, is_virtual=self._is_virtual)
        if system != self._noted_system:
            asked.system = self._noted_system = system
        await self._ask_in_time(asked, system, form, left_ns)
        if asked.is_answered:
            self._dialogue.add(remembered, asked.completion.text)
        return asked.action

    async def _repeat(
        self, recorded: RecordedAnswers, digest: str, remembered: str, form: forms.AnswerForm
    ) -> Any:
        """Return the action that is recorded, and let its think time pass."""
        note, answer, action = recorded.take(digest, form)
        self._briefing.note({name: value for name, value in note.items() if name not in usage.NAMES})
        if answer:
            self._dialogue.add(remembered, answer)
        if AskedTurn.from_note(note).is_heard:
            await self._think(usage.Usage.of(note))
        return action

    async def _think(self, used: usage.Usage) -> None:
        await self._briefing.think(**attrs.asdict(used))

    def _play_again(self, note: Any, system: str, remembered: str, form: forms.AnswerForm) -> Any:
        """Return the action that a note has, and remember the turn as when it was played."""
        if not isinstance(note, dict) or "digest" not in note:  # the turn was late, or its note too long
            return None
        self._noted_system = system
        asked = AskedTurn.from_note(note)
        with suppress(forms.InvalidAnswer):  # then NIL is not what is recorded, and the match does not go on
            answer, asked.action = answer_in(note, form)
            if answer:
                self._dialogue.add(remembered, answer)
        self._record.add(asked)
        return asked.action

    async def _ask_in_time(self, asked: AskedTurn, system: str, form: forms.AnswerForm, left_ns: int) -> None:
        """Ask the model until it has answered or the time is up, and note what came of it."""
        assert self._client is not None
        assert self._endpoint is not None
        self._client.begin_turn()
        budget_ns = MAX_WAIT_NS if left_ns >= NEVER_NS else left_ns
        budget_ns -= min(budget_ns // MARGIN_SHARE, MAX_MARGIN_NS)
        until = trio.current_time() + max(0, budget_ns) / S
        await self._ask_until_answered(asked, system, form, left_ns, until)
        self._briefing.note(asked.note(self._endpoint.model, self._client.requests, self._client.seconds))
        self._record.add(asked)
        if asked.usage is not None:
            await self._think(asked.usage)

    async def _ask_until_answered(
        self, asked: AskedTurn, system: str, form: forms.AnswerForm, left_ns: int, until: float
    ) -> None:
        """Ask the model until an answer is valid, or there is no time to ask again.

        Args:
            left_ns: what is left of the turn; by a rate its answers may take that time.
            until: when the turn is over on the wall clock, in the loop's seconds.
        """
        hint = ""
        for _ in range(MAX_ANSWERS):
            messages = self._dialogue.messages(system, asked.question + hint)
            seconds = MAX_AWAY_SECONDS if self._is_virtual else until - trio.current_time()
            if hint and seconds <= 0:
                return
            found = await self._complete(asked, messages, form, seconds)
            if found is None:
                return
            used = asked.take(found, self._options)
            rate = self._briefing.rate
            if isinstance(rate, Tokens) and found.usage.time_ns(rate) is None:
                asked.usage = usage.NOTHING  # nobody knows how long the turn takes
                return
            try:
                asked.succeed(form.read(found.text))
            except forms.InvalidAnswer as wrong:
                hint = f"\nYour last answer could not be played: {wrong}"
                asked.reject(str(wrong))
            else:
                return
            if isinstance(rate, Tokens) and (used.time_ns(rate) or 0) >= left_ns:
                return

    async def _complete(
        self, asked: AskedTurn, messages: list[dict[str, str]], form: forms.AnswerForm, seconds: float
    ) -> endpoint.Completion | None:
        """Return an answer of the model, or `None`; an endpoint that fails is asked again.

        Args:
            seconds: real time to wait for it.
        """
        client = self._client
        assert client is not None
        pause = FIRST_PAUSE_SECONDS
        with self._briefing.real_time(max(0, seconds)):
            while True:
                try:
                    return self._counted(await client.ask(messages, form), messages)
                except endpoint.Failure as failure:
                    self._fail(asked, failure)
                    if failure.permanent:
                        return None
                    wait = max(pause, failure.seconds)
                await real_sleep(wait)
                pause = min(2 * pause, MAX_PAUSE_SECONDS)
        if client.in_flight:
            self._fail(asked, endpoint.Failure("timed_out", self._timed_out))
        return None

    def _fail(self, asked: AskedTurn, failure: endpoint.Failure) -> None:
        """Count a failure of the endpoint; on the virtual clock it is in the log alone, if there is one."""
        asked.fail(failure)
        structlog = sys.modules.get("structlog")
        if self._is_virtual and structlog is not None and structlog.is_configured():
            log = structlog.get_logger()
            log.warning("endpoint failed", seat=self._briefing.seat, kind=failure.kind, problem=failure.what)

    def _counted(self, found: endpoint.Completion, messages: list[dict[str, str]]) -> endpoint.Completion:
        """Return an answer with the tokens that the endpoint does not report, if there is a tokenizer."""
        count, used = self._count, found.usage
        if count is None or None not in (used.prompt_tokens, used.answer_tokens):
            return found
        prompted, answered = used.prompt_tokens, used.answer_tokens
        if prompted is None:
            prompted = sum(count(message["content"]) for message in messages)
        if answered is None:
            answered = count(found.reasoning) + count(found.text)
        return attrs.evolve(found, usage=attrs.evolve(used, prompt_tokens=prompted, answer_tokens=answered))


def _legal(observation: Any, space: Mapping[str, Any]) -> list[int] | None:
    """Return the numbers that the `action_mask` of an observation allows; `None` without one."""
    if not isinstance(observation, dict) or "action_mask" not in observation:
        return None
    start = space.get("start", 0)
    numbers = range(start, start + space.get("n", 0))
    return [number for number, may in zip(numbers, observation["action_mask"], strict=False) if may]


def _without(choices: str, shown: str) -> str:
    """Return an observation without its line of allowed actions, if the prompt has the same ones anyway."""
    same = f"{ALLOWED}{choices}"
    return "\n".join(line for line in shown.split("\n") if line.replace("; ", ", ") != same)


def _budget(timer: ElapsedTimer) -> str:
    """Return what is left of the budgets of a match, in words; empty where there are none."""
    left = [] if timer.tokens_left is None else [f"{timer.tokens_left} tokens"]
    left += [] if timer.cost_left is None else [f"{timer.cost_left:.9g} US dollars"]
    return " and ".join(left)
