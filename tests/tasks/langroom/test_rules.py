"""What may be chosen, what is refused, and what a text means."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagfall.errors import UsageError
from flagfall.tasks.catalog import make_task
from flagfall.tasks.langroom.rules import (
    CORNERS,
    LONGEST_SCRIPT,
    MOVES,
    NEXT_PLACE,
    SIZE,
    START,
    TASKS,
    WORDS,
    LangRoomRules,
    Room,
    draw_colors,
    draw_script,
    place_of,
    word_at,
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "echoes"}, "task='echoes': LangRoom has no such task; nearest: echo"),
        ({"task": None}, "task=None: LangRoom has no such task"),
        ({"view": 0}, "view=0: view is a whole number from 1 to 8"),
        ({"view": 2.0}, "view=2.0: view is a whole number from 1 to 8"),
        ({"view": True}, "view=True: view is a whole number from 1 to 8"),
        ({"view": 9}, "view=9: view is a whole number from 1 to 8"),
        ({"length": 10**30}, "length is a whole number from 1 to 2147483647"),
        ({"length": 0}, "length=0: length is a whole number from 1 to 2147483647"),
        ({"vocab_size": 5}, "vocab_size=5: vocab_size is a whole number from 15 to 2147483647"),
        ({"vocab_size": 2**31}, "from 15 to 2147483647"),
        ({"resolution": 0}, "resolution=0: resolution is a whole number from 1 to"),
        ({"resolution": 4}, "the image has 5 cells in a row: take at least 5"),
        (
            {"resolution": 66},
            "resolution=66: 5 cells of 13 pixels (view=2) and the same border on both sides",
        ),
        ({"resolution": 66}, "take 65 or 67"),
        ({"resolution": 6}, "take 5 or 7"),
        ({"view": 3, "resolution": 64}, "take 63 or 65"),
        ({"veiw": 3}, "veiw=3: LangRoom has no such option; nearest: view"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(options, message):
    with pytest.raises(UsageError) as caught:
        LangRoomRules.choose(**options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@given(view=st.integers(1, 8), resolution=st.integers(1, 300))
def test_the_mend_of_a_resolution_helps(view, resolution):
    try:
        LangRoomRules(view=view, resolution=resolution)
    except UsageError as error:
        words = str(error).split()
        offered = [int(words[-1])] if "least" in words else [int(words[-3]), int(words[-1])]
        for better in offered:
            assert LangRoomRules(view=view, resolution=better).resolution == better
    else:
        assert resolution % (2 * view + 1) % 2 == 0


rules = st.builds(
    LangRoomRules,
    task=st.sampled_from(TASKS),
    view=st.sampled_from([1, 2, 7]),
    length=st.integers(1, 1000),
    resolution=st.just(45) | st.just(64 + 11),
    vocab_size=st.integers(15, 2**31 - 1),
)


@given(rules)
def test_a_text_says_all_of_it(rules):
    assert LangRoomRules.parse(str(rules)) == rules
    assert str(LangRoomRules.parse(str(rules))) == str(rules)


def test_texts():
    assert str(LangRoomRules()) == "langroom"
    assert str(LangRoomRules("echo", view=3, resolution=63)) == "langroom:echo:view=3:resolution=63"
    assert LangRoomRules.parse("langroom:answer-only") == LangRoomRules()
    assert type(LangRoomRules.choose(view=np.int64(3), resolution=63).view) is int
    assert LangRoomRules.parse("langroom:length=50") == LangRoomRules(length=50)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("langroom:eho", "nearest: echo"),
        ("langroom:view=x", "view='x': view is a whole number from 1 to 8"),
        ("langroom:view=-1", "view='-1': view is a whole number"),
        ("langroom:veiw=3", "veiw='3'|has no such option; nearest: view"),
        ("langroom:view=3:view=2", "view is given twice"),
        ("langroom:echo:echo", "task is given twice"),
        ("lanroom:echo", "unknown task 'lanroom:echo'; nearest: langroom:echo"),
        ("langroom:", "task='': LangRoom has no such task"),
    ],
)
def test_wrong_texts(text, message):
    with pytest.raises(UsageError, match=message):
        make_task(text)


def test_a_task_by_its_text_has_this_text_as_its_id():
    assert make_task("langroom:echo:view=3:resolution=63").id == "langroom:echo:view=3:resolution=63"
    assert make_task("langroom").id == "langroom"


def test_words():
    assert len(WORDS) == 15
    assert [word_at(number) for number in (0, 1, 14, 15, 99)] == ["", "red", "it", "<15>", "<99>"]


def test_walls_and_objects_block():
    reached = {place_of(*START)}
    while more := {NEXT_PLACE[place][move] for place in reached for move in range(5)} - reached:
        reached |= more
    inside = {place_of(x, y) for x in range(1, 8) for y in range(1, 8)}
    assert reached == inside - {place_of(x, y) for x, y in CORNERS}
    assert [NEXT_PLACE[place_of(4, 4)][move] - place_of(4, 4) for move in range(len(MOVES))] == [
        0,
        SIZE,
        -SIZE,
        1,
        -1,
    ]
    assert NEXT_PLACE[place_of(2, 1)][MOVES.index("left")] == place_of(2, 1)


@pytest.mark.parametrize(
    ("task", "word", "said", "reward"),
    [
        ("answer-only", "red", "", 0),
        ("answer-only", "what", "what", -0.01),
        ("answer-only", "", "red", -0.01),
        ("answer-only", "red", "red", 1),
        ("answer-only", "red", "blue", -0.1),
        ("answer-only", "red", "ball", -0.1),
        ("answer-and-echo", "red", "red", 10),
        ("answer-and-echo", "", "", 0.1),
        ("answer-and-echo", "it", "it", 0.1),
        ("answer-and-echo", "red", "blue", 0),
        ("echo", "red", "red", 1),
        ("echo", "", "", 1),
        ("echo", "?", "it", 0),
    ],
)
def test_rewards(task, word, said, reward):
    assert LangRoomRules(task).rewards()[WORDS.index(word)][WORDS.index(said)] == reward


def test_words_without_a_meaning_are_never_right():
    for task, reward in (("answer-only", -0.1), ("answer-and-echo", 0), ("echo", 0)):
        assert LangRoomRules(task).rewards()[1][len(WORDS)] == reward


@given(st.integers(0, 2**63 - 1))
def test_a_script_asks_for_a_colour_and_tells_it(seed):
    rng = np.random.default_rng(seed)
    colors = draw_colors(rng)
    script = [WORDS[word] for word in draw_script(rng, colors)]
    assert len(script) <= LONGEST_SCRIPT
    assert sorted(colors) == [0, 1, 2, 3]
    asked = script[script.index("the") + 1]
    told = WORDS[1 + colors[("ball", "rug", "table", "vase").index(asked)]]
    sentence = ["what", "color", "is", "the", asked, "?", *[""] * 10, "it", "is", told]
    before = script.index("what")
    assert script[before : before + len(sentence)] == sentence
    assert 5 <= before <= 9
    assert 5 <= len(script) - before - len(sentence) <= 9
    assert not any(script[:before] + script[before + len(sentence) :])


def test_a_room_refuses_what_is_no_action():
    room = Room(LangRoomRules(vocab_size=20, length=2), np.random.default_rng(0))
    with pytest.raises(UsageError, match="no episode is going on: reset begins one"):
        room.step(0, 0)
    room.begin()
    for move, talk in ((5, 0), (-1, 0), (0, 20), (0, -1)):
        with pytest.raises(UsageError, match="from 0 to 4, a word is one from 0 to 19"):
            room.step(move, talk)
    assert room.steps == 0
    room.step(0, 19)
    room.step(0, 0)
    with pytest.raises(UsageError, match="reset begins one"):
        room.step(0, 0)
