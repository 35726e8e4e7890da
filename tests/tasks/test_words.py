"""Vocabularies: the one that comes with flagfall, and those of a user's own."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from flagfall.errors import UsageError
from flagfall.tasks.commai.catalog import make_catalog
from flagfall.tasks.commai.micro.engine import MicroTask
from flagfall.tasks.commai.micro.sentences import SentenceQuestions
from flagfall.tasks.commai.words import default_vocabulary, load_vocabulary, parse_vocabulary

LETTERS = "bcfgjklmpqvwxz"
MADE_UP = ["".join(letters) + "y" for letters in product(LETTERS, repeat=3)][:450]


def test_the_usual_words_are_many_and_mostly_free() -> None:
    words = default_vocabulary()
    assert len(words.all) >= 1000
    assert len(set(words.all)) == len(words.all)
    assert all(word.isascii() and word.isalpha() and word.islower() for word in words.all)
    assert words.all[0] == "the"
    assert words.common == words.all[:200]
    assert len(words.new) == 200
    assert words.new == words.free[200:400]
    assert default_vocabulary() is words


def test_free_words_hold_no_word_of_an_instruction() -> None:
    words = default_vocabulary()
    for part in ("say", "and", "or", "after", "next", "joint", "ignore", "write"):
        assert not any(part in word for word in words.free)
    assert {"hand", "word", "after", "house"} - set(words.free) == {"hand", "word", "after"}
    assert {"hand", "word", "after", "house"} <= set(words.all)


def test_a_file_of_words(tmp_path: Path) -> None:
    file = tmp_path / "words"
    file.write_text("# mine\n\n" + "\n".join(MADE_UP) + "\n")
    words = load_vocabulary(file)
    assert words.all == tuple(MADE_UP)
    task = make_catalog(words)["micro7.2"]()
    assert isinstance(task, MicroTask)
    task.reset(0)
    assert isinstance(task.source, SentenceQuestions)
    assert task.source.question.answer.removesuffix(".") in MADE_UP


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("two words", "line 452: 'two words' is not one word in lower-case letters a to z"),
        ("Upper", "line 452: 'Upper' is not one word"),
        ("dot.", "line 452: 'dot.' is not one word"),
        ("old-fashioned", "line 452: 'old-fashioned' is not one word"),
        (MADE_UP[3], f"line 452: {MADE_UP[3]!r} is in line 5 already"),
    ],
)
def test_what_is_no_word_is_refused_by_line(line: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_vocabulary(["# mine", *MADE_UP, line], "mine")
    assert str(refused.value).startswith(f"words mine: {message}")


def test_too_few_free_words_are_refused() -> None:
    assert len(parse_vocabulary(MADE_UP[:400], "mine").free) == 400
    lines = [*MADE_UP[:399], "border", "sand"]
    with pytest.raises(UsageError, match=r"words mine: at least 400 words must be free .*, 399 of 401 are"):
        parse_vocabulary(lines, "mine")


def test_new_words_that_are_in_every_word_are_refused() -> None:
    lines = [*MADE_UP[:300], "y", *MADE_UP[300:]]
    with pytest.raises(UsageError, match=r"too many words contain .*y: move these up or down"):
        parse_vocabulary(lines, "mine")
    assert parse_vocabulary(["y", *MADE_UP], "mine").all[0] == "y"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load_vocabulary(tmp_path / "none")
    file = tmp_path / "words"
    file.write_bytes("house\nh\u00fctte\n".encode())
    with pytest.raises(UsageError, match="line 2: only the letters a to z make words"):
        load_vocabulary(file)
