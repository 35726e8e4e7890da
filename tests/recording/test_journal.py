import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trio

from flagfall import Journal, read_journal
from flagfall.errors import HostFault, UsageError
from flagfall.events import MatchEnded, MatchStarted, SeatDisqualified, StallSeen, TurnPlayed
from flagfall.kernel.dispatcher import HELD_TURNS
from flagfall.recording.journal import file, writer
from flagfall.recording.journal import format as layout
from flagfall.recording.journal.file import disk
from flagfall.recording.journal.format import BATCH_BYTES
from flagfall.recording.journal.reader import JournalTruncated
from flagfall.timing import VirtualClock
from tests.children import open_descriptors

NAMES = ["match.jsonl", "match.jsonl.zst"]

HEADER = MatchStarted(
    at_ns=0,
    schema=1,
    flagfall="0",
    tasks=["echo"],
    scheduler="x",
    agents=["a"],
    seed=1,
    time_control="act=1s",
    clock="wall",
)


def turns(first, last):
    return [TurnPlayed(n, n, 97, 0, 32) for n in range(first, last)]


def readable(path):
    """What can be read of a journal without an end, and what is said of it."""
    seen: list[Any] = []
    with pytest.raises(JournalTruncated) as caught:
        seen.extend(read_journal(path))
    return seen, caught.value


def ending(path):
    last = list(read_journal(path))[-1]
    assert type(last) is MatchEnded
    return last


async def something_written(record):
    while record.statistics().written_bytes == 0:  # noqa: ASYNC110 - a thread does it
        await trio.sleep(0.02)


@contextmanager
def slow_disk(monkeypatch, pause):
    write = file.JournalFile.write

    def slowly(file, batches):
        time.sleep(pause())
        write(file, batches)

    with monkeypatch.context() as patch:
        patch.setattr(file.JournalFile, "write", slowly)
        yield


@contextmanager
def disk_behind(monkeypatch, record, emitted):
    """A disk that writes nothing until the match waits for it or has ended, however fast the machine is."""
    write, waited_for = file.JournalFile.write, False

    def slowly(file, batches):
        nonlocal waited_for
        patience = time.monotonic() + 60
        while not waited_for and not (emitted and type(emitted[-1]) is MatchEnded):
            waited_for = record.statistics().waiting_bytes > writer.MAX_WAITING_BYTES
            assert time.monotonic() < patience, "the match neither waits nor ends"
            time.sleep(0.001)
        left = record.statistics().waiting_bytes - sum(map(len, batches))
        waited_for = left > writer.RESUME_BYTES
        write(file, batches)

    with monkeypatch.context() as patch:
        patch.setattr(file.JournalFile, "write", slowly)
        yield


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("virtual", [True, False], ids=["virtual", "wall"])
def test_what_is_read_is_what_was_emitted(lab, tmp_path, name, virtual):
    emitted: list[Any] = []
    path = tmp_path / name
    result = lab.run(
        Journal(path),
        lab.Tasks(lab.Echo(50), lab.Echo(3)),
        sinks=[emitted.append],
        virtual=virtual,
    )
    assert result.reason == "finished"
    assert list(read_journal(path)) == emitted
    assert len([event for event in emitted if type(event) is not StallSeen]) == 60


@pytest.mark.parametrize(("name", "at"), [("Echo", [5, 7, 11]), ("Duel", [257, 514, 771, 1028, 1211])])
def test_a_file_ends_in_a_seal_and_has_one_every_batch(lab, tmp_path, name, at):
    path = tmp_path / "j"
    duel = name == "Duel"
    agents = [lab.Repeater, lab.Repeater] if duel else [lab.Repeater]
    lab.run(Journal(path), lab.Tasks(getattr(lab, name)(600 if not duel else 800)), *agents)
    lines = path.read_bytes().splitlines()
    seals = [number for number, line in enumerate(lines, 1) if line.startswith(b'{"event":"seal"')]
    assert seals == at
    assert path.read_bytes() == lab.sealed(line + b"\n" for line in lines if b'"seal"' not in line)


def test_plain_turns_stand_together(lab, tmp_path):
    path = tmp_path / "j"
    emitted: list[Any] = []
    lab.run(Journal(path), lab.Tasks(lab.Echo(20_000)), sinks=[emitted.append])
    assert list(read_journal(path)) == emitted
    assert path.stat().st_size < 20 * 20_000


def test_whoever_else_looks_the_file_is_the_same(lab, tmp_path):
    for number, sinks in enumerate([[], [lambda _event: None]]):
        lab.run(Journal(tmp_path / str(number)), lab.Tasks(lab.Echo(90)), lab.Dreamer, sinks=sinks)
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seats", [1, 2])
def test_the_same_seed_gives_the_same_bytes_however_fast_the_disk_is(lab, tmp_path, name, seats, monkeypatch):
    texts: set[bytes] = set()
    monkeypatch.setattr(writer, "WRITE_BYTES", 5_000)
    for repetition in range(10):
        path = tmp_path / f"{repetition}-{name}"
        shake = random.Random(repetition)
        with slow_disk(monkeypatch, lambda shake=shake: shake.random() / 500):
            task = lab.Duel(40) if seats == 2 else lab.Echo(40)
            lab.run(Journal(path), lab.Tasks(task, rounds=6), *[lab.Dreamer] * seats, seed=11)
        texts.add(path.read_bytes())
    assert len(texts) == 1
    assert len(texts.pop()) > 1_000


def test_different_seeds_give_different_bytes(lab, tmp_path):
    for seed in (1, 2):
        lab.run(Journal(tmp_path / str(seed)), lab.Tasks(lab.Echo()), seed=seed)
    assert (tmp_path / "1").read_bytes() != (tmp_path / "2").read_bytes()


def test_arrays_are_recorded_as_they_were_shown(lab, tmp_path):
    path = tmp_path / "j"
    lab.run(Journal(path), lab.Tasks(lab.Grid(4)), lab.pair)
    shown = [e.observation["view"] for e in read_journal(path) if type(e) is TurnPlayed]
    assert [array.dtype for array in shown] == [np.float32] * 4
    assert all(array.shape == (2, 3) for array in shown)
    assert len({array.tobytes() for array in shown}) == 4


# What reaches the file when.


async def test_on_the_wall_clock_a_batch_does_not_wait_to_be_full(tmp_path):
    record = Journal(tmp_path / "j")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(record.run)
        for event in [HEADER, *turns(0, 3)]:
            record(event)
        with trio.fail_after(30):
            await something_written(record)
        seen, error = readable(tmp_path / "j")
        assert (len(seen), error.turn, error.line) == (4, 2, 6)
        record.finish()
    assert len(list(read_journal(tmp_path / "j"))) == 4


async def test_on_the_wall_clock_turns_that_are_held_back_do_not_wait_either(lab, tmp_path):
    path = tmp_path / "j"
    shown = 0

    async def act(_shown):
        nonlocal shown
        shown += 1
        if shown == 6:
            with trio.fail_after(30):
                while not path.exists() or b'"turns"' not in path.read_bytes():  # noqa: ASYNC110 - a thread
                    await trio.sleep(0.02)
        return 97

    await lab.match(Journal(path), lab.Tasks(lab.Echo(8)), act, control=lab.SLOW)
    seen = [event.turn for event in read_journal(path) if type(event) is TurnPlayed]
    assert seen == list(range(8))
    assert path.read_bytes().count(b'"turns"') >= 2


def test_killed_writer_leaves_a_readable_prefix(tmp_path):
    for name in NAMES:
        path = tmp_path / name
        program = (
            "import trio, sys\n"
            "from flagfall.playing import play\n"
            f"trio.run(lambda: play('micro4', 'random', steps=10**9, journal={str(path)!r}))\n"
        )
        process = subprocess.Popen([sys.executable, "-c", program])
        try:
            until = time.monotonic() + 20
            while not (path.exists() and path.stat().st_size > 100_000):
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.02)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        seen, error = readable(path)
        assert re.search(r"line \d+ \(after turn \d+\)", str(error))
        numbers = [event.turn for event in seen if type(event) is TurnPlayed]
        assert numbers == list(range(len(numbers)))
        assert len(numbers) > 500


# Limits.


def test_a_slow_disk_makes_the_match_wait(lab, tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "MAX_WAITING_BYTES", 8_000)
    monkeypatch.setattr(writer, "RESUME_BYTES", 2_000)
    monkeypatch.setattr(writer, "WRITE_BYTES", 1_500)
    emitted: list[Any] = []
    for virtual in (True, False):
        emitted.clear()
        record = Journal(tmp_path / "j")
        with disk_behind(monkeypatch, record, emitted):
            result = lab.run(
                record,
                lab.Tasks(lab.Echo(4_000)),
                sinks=[emitted.append],
                virtual=virtual,
            )
        statistics = record.statistics()
        assert result.reason == "finished"
        assert result.seats[0].stats.late == 0
        assert statistics.pauses > 3
        assert statistics.peak_waiting_bytes < 8_000 + 6_000  # a batch or so
        assert statistics.waiting_bytes == 0
        assert statistics.written_bytes == (tmp_path / "j").stat().st_size
        assert statistics.events == len(emitted)
        assert list(read_journal(tmp_path / "j")) == emitted


async def test_a_batch_of_large_observations_ends_early(tmp_path):
    record = Journal(tmp_path / "j", whole=True)
    record(HEADER)
    for number in range(3):
        record(TurnPlayed(number, number, "x" * (BATCH_BYTES // 2), 0, 32))
    assert record.statistics().events == 3
    record.finish()
    await record.run()
    assert len(list(read_journal(tmp_path / "j"))) == 4


@pytest.mark.release
def test_memory_is_flat_over_a_million_byte_steps(lab, tmp_path):
    sizes: list[int] = []

    def watch(event):
        if type(event) is TurnPlayed and event.turn % 100_000 == 0:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            sizes.append(pages * resource.getpagesize())

    result = lab.run(Journal(tmp_path / "j"), lab.Tasks(lab.Echo(10**9)), sinks=[watch], steps=1_000_000)
    assert result.turns == 1_000_000
    assert len(sizes) == 10
    settled = sizes[2]
    assert max(abs(size - settled) for size in sizes[2:]) <= 5_000_000


def test_plain_turns_are_encoded_together(lab, tmp_path, monkeypatch):
    calls: list[str] = []

    def counted(event):
        calls.append(type(event).__name__)
        return layout.encode(event)

    monkeypatch.setattr(writer, "encode", counted)
    lab.run(Journal(tmp_path / "j"), lab.Tasks(lab.Echo(3 * HELD_TURNS)))
    assert calls == [
        *("MatchStarted", "SeatReady", "TaskStarted"),
        *["TurnsPlayed"] * 3,
        *("TaskEnded", "MatchEnded"),
    ]


# Faults of the disk.


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("virtual", [True, False], ids=["virtual", "wall"])
def test_a_full_disk_voids_the_match(lab, virtual):
    emitted: list[Any] = []
    with pytest.raises(HostFault, match=r"journal /dev/full: cannot be written: No space left"):
        lab.run(
            Journal("/dev/full"),
            lab.Tasks(lab.Echo(10**9)),
            sinks=[emitted.append],
            virtual=virtual,
        )
    assert type(emitted[-1]) is MatchEnded
    assert emitted[-1].reason == "void"
    assert "No space left" in emitted[-1].detail


def test_what_was_written_before_the_disk_was_full_is_sound(tmp_path):
    path = tmp_path / "j"
    program = (
        "import resource, trio\n"
        "from flagfall.playing import play\n"
        "from flagfall.timing import VirtualClock\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
        f"trio.run(lambda: play('micro4', 'random', steps=10**9, journal={str(path)!r}),"
        " clock=VirtualClock())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=90, check=False
    )
    assert "HostFault: journal" in done.stderr
    assert "File too large" in done.stderr
    seen, _ = readable(path)
    assert seen
    assert path.read_bytes().splitlines()[-1].startswith(b'{"event":"seal"')


def test_matches_end_where_no_thread_can_be_started(tmp_path):
    program = (
        "import resource, threading, trio\n"
        "from flagfall import HostFault, VirtualClock, play\n"
        "async def match(name):\n"
        "    try:\n"
        f"        await play('micro1', 'random', steps=100, journal={str(tmp_path)!r} + name)\n"
        "    except HostFault as fault:\n"
        "        print(fault)\n"
        "async def main():\n"
        "    async with trio.open_nursery() as nursery:\n"
        "        for name in ('/a', '/b', '/c'):\n"
        "            nursery.start_soon(match, name)\n"
        "threading.stack_size(1 << 32)\n"  # more than the addresses that are left
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32))\n"
        "trio.run(main, clock=VirtualClock())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=False
    )
    assert done.stderr == ""
    assert sorted(done.stdout.splitlines()) == [
        f"journal {tmp_path}/{name}: cannot be written: no thread for the disk (can't start new thread)"
        for name in "abc"
    ]


def test_nobody_serves_the_disk_for_others_for_long():
    served: list[str] = []

    async def use(name, times):
        for _ in range(times):
            await disk().do(lambda: time.sleep(0.004))
            served.append(name)

    async def main():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(use, "first", 1)
            for number in range(8):  # one after another, so that there is always one who waits
                await trio.sleep(0.003)
                nursery.start_soon(use, str(number), 25)

    trio.run(main)
    assert len(served) == 201
    assert served.index("first") < 20


@pytest.mark.parametrize("virtual", [True, False], ids=["virtual", "wall"])
def test_a_file_that_vanishes_voids_the_match(lab, tmp_path, virtual):
    path = tmp_path / "j"

    def remove(event):
        if type(event) is TurnPlayed and path.exists():
            path.unlink()

    with pytest.raises(HostFault, match="No such file"):
        lab.run(Journal(path), lab.Tasks(lab.Echo(10**9)), sinks=[remove], virtual=virtual)


async def test_drain_tells_of_a_fault_too():
    record = Journal("/dev/full")
    record(HEADER)
    for event in turns(0, 100):
        record(event)
    with pytest.raises(HostFault):
        await record.run()
    with pytest.raises(HostFault):
        await record.drain()
    before = record.statistics()
    for event in turns(100, 1000):
        record(event)
    record.finish()
    assert record.statistics() == before


def test_no_file_descriptor_is_left(lab, tmp_path):
    before = open_descriptors()
    lab.run(Journal(tmp_path / "j"), lab.Tasks(lab.Echo()))
    with suppress(HostFault):
        lab.run(Journal("/dev/full"), lab.Tasks(lab.Echo()))
    assert open_descriptors() == before


@pytest.mark.parametrize("others", [0, 1], ids=["one seat", "two seats"])
def test_a_journal_object_records_one_match(lab, tmp_path, others):
    record, second = Journal(tmp_path / "j"), Journal(tmp_path / "second")
    tasks = lab.Tasks(lab.Duel() if others else lab.Echo())
    agents = [lab.Dreamer] * (1 + others)
    again = re.escape(f"journal {tmp_path / 'j'}: it records one match; make a Journal for each")
    emitted: list[Any] = []

    async def main():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: lab.match(record, tasks, *agents, sinks=[emitted.append]))
            while not emitted:
                await trio.lowlevel.checkpoint()
            for _ in range(2):  # while it is written, and afterwards
                with pytest.raises(UsageError, match=again):
                    await lab.match(record, lab.Tasks(lab.Echo()), lab.Guesser, sinks=[second])
                await trio.sleep(100)

    trio.run(main, clock=VirtualClock())
    assert list(read_journal(tmp_path / "j")) == emitted
    assert ending(tmp_path / "j").reason == "finished"
    assert not (tmp_path / "second").exists()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("virtual", [True, False], ids=["virtual", "wall"])
def test_a_file_that_is_written_already_is_left_to_its_match(lab, tmp_path, name, virtual):
    path, link = tmp_path / name, tmp_path / f"link-{name}"
    link.symlink_to(path)

    async def main():
        first = Journal(path)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: lab.match(first, lab.Tasks(lab.Echo(10**9))))
            while not path.exists():
                await trio.lowlevel.checkpoint()
            with pytest.raises(HostFault, match="another match is writing it"):
                await lab.match(Journal(link), lab.Tasks(lab.Echo(20_000)))
            nursery.cancel_scope.cancel()

    trio.run(main, clock=VirtualClock() if virtual else None)
    assert ending(path).reason == "stopped"


# What cannot be written.


def test_an_observation_without_a_json_form_voids_the_match(lab, tmp_path):
    with pytest.raises(HostFault, match="turn 3 cannot be written: a object"):
        lab.run(Journal(tmp_path / "j"), lab.Tasks(lab.Echo(9, strange_at=3)))
    assert ending(tmp_path / "j").reason == "void"


def test_the_last_words_of_an_agent_may_be_half_a_surrogate_pair(lab, tmp_path):
    def crash(_observation):
        raise ValueError("\ud83d")

    result = lab.run(Journal(tmp_path / "j"), lab.Tasks(lab.Echo()), crash)
    assert result.reason == "seats"
    fell = [event for event in read_journal(tmp_path / "j") if type(event) is SeatDisqualified]
    assert "\\ud83d" in fell[0].detail


def test_a_number_too_long_to_write_is_a_host_fault(tmp_path):
    async def main():
        record = Journal(tmp_path / "j")
        record(HEADER)
        with pytest.raises(HostFault, match="turn 0 cannot be written"):
            record(TurnPlayed(0, 0, "\ud800", 0, 32))
        record.finish()
        await record.run()

    trio.run(main)
    assert list(read_journal(tmp_path / "j")) == [HEADER]


# Ends.


def test_a_cancelled_match_is_written_to_its_end(lab, tmp_path):
    async def main():
        with trio.move_on_after(0.1):
            await lab.match(Journal(tmp_path / "j"), lab.Tasks(lab.Echo(10**9)))

    trio.run(main)
    assert ending(tmp_path / "j").reason == "stopped"


async def test_a_cancelled_writer_leaves_whole_batches(tmp_path):
    record = Journal(tmp_path / "j")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(record.run)
        for event in [HEADER, *turns(0, 50)]:
            record(event)
        with trio.fail_after(30):
            await something_written(record)
        nursery.cancel_scope.cancel()
    seen, _ = readable(tmp_path / "j")
    assert len(seen) in {32, 51}


async def test_without_events_there_is_no_file(tmp_path):
    record = Journal(tmp_path / "j")
    record.finish()
    await record.run()
    assert not (tmp_path / "j").exists()


# The early check.


@pytest.mark.parametrize(
    ("name", "why"),
    [("", "is a folder"), ("no/such", "there is no folder"), ("file/x", "there is no folder")],
)
def test_a_path_that_cannot_be_is_told_at_once(tmp_path, name, why):
    (tmp_path / "file").write_text("here before")
    with pytest.raises(UsageError, match=why):
        Journal.check(tmp_path / name)
    with pytest.raises(UsageError, match=why):
        Journal(tmp_path / name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_a_place_that_may_not_be_written_is_told_at_once(tmp_path):
    (tmp_path / "file").write_text("here before")
    (tmp_path / "file").chmod(0o400)
    tmp_path.chmod(0o500)
    for name in ("file", "new"):
        with pytest.raises(UsageError, match="may"):
            Journal.check(tmp_path / name)
    tmp_path.chmod(0o700)


def test_the_check_touches_nothing(tmp_path):
    (tmp_path / "old").write_text("here before")
    Journal.check(tmp_path / "old")
    Journal.check(str(tmp_path / "new"))
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("old", "here before")]


def test_compression_without_its_extra_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(UsageError, match=r"flagfall\[zstd\]"):
        Journal(tmp_path / "j.zst")
