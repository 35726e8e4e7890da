import json

import pytest

from flagfall import Journal, read_journal
from flagfall.errors import UsageError
from flagfall.events import SCHEMA, Event, TurnPlayed
from flagfall.recording.journal.reader import JournalError, JournalTruncated


@pytest.fixture
def small(lab, tmp_path):
    path = tmp_path / "j"
    lab.run(Journal(path), lab.Tasks(lab.Echo(12), lab.Echo(14), lab.Echo(9)))
    return path


def events_in(lab, lines):
    """The events that stand in some lines."""
    return [one for line in lines if b'"seal"' not in line for one in lab.alone(json.loads(line))]


def read(path):
    """What comes before the error, and the error."""
    seen: list[Event] = []
    try:
        seen.extend(read_journal(path))
    except JournalError as error:
        return seen, error
    return seen, None


def test_cut_anywhere_it_gives_what_is_whole_and_says_that_it_is_cut(lab, small):
    text = small.read_bytes()
    whole, error = read(small)
    assert error is None
    for length in range(1, len(text)):
        small.write_bytes(text[:length])
        seen, error = read(small)
        # Before the first line is whole, nobody can say what the file is.
        assert type(error) is (JournalTruncated if b"\n" in text[:length] else JournalError)
        assert seen == whole[: len(seen)]
        assert len(seen) == len(events_in(lab, text[:length].split(b"\n")[:-1]))


def test_changed_anywhere_it_gives_no_batch_that_was_changed(lab, small):
    text = small.read_bytes()
    whole, _ = read(small)
    for at in range(0, len(text), 7):
        small.write_bytes(text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :])
        seen, error = read(small)
        assert error is not None
        assert str(error).startswith(f"{small}: line {error.line}")
        assert seen == whole[: len(seen)]
        assert len(seen) <= len(events_in(lab, text[:at].split(b"\n")[:-1]))


def test_the_error_names_file_line_and_turn(lab, tmp_path):
    path = tmp_path / "j"
    lab.run(Journal(path), lab.Tasks(lab.Echo(300)))
    path.write_bytes(path.read_bytes().replace(b'"turn":256,', b'"turn":257,'))
    with pytest.raises(JournalError, match=r"line 6 \(after turn 255\): the seal in line 9 does") as caught:
        list(read_journal(path))
    assert isinstance(caught.value, UsageError)
    assert (caught.value.path, caught.value.line, caught.value.turn) == (path, 6, 255)


def test_something_after_the_end_is_an_error(small):
    small.write_bytes(small.read_bytes() + b"\n")
    with pytest.raises(JournalError, match="after the last seal"):
        list(read_journal(small))


def test_a_newer_schema_is_refused(lab, small):
    lines = lab.lines_of(small)
    lines[0]["schema"] = SCHEMA + 1
    small.write_bytes(lab.sealed(lines))
    with pytest.raises(JournalError, match=f"written by a newer flagfall: its schema is {SCHEMA + 1}"):
        list(read_journal(small))


def test_a_journal_with_a_line_for_each_turn_reads_alike(lab, small):
    before = list(read_journal(small))
    lines = lab.lines_of(small)
    lines[0]["schema"] = 1
    small.write_bytes(lab.sealed(lines))
    assert list(read_journal(small))[1:] == before[1:]


@pytest.mark.parametrize("column", ["at_ns", "observation", "reward", "action", "spent_ns"])
@pytest.mark.parametrize("length", [0, 11, 13])
def test_columns_of_different_lengths_are_an_error(lab, small, column, length):
    lines = [line + b"\n" for line in small.read_bytes().splitlines() if b'"seal"' not in line]
    turns = json.loads(lines[3])
    assert len(turns[column]) == 12
    lines[3] = json.dumps({**turns, column: (turns[column] * 2)[:length]}).encode() + b"\n"
    small.write_bytes(lab.sealed(lines))
    with pytest.raises(JournalError, match="line 4: not an event: the columns"):
        list(read_journal(small))


def test_fields_of_a_later_version_of_the_same_schema_are_passed_over(lab, small):
    before = list(read_journal(small))
    small.write_bytes(lab.sealed([{**line, "mood": "good"} for line in lab.lines_of(small)]))
    assert list(read_journal(small)) == before


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "this is not a journal"),
        (b"hello\n", "this is not a journal"),
        (b'{"a":1}\n', "this is not a journal"),
        (b"\x00" * 5000, "this is not a journal"),
    ],
)
def test_what_is_no_journal_is_told(tmp_path, text, why):
    (tmp_path / "j").write_bytes(text)
    with pytest.raises(JournalError, match=why):
        list(read_journal(tmp_path / "j"))


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(JournalError, match="No such file"):
        list(read_journal(tmp_path / "j"))
    with pytest.raises(JournalError, match="Is a directory"):
        list(read_journal(tmp_path))


def test_a_compressed_journal_is_read_as_far_as_it_goes(lab, tmp_path):
    path = tmp_path / "j.zst"
    lab.run(Journal(path), lab.Tasks(lab.Echo(900)))
    text = path.read_bytes()
    whole, error = read(path)
    assert error is None
    for length in range(20, len(text), 97):
        path.write_bytes(text[:length])
        seen, error = read(path)
        assert isinstance(error, JournalError)
        assert seen == whole[: len(seen)]
    assert len([event for event in seen if type(event) is TurnPlayed]) > 500
    path.write_bytes(b"no zstd at all")
    with pytest.raises(JournalError, match="compressed data is damaged"):
        list(read_journal(path))
