"""Conversations against the tables of channels, priorities, results and time of the round 1 specification."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from flagfall.kernel.channels.codecs import SILENCE
from flagfall.kernel.roles import is_task
from flagfall.kernel.script import run_plain
from flagfall.tasks.commai.conversation import (
    BIT_CHANNEL,
    MAX_UNSAID_BYTES,
    Conversation,
    ConversationTask,
    TextChannel,
)
from flagfall.tasks.commai.world import WorldSwitch
from flagfall.tasks.schedulers import SequentialTaskScheduler

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from flagfall.kernel.outcomes import Outcome
    from flagfall.tasks.commai.byte_task import Script
    from flagfall.tasks.commai.conversation import DialogueScript


@attrs.define
class Stream:
    """What a learner met: the teacher's text, the steps with a reward, and the outcomes."""

    text: str = ""
    rewards: dict[int, float] = attrs.field(factory=dict)
    outcomes: list[Outcome] = attrs.field(factory=list)


def play(tasks: Iterable[ConversationTask], says: str, steps: int) -> Stream:
    """Plays the tasks in turn; the learner says one character in each step, and is silent in the end."""
    stream, replies = Stream(), chain(says.encode(), repeat(SILENCE))

    def act(observation: int, reward: float) -> int:
        if reward:
            stream.rewards[len(stream.text)] = reward
        stream.text += chr(observation)
        return next(replies)

    run_plain(SequentialTaskScheduler(tasks), act, steps=steps, report=stream.outcomes.append)
    return stream


def task(script: DialogueScript, max_time: float = 1000, **settings: Any) -> ConversationTask:
    return ConversationTask("test", script, max_time=max_time, **settings)


def waits(*texts: str) -> DialogueScript:
    """A task that says some texts at the start and then listens for ever."""

    def script(talk: Conversation, _: Random) -> Script:
        for text in texts:
            talk.say(text)
        while (yield from talk.listen()):
            pass
        return None

    return script


def answers(question: str, answer: str, praise: str = "", reward: bool = True) -> DialogueScript:
    """A task that ends, with a result, when the learner has said something."""

    def script(talk: Conversation, _: Random) -> Script:
        talk.say(question)
        yield from talk.hear(f"{answer}$")
        talk.say(praise)
        return reward

    return script


def talk_of(one: ConversationTask) -> Conversation:
    return one.conversation


class Parrot:
    """A world that repeats every word that ends with a dot, and counts them."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.starts = 0

    def start(self) -> None:
        self.starts += 1
        self.heard.clear()

    def hear(self, heard: str) -> str | None:
        self.heard.append(heard)
        return f"{heard.rsplit(maxsplit=1)[-1]}!" if heard.endswith(".") else None

    def render(self) -> str:
        return ""


# --- channels ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "heard"),
    [(1, 1, "helloLOW"), (5, 1, "hello   "), (1, 5, "helloLOW")],
)
def test_a_text_waits_behind_another_or_is_refused(first: int, second: int, heard: str) -> None:
    def script(talk: Conversation, _: Random) -> Script:
        assert talk.say("hello", first)
        assert talk.say("LOW", second) is (second >= first)
        while (yield from talk.listen()):
            pass
        return None

    assert play([task(script)], "", 8).text == heard


def test_priority_ends_with_the_text() -> None:
    def script(talk: Conversation, _: Random) -> Script:
        talk.say("hello", 5)
        yield from talk.hear("x")
        assert talk.say("LOW")
        while (yield from talk.listen()):
            pass
        return None

    assert play([task(script)], "     x", 9).text == "hello LOW"


def test_the_bit_wire_replaces_what_is_unsaid() -> None:
    def script(talk: Conversation, _: Random) -> Script:
        talk.say("hello")
        yield from talk.hear("x")
        talk.say("")
        assert talk.unsaid == "llo"
        talk.say("LOW")
        yield from talk.hear("never")
        return None

    one = task(script)
    one.channel = BIT_CHANNEL
    assert play([one], " x", 8).text == "heLOW   "


def test_a_task_says_nothing_but_silence_when_it_has_nothing_to_say() -> None:
    one = task(waits("hi"))
    assert play([one], "abcd", 5).text == "hi   "
    assert (talk_of(one).heard, talk_of(one).spoken) == ("abcd ", "hi    ")


def test_silent_is_who_has_nothing_but_spaces_to_say() -> None:
    one = task(waits("a  "))
    silent = []
    for step in range(4):
        _ = one.step(SILENCE) if step else one.reset(0)
        silent.append((talk_of(one).unsaid, talk_of(one).silent))
    assert silent == [("  ", True), (" ", True), ("", True), ("", True)]


def test_text_beyond_ascii_goes_as_utf_8() -> None:
    assert play([task(waits("é"))], "", 2).text.encode("latin-1") == "é".encode()


# --- listening ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("forgets", "heard"),
    [(False, "abcdef"), (True, "  cdef")],
)
def test_what_is_said_into_a_text_is_blank_where_the_task_forgets(forgets: bool, heard: str) -> None:
    one = task(waits("hey"), forgets=forgets)
    play([one], "abcdef", 6)
    assert talk_of(one).heard == heard[: len(talk_of(one).heard)]
    assert len(talk_of(one).heard) == 6


def test_the_spaces_at_the_end_of_a_text_are_silence() -> None:
    one = task(waits("hey  "), forgets=True)
    play([one], "abcdef", 6)
    assert talk_of(one).heard == "  cdef"


def test_even_what_will_be_forgotten_is_heard_once() -> None:
    one = task(answers("a long question", r"\.", "bravo."), forgets=True)
    stream = play([one], "x.", 40)
    assert stream.text.startswith("a long questionbravo. a long")
    assert stream.outcomes[0].steps == 22


def test_a_pattern_without_an_end_is_found_again_with_every_byte() -> None:
    found = []

    def script(talk: Conversation, _: Random) -> Script:
        talk.say("?")
        while (match := (yield from talk.hear("a(.*)"))) is not None:
            found.append(match[1])
        return None

    play([task(script)], "xabc", 4)
    assert found == ["", "b", "bc"]


# --- results and rewards -----------------------------------------------------------------------------------


def test_the_closing_text_is_said_to_its_end_before_the_reward_comes() -> None:
    """Text, one space, and the reward with the first byte of the next task; two bytes are dropped."""
    one, two = task(answers("q", "x", "yes")), task(waits("next"))
    stream = play([one, two], "xabcde", 8)
    assert stream.text == "qyes nex"
    assert stream.rewards == {5: 1}
    assert talk_of(one).heard == "xab"
    assert talk_of(two).heard == "e  "
    assert stream.outcomes[0].result is True


def test_an_end_without_a_word_is_paid_at_once() -> None:
    stream = play([task(answers("q", "x")), task(waits("next"))], "  x", 6)
    assert stream.text == "q  nex"
    assert stream.rewards == {3: 1}


@pytest.mark.parametrize(("result", "rewards"), [(True, {5: 1}), (False, {}), (None, {})])
def test_the_first_result_stands_and_is_the_reward(result: bool | None, rewards: dict[int, float]) -> None:
    def script(talk: Conversation, _: Random) -> Script:
        talk.say("q")
        yield from talk.hear("x")
        talk.say("end")
        return result

    stream = play([task(script), task(waits("next"))], "xxxx", 6)
    assert stream.text == "qend n"
    assert stream.rewards == rewards
    assert stream.outcomes[0].result is result


def test_a_result_stands_even_if_its_text_is_refused() -> None:
    def script(talk: Conversation, _: Random) -> Script:
        talk.say("loud", 5)
        yield from talk.listen()
        assert not talk.say("praise")
        return True

    stream = play([task(script), task(waits("next"))], "", 6)
    assert stream.text == "loud n"
    assert stream.rewards == {5: 1}


def test_rewards_come_with_the_next_byte_and_the_last_of_a_step_counts() -> None:
    def script(talk: Conversation, _: Random) -> Script:
        talk.say("abcdef")
        yield from talk.listen()
        talk.pay(5)
        talk.pay(-1)
        yield from talk.listen()
        yield from talk.listen()
        talk.pay(2)
        yield from talk.finish()
        return True

    stream = play([task(script), task(waits("next"))], "", 9)
    assert stream.text == "abcdef ne"
    assert stream.rewards == {1: -1, 3: 2, 7: 1}


def test_a_reward_and_a_wordless_end_in_one_step_add_up() -> None:
    def script(talk: Conversation, _: Random) -> Script:
        talk.say("a")
        yield from talk.listen()
        talk.pay(-3)
        return True

    stream = play([task(script)], "", 2)
    assert stream.rewards == {1: -2}
    assert stream.outcomes[0].reward == -2


def test_finishing_twice_says_nothing_more() -> None:
    def script(talk: Conversation, _: Random) -> Script:
        talk.say("bye")
        yield from talk.finish()
        yield from talk.finish()
        return None

    assert play([task(script)], "", 8).text == "bye bye "


# --- time --------------------------------------------------------------------------------------------------


def test_an_unanswered_instance_takes_exactly_its_time() -> None:
    one = task(waits("q"), max_time=7)
    stream = play([one], "", 15)
    assert stream.text == "q      q      q"
    assert [(outcome.steps, outcome.result) for outcome in stream.outcomes] == [(7, None), (7, None)]
    assert stream.outcomes[0].metrics["timed_out"] is True


def test_time_is_counted_in_bits_on_the_bit_wire() -> None:
    one = task(waits("q"), max_time=50)
    one.channel = BIT_CHANNEL
    assert play([one], "", 8).text == "q      q"


def test_a_text_delays_the_end_of_time() -> None:
    assert play([task(waits("a long text"), max_time=3)], "", 12).text == "a long texta"


def test_when_time_is_up_nothing_more_is_heard() -> None:
    one = task(waits("a long text"), max_time=3)
    play([one], "abcdefghij", 10)
    assert talk_of(one).heard == "ab"


def test_nobody_can_keep_a_teacher_talking() -> None:
    def script(talk: Conversation, _: Random) -> Script:
        talk.say("question?")
        while (yield from talk.hear(r"\.$")):
            talk.say("no, wrong. question?")
        return None

    stream = play([task(script, max_time=2000, forgets=True)], "." * 5000, 5000)
    assert 2900 < stream.outcomes[0].steps < 2000 + MAX_UNSAID_BYTES + 40


def test_what_is_said_at_the_end_of_time_is_dropped() -> None:
    def script(talk: Conversation, _: Random) -> Script:
        talk.say("q")
        found = yield from talk.hear("x")
        talk.say("late" if talk.timed_out else "good")
        return found is not None

    assert play([task(script, max_time=4)], "   x", 8).text == "q   late"
    assert play([task(script, max_time=4)], "  x", 7).text == "q  good"


def test_waiting_ends_with_the_condition_or_with_time() -> None:
    waited = []

    def script(talk: Conversation, _: Random) -> Script:
        talk.say("q")
        waited.append((yield from talk.wait(lambda: len(talk.heard) == 2)))
        waited.append((yield from talk.wait(lambda: False)))
        return None

    play([task(script, max_time=4)], "abcd", 4)
    assert waited == [True, False]


# --- worlds ------------------------------------------------------------------------------------------------


def test_a_world_answers_into_silence_only() -> None:
    world = Parrot()
    assert play([task(waits("q"), world=world)], "a.", 6).text == "q a.! "
    assert play([task(waits("teacher"), world=world)], "a.", 9).text == "teacher  "


def test_a_world_answers_while_only_a_world_is_speaking() -> None:
    assert play([task(waits("q"), world=Parrot())], "a.b.", 9).text == "q a.!a.b."


def test_a_world_hears_first_and_speaks_first() -> None:
    def script(talk: Conversation, _: Random) -> Script:
        talk.say("q")
        yield from talk.hear(r"\.")
        assert world.heard == ["a", "a."]
        talk.say("teacher")
        return True

    world = Parrot()
    assert play([task(script, world=world)], "a.", 12).text == "q a.!teacher"


def test_a_teacher_may_speak_instead() -> None:
    def script(talk: Conversation, _: Random) -> Script:
        talk.say("q")
        yield from talk.hear(r"\.")
        talk.say("teacher", instead=True)
        return True

    assert play([task(script, world=Parrot())], "a.", 10).text == "q teacher "


def test_a_world_may_have_the_last_word_and_listens_to_its_end() -> None:
    def script(talk: Conversation, _: Random) -> Script:
        talk.say("q")
        yield from talk.hear(r"\.")
        return True

    world = Parrot()
    assert play([task(script, world=world), task(waits("next"))], "ab.c.defghi", 9).text == "q  ab.! n"
    assert world.heard[-2:] == ["ab.c.", "ab.c.d"]
    stream = play([task(script, world=world), task(waits("next"))], "ab.cdefg", 10)
    assert stream.text == "q  ab.! ne"
    assert stream.rewards == {8: 1}
    assert world.heard[-1] == "ab.cde"


def test_worlds_last_from_task_to_task_until_one_is_played_elsewhere() -> None:
    world = Parrot()
    tasks = [task(waits(name), 3, world=place) for name, place in zip("abcd", [world, world, None, world])]  # noqa: B905
    switch = WorldSwitch(SequentialTaskScheduler(tasks))
    starts = []

    def act(_observation: int, _reward: float) -> int:
        starts.append(world.starts)
        return SILENCE

    run_plain(switch, act, steps=18)
    assert starts == [1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2]
    switch.reset()
    switch.set_seed(1)
    assert switch.next_task() is switch.last_sampled_task is tasks[0]
    assert world.starts == 3
    assert switch.all_observation_spaces_equal
    assert switch.length == float("inf")
    switch.close()


# --- the role ----------------------------------------------------------------------------------------------


def test_a_conversation_is_a_task_like_any_other() -> None:
    one = task(waits("hello"))
    assert is_task(one)
    assert one.metrics()["timed_out"] is False


def test_wires_are_values() -> None:
    assert TextChannel(8, overwrites=True) == BIT_CHANNEL


def test_a_new_instance_knows_nothing_of_the_last() -> None:
    one = task(waits("hello"))
    one.reset(0)
    for byte in b"abc":
        one.step(byte)
    one.reset(0)
    assert (talk_of(one).heard, talk_of(one).spoken, talk_of(one).time) == ("", "h", 0)
