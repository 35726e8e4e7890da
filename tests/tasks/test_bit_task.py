"""The bit wire, scrambling, and the cap on rewards."""

from __future__ import annotations

import re
import string
from itertools import pairwise, product
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagfall.errors import UsageError
from flagfall.kernel.channels.codecs import SILENCE, bits_to_text, text_to_bits
from flagfall.kernel.outcomes import StepResult
from flagfall.kernel.roles import is_task
from flagfall.kernel.script import run_plain
from flagfall.tasks.commai.byte_task import ByteTask
from flagfall.tasks.commai.catalog import COMMAI_CATALOG
from flagfall.tasks.commai.conversation import Conversation, ConversationTask, TextChannel
from flagfall.tasks.commai.words import Scrambler
from flagfall.tasks.commai.wrapped_task import BitTask, RewardCap, WrappedTask
from flagfall.tasks.schedulers import SequentialTaskScheduler

if TYPE_CHECKING:
    from flagfall.tasks.commai.byte_task import Script


class Spelling(ByteTask):
    """Says a text, notes what is heard, and pays 1 for every `x`."""

    id = "spelling"

    def __init__(self, text: bytes, result: bool = True) -> None:
        self.text = text
        self.heard = bytearray()
        self.verdict = result

    def script(self, _rng: Random) -> Script:
        for byte in self.text:
            self.heard.append((yield byte))
            self.pay(int(self.heard[-1] == ord("x")))
        return self.verdict


def conversation(script_text: str = "say apple.", max_time: float = 1000) -> ConversationTask:
    def script(talk: Conversation, _: Random) -> Script:
        talk.say(script_text)
        found = yield from talk.hear(r"apple\.$")
        talk.say("good." if found else "late.")
        return found is not None

    return ConversationTask("conversation", script, max_time=max_time)


def in_bits(task: BitTask, says: str, seed: int = 0, steps: int = 10_000) -> tuple[str, list[int | None]]:
    """Bits of the teacher up to the end of the instance, and the places of the rewards."""
    said = str(task.reset(seed))
    rewards: list[int | None] = []
    for place in range(steps):
        result = task.step(int(says[place])) if place < len(says) else task.step(None)
        if result.reward:
            rewards.append(len(said))
        if result.terminated:
            break
        said += str(result.observation)
    return said, rewards


# --- the standard serializer -------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "bits"), [("a", "01100001"), ("é", "1100001110101001"), (" ", "00100000")])
def test_text_is_utf_8_with_the_most_significant_bit_first(text: str, bits: str) -> None:
    said, _ = in_bits(BitTask(Spelling(text.encode())), "")
    assert said == bits == text_to_bits(text)


def test_a_byte_is_heard_when_its_eighth_bit_is() -> None:
    inside = Spelling(b"abc")
    task = BitTask(inside)
    said, rewards = in_bits(task, text_to_bits("xyx"))
    assert bits_to_text(said) == "abc"
    assert inside.heard == b"xyx"
    assert rewards == [8, 24]
    assert task.num_steps_taken() == 24
    assert task.metrics() == {"ep_length": 24, "reward": 2}


def test_the_wrapper_is_a_task() -> None:
    task = BitTask(Spelling(b"abc", result=False))
    assert is_task(task)
    assert task.id == "spelling"
    assert task.action_space == task.observation_space
    assert [task.is_legal(bit) for bit in (0, 1, 2, -1, True, None, "1", 1.0)] == [True, True] + [False] * 6
    task.reset(0)
    assert not task.is_done()
    in_bits(task, "")
    assert task.is_done()
    assert task.result() is False
    task.close()


def test_an_absent_learner_is_silent() -> None:
    inside = Spelling(b"abc")
    assert BitTask(inside).nil_action is None
    in_bits(BitTask(inside), "0")
    assert inside.heard == b"   "


def test_time_limits_of_conversations_are_in_bits() -> None:
    said, _ = in_bits(BitTask(conversation(max_time=200)), "")
    assert bits_to_text(said) == "say apple." + " " * 15 + "late. "


def test_the_reward_comes_with_the_first_bit_of_the_next_task() -> None:
    task = BitTask(conversation())
    steps: list[tuple[int, float]] = []
    replies = iter(text_to_bits("   apple."))

    def act(observation: int, reward: float) -> int:
        steps.append((observation, reward))
        return int(next(replies, "0"))

    run_plain(SequentialTaskScheduler([task]), act, steps=16 * 8)
    assert bits_to_text("".join(str(bit) for bit, _ in steps)) == "say applegood. s"
    assert {place: reward for place, (_, reward) in enumerate(steps) if reward} == {15 * 8: 1}


def test_the_byte_under_way_is_said_to_its_end() -> None:
    """Whenever the answer comes: what it replaces ends with a whole byte."""
    for early in range(6):
        task = BitTask(conversation("nothing but apples"))
        said, _ = in_bits(task, text_to_bits(" " * early + "apple."))
        assert bits_to_text(said, strict=True) == f"{'nothing but apples'[: early + 6]}good. "


def test_a_letter_of_two_bytes_goes_both_ways() -> None:
    task = BitTask(COMMAI_CATALOG["commai.sample.unicode"]())
    said, rewards = in_bits(task, text_to_bits(" " * 50 + "א"))
    opening = "a in Hebrew is א. How do you say a in Hebrew?"
    assert bits_to_text(said, strict=True) == f"{opening}      Correct! "
    assert len(rewards) == 1
    assert task.result() is True


# --- scrambling --------------------------------------------------------------------------------------------

WORDS = st.text(string.ascii_letters + string.digits + "_" + " .,:;'\"?!-()", max_size=60)


@given(st.lists(WORDS, max_size=5), st.integers(0, 100))
def test_what_is_scrambled_can_be_unscrambled(texts: list[str], seed: int) -> None:
    scrambler = Scrambler(Random(seed))
    scrambled = [scrambler.scramble(text) for text in texts]
    assert [scrambler.scramble(text) for text in texts] == scrambled
    assert [scrambler.unscramble(text) for text in scrambled] == texts


@given(WORDS, st.integers(0, 100))
def test_lengths_capitals_and_all_but_words_stay(text: str, seed: int) -> None:
    def shape(of: str) -> str:
        return re.sub("[0-9]", "0", re.sub("[A-Z]", "A", re.sub("[a-z]", "a", of)))

    assert shape(Scrambler(Random(seed)).scramble(text)) == shape(text)


def test_words_are_their_own_translations_translation() -> None:
    scrambler = Scrambler(Random(0))
    for word in ("say", "apple", "turn", "hello", "left"):
        other = scrambler.scramble(word)
        assert other != word
        assert scrambler.scramble(other) == scrambler.unscramble(other) == word
        assert scrambler.unscramble(word) == other


def test_unknown_words_of_the_learner_stay_unknown() -> None:
    scrambler = Scrambler(Random(0))
    assert scrambler.unscramble("Hello world!") == "Hello world!"
    assert scrambler.unscramble("hello") == "hello"


def test_pseudo_words_can_be_pronounced() -> None:
    scrambler = Scrambler(Random(0))
    for word in ("challenge", "hello", "it"):
        vowels = [letter in "aeiouy" for letter in scrambler.scramble(word)]
        assert all(one is not other for one, other in pairwise(vowels))


def test_all_the_words_of_one_letter() -> None:
    scrambler = Scrambler(Random(0))
    words = [*string.ascii_lowercase, *string.ascii_uppercase, *string.digits, "_"]
    scrambled = [scrambler.scramble(word) for word in words]
    assert sorted(scrambled) == sorted(words)
    assert [scrambler.unscramble(word) for word in scrambled] == words


def test_digits_stand_for_digits_and_letters_for_letters() -> None:
    scrambled = Scrambler(Random(0)).scramble("a1_b2 2024 __ é")
    assert re.fullmatch(r"[a-z]\d_[a-z]\d \d{4} __ é", scrambled)


def test_where_words_of_one_length_run_out_they_grow() -> None:
    """Of two letters there are 240 pseudo-words and 676 words; a longer one has the capital of the first."""
    scrambler = Scrambler(Random(0))
    words = ["".join(pair) for pair in product(string.ascii_lowercase, repeat=2)]
    scrambled = [scrambler.scramble(word) for word in words]
    assert len(set(scrambled)) == len(words)
    assert [scrambler.unscramble(word) for word in scrambled] == words
    grown = [word for word in words if len(scrambler.scramble(word)) > 2]
    assert grown
    for word in grown:
        assert scrambler.scramble(word.capitalize()) == scrambler.scramble(word).capitalize()
        assert scrambler.scramble(word) == scrambler.scramble(word[0] + word[1].upper())


@pytest.mark.parametrize("punctuation", list("!-(),.:;'\"? "))
def test_punctuation_is_never_a_word(punctuation: str) -> None:
    assert Scrambler(Random(0)).scramble(punctuation) == punctuation


def test_a_scrambled_task_is_solved_in_its_own_language() -> None:
    scrambler = Scrambler(Random(3))
    task = BitTask(conversation(), scrambler)
    heard = bits_to_text(in_bits(task, "", steps=79)[0])
    assert heard is not None
    say, apple = heard[:-1].split()
    assert (scrambler.unscramble(say), scrambler.unscramble(apple)) == ("say", "apple")
    said, rewards = in_bits(task, text_to_bits(f"{' ' * 10}{apple}."))
    assert bits_to_text(said) == heard + " " * 6 + scrambler.scramble("good.") + " "
    assert len(rewards) == 1
    in_bits(task, text_to_bits(" " * 10 + "apple."), steps=400)
    assert task.result() is None


def test_a_word_is_heard_with_what_follows_it() -> None:
    """Specification 7.2: `say ` first, then `say apple.`; a word at the end is not heard."""
    heard = []

    def script(talk: Conversation, _: Random) -> Script:
        while (yield from talk.listen()):
            heard.append(talk.heard)
        return None

    task = ConversationTask("listening", script, max_time=100)
    task.channel = TextChannel(scrambler=Scrambler(Random(0)))
    task.reset(0)
    for byte in b"say apple. end":
        task.step(byte)
    assert heard == ["say ", "say apple.", "say apple. "]


def test_only_conversations_can_be_scrambled() -> None:
    with pytest.raises(UsageError, match="spelling cannot be scrambled"):
        BitTask(Spelling(b"a"), Scrambler(Random(0)))


# --- the cap on rewards ------------------------------------------------------------------------------------


def test_a_task_pays_in_full_until_its_cap_is_reached() -> None:
    cap = RewardCap(2)
    task = cap(Spelling(b"abcde"))
    task.reset(0)
    assert [task.step(byte).reward for byte in b"xxxxx"] == [1, 1, 0, 0, 0]
    assert cap.paid == {"spelling": 2}
    assert task.metrics() == {"ep_length": 5, "reward": 2}
    task.reset(1)
    assert task.step(ord("x")) == StepResult(ord("b"), 0)


def test_the_last_reward_may_exceed_the_cap() -> None:
    cap = RewardCap(2)
    assert [cap.allow("a", reward) for reward in (1, 5, 1)] == [1, 5, 0]
    assert cap.paid == {"a": 6}


def test_punishments_make_room() -> None:
    cap = RewardCap(2)
    assert [cap.allow("a", reward) for reward in (1, -1, 1, 1, -1, 1)] == [1, -1, 1, 1, 0, 0]


def test_the_last_reward_counts_for_the_task_that_earned_it() -> None:
    cap = RewardCap(1)
    first, second = Spelling(b"a"), Spelling(b"bc")
    first.id = "first"
    rewards: list[float] = []

    def act(_observation: int, reward: float) -> int:
        rewards.append(reward)
        return ord("x")

    run_plain(SequentialTaskScheduler([cap(first), cap(second)]), act, steps=7)
    assert rewards == [0, 1, 1, 0, 0, 0, 0]
    assert cap.paid == {"first": 1, "spelling": 1}


def test_a_wrapper_changes_nothing_by_itself() -> None:
    inside = Spelling(b"ab")
    inside.max_steps = 10
    task = WrappedTask(inside)
    assert is_task(task)
    assert (task.max_steps, task.nil_action, task.world) == (10, SILENCE, None)
    assert task.action_space is inside.action_space
    assert task.observation_space is inside.observation_space
    assert task.reset(0) == ord("a")
    assert task.step(ord("x")) == StepResult(ord("b"), 1)


def test_a_cap_goes_around_the_bit_wire_too() -> None:
    cap = RewardCap(1)
    task = cap(BitTask(Spelling(b"ab")))
    task.reset(0)
    rewards = [task.step(int(bit)).reward for bit in text_to_bits("xx")]
    assert [place for place, reward in enumerate(rewards) if reward] == [7]
    assert task.nil_action is None
    assert task.is_legal(1)
    assert not task.is_legal(SILENCE)


def test_a_bit_may_be_numpys() -> None:
    task = BitTask(Spelling(b"abc"))
    task.reset(0)
    assert [task.is_legal(np.int64(bit)) for bit in (0, 1, 2, -1)] == [True, True, False, False]
    assert not task.is_legal(np.bool_(True))
    inside = Spelling(b"abc")
    in_numpy = BitTask(inside)
    in_numpy.reset(0)
    for bit in text_to_bits("xyx"):
        in_numpy.step(np.int8(bit))
    assert inside.heard == b"xyx"
