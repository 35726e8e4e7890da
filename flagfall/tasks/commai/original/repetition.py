"""Tasks of repeating, keeping silent, counting and guessing, and CommAI's samples."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from functools import partial
from itertools import permutations
from random import Random
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import Final, TypeAlias

from flagfall.tasks.commai.byte_task import Script
from flagfall.tasks.commai.conversation import Conversation, TaskSpec, WorldTaskSpec
from flagfall.tasks.commai.original.objects import OBJECTS
from flagfall.tasks.commai.words import NUMBERS, a, blame, listed, number, plural, praise
from flagfall.tasks.commai.world import GridWorld, Position

# Guessing tasks: a number that can be asked for, and strings that belong together.
#
# They give no hint after wrong answers, and judge nothing before the opening is sent.

_MOST_DIGITS: Final = 5
_PAIRS: Final = 5
_ASKING: Final = ("please tell me the {}.", "what's the {}?", "what is the {}?", "can you tell me the {}?")


def _open(talk: Conversation, text: str, *, blank: bool = False) -> Generator[int, int, None]:
    """Send the opening but for its last byte, the first one whose reply counts; `blank` drops the others."""
    talk.say(text)
    for _ in range(len(text) - 1):
        yield from talk.listen()
    if blank:
        talk.heard = " " * len(talk.heard)


def _draw_number(rng: Random) -> str:
    digits = rng.randint(1, _MOST_DIGITS)
    return str(rng.randrange(10 ** (digits - 1), 10**digits))


Replies: TypeAlias = Iterator[str]
"""The replies of the teacher to successive questions."""


def _whole(number: str) -> Replies:
    while True:
        yield f"{number}."


def _digit_by_digit(number: str) -> Replies:
    for digit in number:
        yield f"{digit}."
    while True:
        yield f"the number has only {len(number)} digits."


def _guess(by_digits: bool, model: bool, talk: Conversation, rng: Random) -> Script:
    number = _draw_number(rng)
    noun = "next digit" if by_digits else "number"
    questions = tuple(question.format(noun) for question in _ASKING)
    hint = f": {rng.choice(questions)}" if model else f" for the {noun}."
    opening = f"guess the {len(number)}-digit number I am thinking of; you can ask me{hint}"
    yield from _open(talk, opening, blank=True)
    replies = _digit_by_digit(number) if by_digits else _whole(number)
    revealed = 0
    while (yield from talk.listen()):
        if talk.heard.endswith(f"{number}."):
            talk.say(praise(rng))
            return True
        if talk.heard.endswith(questions):
            talk.say(next(replies))
            revealed += 1
    if not by_digits:
        talk.say(f"if you asked: {rng.choice(questions)}, I would have said: {number}.")
        return None
    if revealed < len(number):
        talk.say(f"if you asked: {rng.choice(questions)}, I would have said: {number[revealed]}. ")
    talk.say(f"the number is {number}.")
    return None


Draw: TypeAlias = Callable[[Random], str]


def _string(shortest: int, longest: int, rng: Random) -> str:
    return "".join(rng.choices(ascii_lowercase, k=rng.randint(shortest, longest)))


def _repeat_drawn(draw: Draw, talk: Conversation, rng: Random) -> Script:
    text = draw(rng)
    yield from _open(talk, f"{text}.")
    return (yield from talk.wait(lambda: talk.heard.endswith(f"{text}."))) or None


def prime_pairs(draw: Draw, owner: str, seed: int = 0) -> Mapping[str, str]:
    """Draw the target of each prime.

    Args:
        owner: name of the task; each has its own pairs.
        seed: the same seed gives the same pairs in every match.
    """
    rng = Random(f"{owner}/{seed}")
    primes: dict[str, str] = {}
    while len(primes) < _PAIRS:
        primes[draw(rng)] = draw(rng)
    return primes


def _target(pairs: Mapping[str, str], shown: str, ending: str, talk: Conversation, rng: Random) -> Script:
    prime, target = rng.choice(list(pairs.items()))
    yield from _open(talk, shown.format(prime=prime, target=target))
    # Text sent during the opening is not judged alone, but it is part of what was heard.
    return (yield from talk.wait(lambda: talk.heard.endswith(target + ending))) or None


_LENGTHS: Final[Mapping[str, Draw]] = {
    "character": partial(_string, 1, 1),
    "string_max_4": partial(_string, 1, 4),
    "string_min_5_max_10": partial(_string, 5, 10),
}


def _late(play: Callable[..., Script], *arguments: object, max_time: int) -> TaskSpec:
    return TaskSpec(partial(play, *arguments), max_time, forgets=False)


def _primes() -> Iterator[tuple[str, TaskSpec]]:
    for scope in ("global", "local"):
        for length, draw in _LENGTHS.items():
            owner = f"{scope} {length}"
            pairs = prime_pairs(draw, owner)
            yield f"{scope}_{length}_prime_target", _late(_target, pairs, "{prime}.", ".", max_time=500)
            if scope == "local":
                pairs = prime_pairs(draw, f"{owner} associated")
            alone = length == "character"
            shown, ending = ("{prime}{target}.", ".") if alone else ("{prime}#{target}.", "")
            yield f"{scope}_two_associated_{length}", _late(_target, pairs, shown, ending, max_time=500)


GUESSING: Final[Mapping[str, TaskSpec]] = {
    "guess_number_explicit": _late(_guess, False, True, max_time=3000),
    "guess_number": _late(_guess, False, False, max_time=3000),
    "guess_digits_explicit": _late(_guess, True, True, max_time=3500),
    "guess_digits": _late(_guess, True, False, max_time=3500),
    **{f"repeat_{length}": _late(_repeat_drawn, draw, max_time=500) for length, draw in _LENGTHS.items()},
    **dict(_primes()),
}
"""The guessing tasks, by name."""


_PHRASES: Final = ("apple", "banana", "cat", "hello world")
_PROMISES: Final = (
    "and you will get a reward",
    "and a reward is yours",
    "and you will pass this task",
    "and you will solve this problem",
)
_PAST: Final = {
    "sing": "sang",
    "smile": "smiled",
    "rest": "rested",
    "relax": "relaxed",
    "jump": "jumped",
    "dance": "danced",
}
_COUNTED: Final = OBJECTS[3:]
"""Objects that are counted: all whose names begin with a consonant."""


def _verb(rng: Random) -> str:
    return rng.choice(["say", "repeat"])


def _one_sentence(talk: Conversation, *right: str) -> Generator[int, int, bool]:
    """Return whether the first sentence of the learner ends with one of the right texts."""
    yield from talk.hear(r"\.$")
    return not talk.timed_out and talk.heard.endswith(tuple(f"{text}." for text in right))


def _keep_silent(talk: Conversation, rng: Random) -> Script:
    talk.max_time = rng.randint(100, 1000)
    talk.say(rng.choice(["be silent now.", "do not say anything."]))
    kept = not (yield from talk.hear("[^ ]"))
    talk.say(praise(rng) if kept else blame(rng))
    return kept


def _letter(rng: Random) -> tuple[str, str]:
    letter = rng.choice(ascii_letters)
    return f"{_verb(rng)} {letter}.", letter


def _phrase(rng: Random) -> tuple[str, str]:
    phrase = rng.choice(_PHRASES)
    return f"{_verb(rng)} {phrase}.", phrase


def _promised_phrase(rng: Random) -> tuple[str, str]:
    phrase = rng.choice(_PHRASES)
    return f"{_verb(rng)} {phrase} {rng.choice(_PROMISES)}.", phrase


def _repeat(draw: Callable[[Random], tuple[str, str]], talk: Conversation, rng: Random) -> Script:
    order, target = draw(rng)
    talk.say(order)
    right = yield from _one_sentence(talk, target)
    talk.say(praise(rng) if right else blame(rng))
    return right


def _repeat_often(how: str, comma: str, last: str, talk: Conversation, rng: Random) -> Script:
    phrase, times = rng.choice(_PHRASES), rng.choice([2, 3])
    target = last.join([comma.join([phrase] * (times - 1)), phrase])
    ending = how or f" {rng.choice(_PROMISES)}"
    talk.say(f"{_verb(rng)} {phrase} {number(times, rng)} times{ending.rstrip()}.")
    right = yield from _one_sentence(talk, target)
    talk.say(praise(rng) if right else f"{blame(rng)} correct answer is: {target}.")
    return right


def _exactly(talk: Conversation, accepted: Collection[str]) -> Generator[int, int, bool]:
    """Return whether the first sentence is one of the accepted ones, with only spaces before it."""
    yield from talk.hear(r"\.$")
    return not talk.timed_out and talk.heard.lstrip(" ")[:-1] in accepted


def _either(talk: Conversation, rng: Random) -> Script:
    phrases = rng.choice(_PHRASES), rng.choice(_PHRASES)
    talk.say(f"{_verb(rng)} {' or '.join(phrases)}.")
    right = yield from _exactly(talk, phrases)
    talk.say(praise(rng) if right else blame(rng))
    return right


def _both_or_not(talk: Conversation, rng: Random) -> Script:
    verb = _verb(rng)
    phrases = rng.choice(_PHRASES), rng.choice(_PHRASES)
    negations = [rng.choice(["", rng.choice(["do not", "don't"])]) for _ in phrases]
    # An absent negation leaves its space, as in the original: two spaces in the middle, or one in front.
    orders = [f"{negation} {verb} {phrase}" for negation, phrase in zip(negations, phrases, strict=True)]
    talk.say(f"{' and '.join(orders)}.")
    right = yield from _exactly(talk, _demanded(phrases, negations))
    talk.say(praise(rng) if right else blame(rng))
    return right


def _demanded(phrases: Sequence[str], negations: Sequence[str]) -> set[str]:
    """Return the accepted texts; with both negated it is the first phrase, though it should be silence."""
    first, second = phrases
    if not any(negations):
        wanted = {first, second}
        return {" and ".join(order) for order in permutations(wanted)}
    return {second if negations[0] and not negations[1] else first}


def _act(talk: Conversation, rng: Random) -> Script:
    verb = rng.choice(list(_PAST))
    talk.say(f"Say 'I {verb}' to {verb}.")
    right = yield from _one_sentence(talk, verb)
    talk.say(f"You {_PAST[verb]}." if right else blame(rng))
    return right


def _letters(alphabet: int, longest: int, talk: Conversation, rng: Random) -> Script:
    text = "".join(rng.choices(ascii_uppercase[:alphabet], k=rng.randint(1, longest)))
    talk.say(f"repeat: {text}.")
    right = yield from _one_sentence(talk, text)
    talk.say("correct." if right else f"wrong: {text}.")
    return right


def _count(talk: Conversation, rng: Random) -> Script:
    objects = rng.choices(_COUNTED, k=rng.randint(1, 10))
    asked = rng.choice(_COUNTED)
    answer = NUMBERS[objects.count(asked)]
    talk.say(f"I have {listed([a(name) for name in objects])}. How many {plural(asked)} do I have? ")
    right = yield from _one_sentence(talk, answer)
    talk.say(praise(rng) if right else f"Wrong. The right answer is: {answer}.")
    return right


def _often(how: str, comma: str, last: str) -> TaskSpec:
    return TaskSpec(partial(_repeat_often, how, comma, last), 10_000)


REPETITION: Final[Mapping[str, TaskSpec]] = {
    "be_silent": TaskSpec(_keep_silent, 1000, forgets=False),
    "repeat_character": TaskSpec(partial(_repeat, _letter), 1000),
    "repeat_what_i_say": TaskSpec(partial(_repeat, _phrase), 1000),
    "repeat_what_i_say_2": TaskSpec(partial(_repeat, _promised_phrase), 1000),
    "repeat_multiple_times": _often(" ", " ", " "),
    "repeat_multiple_times_2": _often("", " ", " "),
    "repeat_separated_by_comma": _often(" separated by comma (,)", ", ", ", "),
    "repeat_separated_by_and": _often(" separated by and", " and ", " and "),
    "repeat_separated_by_comma_and": _often(" separated by comma and and", ", ", " and "),
    "repeat_disjunction": TaskSpec(_either, 3000),
    "repeat_conjunction_negation": TaskSpec(_both_or_not, 3000),
    "verb": TaskSpec(_act, 896, forgets=False),
}
"""The repetition tasks. The time limit of `be_silent` is drawn each time, from 100 to 1000 steps."""

COUNTING: Final[Mapping[str, TaskSpec]] = {"simple_counting": TaskSpec(_count, 3000)}
"""The counting task; answers are words, never digits."""

LETTERS: Final[Mapping[str, TaskSpec]] = {
    "repeat_1v1l": TaskSpec(partial(_letters, 1, 1), 112),
    "repeat_3v1l": TaskSpec(partial(_letters, 3, 1), 112),
    "repeat_3v2l": TaskSpec(partial(_letters, 3, 2), 136),
}
"""Repetition of one or two capital letters out of the first one or three."""


# 27 characters: the last one is an error of the original, kept because learners have met it.
_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz{"
_RANGE: Final = 2


def _repeat_character(talk: Conversation, rng: Random) -> Script:
    character = rng.choice(_ALPHABET)
    talk.say(character)
    found = yield from talk.hear("[^ ]$")
    return found and found[0] == character


def _yes_or_no(talk: Conversation, rng: Random) -> Script:
    subject, quality = ("".join(rng.choices(_ALPHABET, k=5)) for _ in range(2))
    holds = rng.choice([True, False])
    talk.say(f"{subject} is {'' if holds else 'not '}{quality}. Is {subject} {quality}?")
    found = yield from talk.hear("yes|no")
    return found and (found[0] == "yes") is holds


def _be_silent(talk: Conversation, _: Random) -> Script:
    talk.say("Please, be quiet.")
    return (yield from talk.hear("1")) is None


def _repeat_phrase(talk: Conversation, _: Random) -> Script:
    talk.say("Say 'I am not Mr Robot'.")
    return (yield from talk.hear(r"I am not Mr Robot\.$")) is not None or None


def _conflicting_messages(talk: Conversation, _: Random) -> Script:
    """Refuse other replies while the first one is sent, which has a higher priority."""
    talk.say("Say my name")
    while found := (yield from talk.hear("(Say|my name|Heisenberg)$")):
        match found[1]:
            case "Say":
                talk.say("I'm Heisenberg, you don't give me orders.", priority=5)
            case "my name":
                talk.say("Are you repeating everything I say?")
            case _:
                talk.say("You're Goddamn right.")
                return True
    return None


def _hebrew(talk: Conversation, _: Random) -> Script:
    """Ask for a letter beyond ASCII, which takes two bytes."""
    letter = "\N{HEBREW LETTER ALEF}"
    talk.say(f"a in Hebrew is {letter}. How do you say a in Hebrew?")
    if (yield from talk.hear(letter.encode().decode("latin-1"))) is None:
        return None
    talk.say("Correct!")
    return True


def _do(command: str, done: Callable[[GridWorld], Callable[[], bool]]) -> WorldTaskSpec:
    def play(world: GridWorld, talk: Conversation, _: Random) -> Script:
        condition = done(world)
        talk.say(f"Say '{command}'.")
        return (yield from talk.wait(condition)) or None

    return WorldTaskSpec(play, 1000, forgets=False)


def _moved(world: GridWorld) -> Callable[[], bool]:
    target = world.ahead
    return lambda: world.position == target


def _turned(side: str, world: GridWorld) -> Callable[[], bool]:
    target = world.beside(side)
    return lambda: world.direction == target


def _look_around(_world: GridWorld, talk: Conversation, _: Random) -> Script:
    talk.say("Look around.")
    return (yield from talk.hear("I look.")) is not None or None


def _pick_an_apple(world: GridWorld, talk: Conversation, rng: Random) -> Script:
    """Ask for an apple; what was placed is removed at the end."""
    apple, block = rng.sample(_cells_around(world.position), 2)
    world.place("apple", apple)
    world.place("block", block, pickable=False, traversable=False)
    try:
        wanted = world.learner_has["apple"] + 1
        talk.say("Pick up an apple.")
        picked = yield from talk.wait(lambda: world.learner_has["apple"] == wanted)
        if picked:
            talk.say("Enjoy!", instead=True)
        yield from talk.finish()
    finally:
        world.remove(apple)
        world.remove(block)
    return picked or None


def _cells_around(centre: Position) -> list[Position]:
    x, y = centre
    reach = range(-_RANGE, _RANGE + 1)
    return [(x + dx, y + dy) for dx in reach for dy in reach if dx or dy]


SAMPLES: Final[Mapping[str, TaskSpec]] = {
    "repeating_character": TaskSpec(_repeat_character, 100, forgets=False),
    "yes_no": TaskSpec(_yes_or_no, 1000, forgets=False),
    "be_silent": TaskSpec(_be_silent, 1000, forgets=False),
    "repeating_phrase": TaskSpec(_repeat_phrase, 1000, forgets=False),
    "conflicting_messages": TaskSpec(_conflicting_messages, 1000, forgets=False),
    "unicode": TaskSpec(_hebrew, 1000, forgets=False),
}
"""The sample tasks without a world."""

SAMPLES_IN_THE_WORLD: Final[Mapping[str, WorldTaskSpec]] = {
    "moving": _do("I move forward.", _moved),
    "turn_left": _do("I turn left.", partial(_turned, "left")),
    "turn_right": _do("I turn right.", partial(_turned, "right")),
    "look_around": WorldTaskSpec(_look_around, 1000, forgets=False),
    "pick_an_apple": WorldTaskSpec(_pick_an_apple, 10_000, forgets=False),
}
"""The sample tasks in the grid world."""
