"""The deadlines against a naive model, and how little of its heap a million turns move."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagfall.timing import MS, NEVER_NS, Deadline, DeadlineQueue


class Note(Deadline):
    def __init__(self, name: int, rank: int = 0) -> None:
        super().__init__(rank)
        self.name = name

    def fire(self, now_ns: int) -> None:
        raise AssertionError(now_ns)


def test_equal_times_come_by_rank_then_in_the_order_of_arming():
    deadlines = DeadlineQueue()
    notes = [Note(0, 2), Note(1, 1), Note(2, 1), Note(3, 0)]
    for note in notes:
        note.due_ns = 5
        deadlines.arm(note)
    assert deadlines.next_due_ns() == 5
    popped = [deadlines.pop_due(5) for _ in range(5)]
    assert [n.name if isinstance(n, Note) else None for n in popped] == [3, 1, 2, 0, None]
    assert deadlines.next_due_ns() == NEVER_NS


def test_nothing_fires_before_its_time_nor_when_it_was_moved_on():
    deadlines = DeadlineQueue()
    note = Note(0)
    note.due_ns = 10
    deadlines.arm(note)
    assert deadlines.pop_due(9) is None
    note.due_ns = 20
    assert deadlines.pop_due(10) is None
    assert deadlines.next_due_ns() == 20
    note.due_ns = NEVER_NS
    assert deadlines.pop_due(10**9) is None
    note.due_ns = 30
    deadlines.arm(note)
    note.due_ns = 40
    assert deadlines.pop_due(40) is note


class Fails(Note):
    def fire(self, now_ns: int) -> None:
        raise ValueError(now_ns)


def test_an_error_of_a_deadline_goes_to_its_owner_or_else_to_the_caller():
    deadlines, told, owned, alone = DeadlineQueue(), list[BaseException](), Fails(0), Fails(1)
    owned.on_error = lambda error, _where: told.append(error)
    for due_ns, note in enumerate((owned, alone)):
        note.due_ns = due_ns
        deadlines.arm(note)
    assert deadlines.fire_next(1)
    assert [error.args for error in told] == [(1,)]
    with pytest.raises(ValueError, match="1"):
        deadlines.fire_next(1)
    assert not deadlines.fire_next(1)


def test_who_waits_is_told_of_an_earlier_time_only():
    told: list[int] = []
    deadlines = DeadlineQueue(told.append)
    for due_ns in (10, 20, 5, 5, 7):
        note = Note(0)
        note.due_ns = due_ns
        deadlines.arm(note)
    assert told == [10, 5]


def test_a_million_turns_move_few_entries():
    """Each turn moves its limit on by 40 ms: one entry is put back every 40 ms, not one a turn."""
    deadlines = DeadlineQueue()
    note = Note(0)
    now_ns = 0
    for _ in range(1_000_000):
        note.due_ns = now_ns + 40 * MS
        if note.due_ns < note.armed_ns:
            deadlines.arm(note)
        now_ns += 3_000
        if deadlines._heap[0][0] <= now_ns:
            assert deadlines.pop_due(now_ns) is None
        note.due_ns = NEVER_NS
    assert deadlines._ticket <= 2 * 3_000 * MS // (40 * MS)
    assert len(deadlines._heap) <= 2


def test_places_left_behind_are_removed():
    """A deadline that is armed again and again, each time earlier, leaves a place behind each time."""
    deadlines = DeadlineQueue()
    notes = [Note(number) for number in range(100)]
    for earlier in range(1_000):
        for note in notes:
            note.due_ns = 10**9 - earlier
            deadlines.arm(note)
        assert len(deadlines._heap) <= 1_024
    popped = [deadlines.pop_due(10**9) for _ in notes]
    assert popped == notes
    assert deadlines.pop_due(10**9) is None


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.integers(0, 3), st.integers(0, 40)),
        st.tuples(st.just("never"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("wait"), st.integers(0, 15), st.just(0)),
        st.tuples(st.just("prune"), st.just(0), st.just(0)),
    ),
    max_size=60,
)


@given(STEPS)
def test_it_agrees_with_a_naive_model(steps: list[tuple[str, int, int]]):
    """Invariant: whatever is armed and moved, what is popped is what a plain look over all would find."""
    told: list[int] = []
    deadlines = DeadlineQueue(told.append)
    notes = [Note(number, rank=number) for number in range(4)]
    now_ns = 0
    for what, number, amount in steps:
        if what == "prune":
            deadlines._prune()
            assert len(deadlines._heap) == sum(note.armed_ns < NEVER_NS for note in notes)
        elif what == "wait":
            now_ns += number
            while True:
                model = min(((n.due_ns, n.rank) for n in notes if n.due_ns <= now_ns), default=None)
                popped = deadlines.pop_due(now_ns)
                assert (popped and (popped.due_ns, popped.rank)) == model
                if popped is None:
                    break
                popped.due_ns = NEVER_NS
        else:
            note = notes[number]
            note.due_ns = now_ns + amount if what == "set" else NEVER_NS
            if note.due_ns < note.armed_ns:
                deadlines.arm(note)
        assert deadlines.next_due_ns() == min(n.due_ns for n in notes)
        assert all(n.armed_ns <= n.due_ns or n.armed_ns == NEVER_NS == n.due_ns for n in notes)
