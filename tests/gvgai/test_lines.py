"""The protocol's lines, cut anyhow, and the verdict on every way to break them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagfall.gvgai.protocol import (
    END_WORDS,
    MAX_DROPPED,
    MAX_REPLY_BYTES,
    ClientProtocol,
    Message,
    Overspent,
    ServerProtocol,
    action_word,
    choice_word,
    read_action,
    read_choice,
)
from flagfall.kernel.channels.framing import LineError, LineReader
from flagfall.tasks.vgdl.learning_track import END_OF_ROUND


def asked(times: int = 3) -> ServerProtocol:
    """A server that waits for the answer to message 2."""
    protocol = ServerProtocol()
    for _ in range(times):
        protocol.ask("x")
    return protocol


def answer(*lines: bytes) -> tuple[str | None, ServerProtocol]:
    protocol = asked()
    protocol.feed(b"".join(lines))
    return protocol.next_answer(), protocol


def test_messages_are_numbered_from_zero():
    protocol = ServerProtocol()
    assert protocol.ask("START") == b"0#START\n"
    assert protocol.ask('{"phase":"INIT"}') == b'1#{"phase":"INIT"}\n'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"2#ACTION_LEFT\n", "ACTION_LEFT"),
        (b"2#ACTION_LEFT\r\n", "ACTION_LEFT"),
        (b"2#ACTION_LEFT#JSON\n", "ACTION_LEFT"),
        (b" 2 # ACTION_LEFT #JSON\n", "ACTION_LEFT"),
        (b"+2#A\n", "A"),
        (b"2#A#JSON#more#fields\n", "A"),
        (b"2##JSON\n", ""),
        (b"2# \n", ""),
        (b"2#\xff\n", "\ufffd"),
    ],
)
def test_answers_that_count(line, said):
    assert answer(line)[0] == said


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"\n", "malformed"),
        (b"\r\n", "malformed"),
        (b"2\n", "malformed"),
        (b"2#\n", "malformed"),  # an empty last field is no field, as Java splits
        (b"ACTION_LEFT\n", "malformed"),
        (b"two#ACTION_LEFT\n", "malformed"),
        (b"2.0#ACTION_LEFT\n", "malformed"),
        (b"#ACTION_LEFT\n", "malformed"),
        (b"2" * 30 + b"#ACTION_LEFT\n", "malformed"),
        (b"1#ACTION_LEFT\n", "stale"),
        (b"0#null\n", "stale"),  # the Java client says this after START
        (b"-7#ACTION_LEFT\n", "stale"),
        (b"3#ACTION_LEFT\n", "future"),
        (b"999#ACTION_LEFT\n", "future"),
    ],
)
def test_lines_that_are_dropped_leave_the_answer_alone(line, why):
    said, protocol = answer(line)
    assert said is None
    assert protocol.dropped == {why: 1}
    protocol.feed(b"2#ACTION_USE\n")
    assert protocol.next_answer() == "ACTION_USE"


def test_answer_may_be_there_before_its_message():
    protocol = asked()
    protocol.feed(b"2#A\n3#B\n")
    assert protocol.next_answer() == "A"
    protocol.ask("x")
    assert protocol.next_answer() == "B"


def test_second_answer_to_one_message_is_stale():
    protocol = asked()
    protocol.feed(b"2#A\n2#B\n")
    assert protocol.next_answer() == "A"
    protocol.ask("x")
    assert protocol.next_answer() is None
    assert protocol.dropped == {"stale": 1}


@pytest.mark.parametrize(
    ("lines", "wants"),
    [
        ([b"2#A#IMAGE\n"], "IMAGE"),
        ([b"2#A#BOTH \n"], "BOTH"),
        ([b"2#A#image\n"], "JSON"),
        ([b"2#A#PNG\n"], "JSON"),
        ([b"1#A#IMAGE\n", b"2#A\n"], "IMAGE"),
        ([b"9#A#IMAGE\n", b"2#A\n"], "IMAGE"),
        ([b"x#A#IMAGE\n", b"2#A\n"], "JSON"),
        ([b"2#A#IMAGE\n", b"2#A#JSON\n"], "IMAGE"),  # not read yet
    ],
)
def test_wanted_observation_is_taken_from_every_readable_line(lines, wants):
    said, protocol = answer(*lines)
    assert said == "A"
    assert protocol.wants == wants


def test_line_may_be_as_long_as_allowed():
    assert answer(b"2#" + b"A" * (MAX_REPLY_BYTES - 2) + b"\r\n")[0] is not None


@pytest.mark.parametrize("end", [b"\n", b""])
def test_longer_line_is_refused_ended_or_not(end):
    with pytest.raises(LineError, match="4096 is the limit"):
        answer(b"2#" + b"A" * (MAX_REPLY_BYTES + 8) + end)


def test_flood_of_lines_that_answer_nothing_is_refused():
    assert answer(b"1#A\n" * MAX_DROPPED, b"2#A\n")[0] == "A"
    with pytest.raises(LineError, match="answer nothing"):
        answer(b"1#A\n" * (MAX_DROPPED + 1), b"2#A\n")


def test_half_a_line_is_no_answer():
    said, protocol = answer(b"2#ACTION_LEFT")
    assert said is None
    assert protocol.half_line


LINES = st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b"")), max_size=8)


@given(LINES, st.lists(st.integers(1, 40), max_size=20))
def test_lines_come_out_the_same_however_they_are_cut(lines, cuts):
    data = b"".join(line + b"\n" for line in lines)
    reader, found = LineReader(30), []
    while data:
        size = cuts.pop() if cuts else len(data)
        reader.feed(data[:size])
        data = data[size:]
        while (line := reader.next_line()) is not None:
            found.append(line)
    assert found == [line.removesuffix(b"\r") for line in lines]


@given(st.binary(max_size=200))
def test_no_input_breaks_the_server(data):
    said, protocol = answer(data)
    assert said is None or isinstance(said, str)
    assert protocol.dropped.total() + (said is not None) <= data.count(b"\n")


# What words mean.


@pytest.mark.parametrize("name", ["LEFT", "RIGHT", "UP", "DOWN", "USE", "NIL", "ESCAPE"])
def test_actions_count_in_any_case(name):
    assert read_action(action_word(name)) == read_action(action_word(name).lower()) == name


@pytest.mark.parametrize(
    ("word", "means"),
    [
        ("ABORT", "ESCAPE"),
        ("END_OVERSPENT", "ESCAPE"),
        ("abort", "abort"),
        ("", ""),
        ("LEFT", "LEFT"),
        ("x" * 99, "x" * 40),
    ],
)
def test_other_answers_to_act(word, means):
    assert read_action(word) == means


@pytest.mark.parametrize(
    ("word", "means"),
    [
        *[(str(level), level) for level in range(4)],
        *[(word, END_OF_ROUND) for word in sorted(END_WORDS)],
        ("4", "4"),
        ("-1", "-1"),
        ("12", "12"),
        ("", ""),
        ("end_training", "end_training"),
    ],
)
def test_answers_to_the_end_of_a_level(word, means):
    assert read_choice(word) == means


@pytest.mark.parametrize("word", ["END_OVERSPENT", "end_overspent"])
def test_client_that_says_it_took_too_long_over_a_result_is_out(word):
    with pytest.raises(Overspent):
        read_choice(word)


@pytest.mark.parametrize(
    ("said", "word"), [(2, "2"), ("END_TRAINING", "END_TRAINING"), (9, "-1"), ("0#1", "-1")]
)
def test_choices_of_ours_as_words(said, word):
    assert choice_word(said) == word


@pytest.mark.parametrize("said", ["JUMP", None, 3, "LEFT\n9#ACTION_UP", "LEFT#JSON"])
def test_what_is_no_action_of_ours_is_nil(said):
    assert action_word(said) == "ACTION_NIL"


# The client's end.


def test_client_reads_messages_and_numbers_replies():
    client_protocol = ClientProtocol()
    client_protocol.feed(b'0#START\r\n1#{"a":"b#c"}\n')
    assert client_protocol.next_message() == Message(0, b"START")
    assert client_protocol.next_message() == Message(1, b'{"a":"b#c"}')
    assert client_protocol.next_message() is None
    assert client_protocol.reply(1, "ACTION_LEFT", "BOTH") == b"1#ACTION_LEFT#BOTH\n"


@pytest.mark.parametrize("line", [b"hello\n", b"x#START\n", b"\n"])
def test_client_refuses_what_is_no_message(line):
    client_protocol = ClientProtocol()
    client_protocol.feed(line)
    with pytest.raises(LineError, match="not a message"):
        client_protocol.next_message()


@given(st.text(st.characters(codec="ascii", exclude_characters="#\r\n"), min_size=1).filter(str.strip))
def test_both_ends_understand_each_other(word):
    protocol, client_protocol = asked(), ClientProtocol()
    client_protocol.feed(protocol.ask("question"))
    message = client_protocol.next_message()
    assert message is not None
    protocol.feed(client_protocol.reply(message.number, word))
    assert protocol.next_answer() == word.strip()
