"""Data of a folder for the live page: its state, its results, its clocks, and nothing without bounds."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import zstandard

from flagfall.events import SeatDisqualified, TurnPlayed, TurnsPlayed
from flagfall.recording.journal.format import encode
from flagfall.timing import TimeControl
from flagfall.tournament.folder import Lock
from flagfall.tournament.records import MatchRecord, SeatRecord
from flagfall.tournament.run.api import run_tournament
from flagfall.tournament.run.control import send_command
from flagfall.tournament.store import Store
from flagfall.viewer.live import folder_reader
from flagfall.viewer.live import routes as result_pages
from flagfall.viewer.live import views as clocks
from flagfall.viewer.live.folder_reader import FIRST_NEWS, MAX_NEWS, FolderReader
from flagfall.viewer.live.routes import READ_SECONDS, ReportPage, Watcher, live_routes, replays_of
from flagfall.viewer.live.views import MAX_LINE_CHARS, MAX_NAME_CHARS, ClockReader
from flagfall.viewer.replay.routes import replay_routes
from tests.tournament.runs import small_plan, until
from tests.viewer.http_talk import Served, events, serving, status, text
from tests.viewer.journals import bytes_match, write


@asynccontextmanager
async def live(folder: Path, *, allow_control: bool = False) -> AsyncIterator[Served]:
    """The live page of a folder, served in the loop of the test."""
    watcher = Watcher(folder)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watcher.run)
        routes = [
            *live_routes(folder, watcher, allow_control=allow_control),
            ReportPage(folder).route(),
            *replay_routes(replays_of(folder), "/replay"),
        ]
        async with serving(routes) as server:
            yield server
        nursery.cancel_scope.cancel()


def a_record(number: int, **changes: Any) -> MatchRecord:
    seat = SeatRecord(agent="random", score=0.0, turns=10, thinking=((3, 10),))
    return attrs.evolve(MatchRecord(id=f"r{number}-m0-g0", seats=(seat,), turns=10), **changes)


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A folder in which a tournament of 4,000 matches has begun, and no match has ended."""
    folder = tmp_path / "cup"
    folder.mkdir()
    store = Store(folder, "make")
    store.begin(small_plan(1000))
    store.close()
    return folder


def put(folder: Path, *records: MatchRecord) -> None:
    store = Store(folder, "make")
    store.put(*records)
    store.close()


def calls_of(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[tuple[float, tuple[Any, ...]]]:
    """The times and arguments of a function's calls, which are carried out."""
    calls: list[tuple[float, tuple[Any, ...]]] = []
    real = getattr(owner, name)

    def noted(*words: Any) -> Any:
        calls.append((time.monotonic(), words))
        return real(*words)

    monkeypatch.setattr(owner, name, noted)
    return calls


# The state of a folder.


async def test_a_tournament_from_before_its_beginning_to_its_end(tmp_path: Path):
    reader = FolderReader(tmp_path / "cup")
    assert reader.read()[0].state == "missing"
    (tmp_path / "cup").mkdir()
    assert reader.read()[0].state == "waiting"
    async with trio.open_nursery() as nursery:
        views: list[Any] = []

        async def watch() -> None:
            while True:
                views.append(await trio.to_thread.run_sync(reader.read))
                await trio.sleep(0.02)

        nursery.start_soon(watch)
        await run_tournament(small_plan(10), tmp_path / "cup", resume=True, jobs=2)
        nursery.cancel_scope.cancel()
    views.append(reader.read())
    states = [view.state for view, _ in views]
    assert set(states) <= {"waiting", "running", "ended", "interrupted"}
    assert "running" in states
    last = views[-1][0]
    assert (last.state, last.played, last.total, last.void) == ("ended", 40, 40, 0)
    items = [item.number for _, news in views for item in news.items]
    assert items == sorted(set(items))
    assert len(items) == 40
    reader.close()


async def test_the_names_of_tasks_come_from_the_schedule(begun: Path):
    plan = small_plan(10)
    put(begun, a_record(0))
    reader = FolderReader(begun)
    (item,) = reader.read()[1].items
    assert item.task == next(iter(plan.tasks)).name
    reader.close()


def test_an_interrupted_tournament(begun: Path):
    put(begun, a_record(0))
    reader = FolderReader(begun)
    view, _ = reader.read()
    assert (view.state, view.played, view.total, view.controllable) == ("interrupted", 1, 4000, False)
    assert "--resume continues it" in view.detail
    lock = Lock(begun)
    view, _ = reader.read()
    assert view.state == "running"
    assert "cannot be asked" in view.detail
    lock.close()
    reader.close()


def test_a_folder_that_disappears_and_comes_back(begun: Path):
    put(begun, a_record(0))
    reader = FolderReader(begun)
    assert reader.read()[0].played == 1
    away = begun.with_name("away")
    begun.rename(away)
    view, news = reader.read()
    assert (view.state, news.items) == ("missing", [])
    assert "cup" in view.detail
    assert reader.read_standings() == {"why": "no tournament has begun in this folder"}
    away.rename(begun)
    view, news = reader.read()
    assert (view.state, len(news.items)) == ("interrupted", 1)
    reader.close()


def test_a_database_that_is_damaged_while_it_is_read(begun: Path):
    put(begun, a_record(0))
    reader = FolderReader(begun)
    reader.read()
    database = begun / "tournament.db"
    database.unlink()
    database.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 64)
    view, _ = reader.read()
    assert view.state == "damaged"
    assert "\n" not in view.detail
    assert len(view.detail) <= MAX_LINE_CHARS
    assert "is damaged" in reader.read_standings()["why"]
    reader.close()


def test_records_that_are_damaged_are_one_line(begun: Path):
    put(begun, a_record(0))
    store = Store(begun, "make")
    store._database.execute("UPDATE seats SET thinking = 'x' || char(10) || 'y'")
    store.close()
    reader = FolderReader(begun)
    view, _ = reader.read()
    assert view.state == "damaged"
    assert "thinking" in view.detail
    reader.close()


def test_a_control_file_that_leads_elsewhere_is_not_followed(begun: Path, tmp_path: Path):
    put(begun, a_record(0))
    for content in (b"/etc/passwd", b"../../x", b"\0", b"", b"x" * 100_000, str(tmp_path).encode()):
        (begun / "control").write_bytes(content)
        reader = FolderReader(begun)
        assert reader.read()[0].state == "interrupted"
        reader.close()


# Results.


def test_many_results_at_once_are_counted_and_the_newest_are_listed(begun: Path):
    reader = FolderReader(begun)
    reader.read()
    put(begun, *(a_record(number) for number in range(500)))
    view, news = reader.read()
    assert view.played == 500
    assert len(news.items) == MAX_NEWS
    assert news.items[-1].number == 500
    assert news.left_out == 500 - MAX_NEWS
    assert reader.read()[1].items == []
    reader.close()
    again = FolderReader(begun)
    view, news = again.read()
    assert (view.played, len(news.items), news.left_out) == (500, FIRST_NEWS, 0)
    again.close()


def test_results_are_read_once(begun: Path, monkeypatch: pytest.MonkeyPatch):
    asked = calls_of(monkeypatch, Store, "records_after")
    reader = FolderReader(begun)
    for number in range(5):
        put(begun, a_record(number))
        reader.read()
    assert [words[1] for _, words in asked] == [0, 1, 2, 3, 4]
    reader.close()


def test_texts_of_others_are_cut(begun: Path):
    huge = "<script>" + "\u202e\x1b[31m" * 20_000
    seat = SeatRecord(agent=huge, score=0.0, fell=huge)
    put(begun, a_record(0, why=huge, reason=huge, seats=(seat,) * 100, status="void"))
    reader = FolderReader(begun)
    _, news = reader.read()
    (item,) = news.items
    assert item.void
    assert len(item.why) == MAX_LINE_CHARS
    assert len(item.seats[0].agent) == len(item.seats[0].out or "") == MAX_NAME_CHARS
    assert len(item.seats) == 32
    reader.close()


def test_records_after_a_number(begun: Path):
    put(begun, *(a_record(number) for number in range(7)))
    store = Store(begun)
    assert [number for number, _ in store.records_after(2, 3)] == [3, 4, 5]
    assert [record.id for _, record in store.records_after(5, 100)] == ["r5-m0-g0", "r6-m0-g0"]
    assert store.records_after(7, 100) == []
    store.close()


# Clocks.


def turn(number: int, spent_ns: int, **more: Any) -> bytes:
    return encode(TurnPlayed(number, number, 32, 0, 32, spent_ns, **more)) + b"\n"


CONTROL = TimeControl.parse("act=100ms act_hard=1s bank=1s")


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.zst"])
def test_clocks_follow_a_growing_journal(tmp_path: Path, ending: str):
    reader = ClockReader(tmp_path)
    wanted = [("r0-m0-g0-1", 2, CONTROL)]
    assert reader.read(wanted) == {}
    squeeze = zstandard.ZstdCompressor().compressobj()
    with (tmp_path / f"r0-m0-g0-1{ending}").open("wb", buffering=0) as file:

        def write(data: bytes) -> None:
            if ending == ".jsonl.zst":
                data = squeeze.compress(data) + squeeze.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
            file.write(data)

        write(b'{"event":"match","at_ns":0,"schema":3}\n' + turn(0, 50_000_000))
        journal = reader.read(wanted)["r0-m0-g0-1"]
        assert journal.turn == 0
        assert journal.seats[0].last_limit_ns == 1_000_000_000
        write(turn(0, 350_000_000, seat=1) + turn(1, 5, verdict="late")[:30])
        reader.read(wanted)
        assert journal.seats[1].bank_ns == 750_000_000
        assert journal.seats[0].late == 0
        rest = turn(1, 5, verdict="late")[30:]
        write(rest + encode(TurnsPlayed(2, [1, 1], [1, 1], [0, 0], [1, 1], [7, 8])) + b"\n")
        write(encode(SeatDisqualified(9, 1, "crashed", "x" * 100)) + b"\n")
        write(b"not a line that is known\n" + b"x" * 2 * clocks.MAX_LINE_BYTES + b"\n" + turn(4, 9))
        for _ in range(4):
            reader.read(wanted)
        assert journal.turn == 4
        assert (journal.seats[0].turns, journal.seats[0].late, journal.seats[0].last_ns) == (5, 1, 9)
        assert journal.seats[1].out == "crashed"
    assert reader.read([]) == {}
    reader.close()


@pytest.mark.parametrize("content", [b'{"event":"turn","turn":"x"}\n', b"\xff\xfe\n", b'{"event":"turns"}\n'])
def test_a_damaged_journal_has_no_clocks(tmp_path: Path, content: bytes):
    (tmp_path / "a-1.jsonl").write_bytes(content * 3)
    (tmp_path / "b-1.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd" + content * 30)
    reader = ClockReader(tmp_path)
    for _ in range(2):
        found = reader.read([("a-1", 1, CONTROL), ("b-1", 1, None), ("../a-1", 1, None)])
        assert "b-1" not in found
        assert all(journal.turn is None for journal in found.values())
    reader.close()


def test_a_journal_that_grows_too_fast_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(clocks, "MAX_BEHIND_BYTES", 10_000)
    file = tmp_path / "a-1.jsonl"
    file.write_bytes(turn(0, 1))
    reader = ClockReader(tmp_path)
    assert reader.read([("a-1", 1, None)])["a-1"].turn == 0
    with file.open("ab") as more:
        more.write(turn(1, 1) * 1000)
    assert reader.read([("a-1", 1, None)]) == {}
    assert reader.read([("a-1", 1, None)]) == {}
    reader.close()


# Served.


async def test_viewers_share_one_watcher(begun: Path, monkeypatch: pytest.MonkeyPatch):
    read = calls_of(monkeypatch, FolderReader, "read")
    async with live(begun) as server:
        await trio.sleep(0.2)
        assert read == []  # nothing is read for nobody
        began = trio.current_time()
        async with events(server.port) as one:
            assert (await one.next("run"))["state"] == "interrupted"
            async with events(server.port) as other:
                assert (await other.next("run"))["state"] == "interrupted"
                put(begun, a_record(0))
                for viewer in (one, other):
                    while not (news := await viewer.next("news"))["items"]:
                        pass
                    assert news["items"][0]["match"] == "r0-m0-g0"
        seconds = trio.current_time() - began
        assert len(read) <= seconds / READ_SECONDS + 4
        async with events(server.port) as later:
            found = await later.next("news")
            assert found["all"]
            assert [item["number"] for item in found["items"]] == [1]
            while (await later.next("standings")).get("matches") != 1:
                pass


async def test_standings_are_not_computed_with_each_result(begun: Path, monkeypatch: pytest.MonkeyPatch):
    computed = calls_of(monkeypatch, folder_reader, "stored_standings")
    async with live(begun) as server, events(server.port) as viewer:
        await viewer.next("standings")
        for number in range(20):
            put(begun, a_record(number))
            await server.ask("/events", method="HEAD")
            async with events(server.port):  # each viewer that comes has the folder read at once
                await trio.sleep(0.02)
        while (await viewer.next("standings")).get("matches") != 20:
            pass
    gaps = [later - earlier for (earlier, _), (later, _) in pairwise(computed)]
    assert min(gaps) >= 1.9


async def test_commands_are_refused_without_the_option(begun: Path):
    async with live(begun) as server:
        answer = await server.ask("/command", method="POST", body=b'{"do":"pause"}')
        assert status(answer) == 403
        assert "start it with --allow-control" in text(answer)
        page = text(await server.ask("/"))
        assert '"command":null' in page


def _token(page: str) -> str:
    block = page.partition('id="live">')[2].partition("</script>")[0]
    token: str = json.loads(block)["command"]
    return token


async def test_commands_need_the_token_of_the_page(begun: Path):
    async with live(begun, allow_control=True) as server:
        token = _token(text(await server.ask("/")))
        mine = f"X-Flagfall-Command: {token}"
        for words, body, wanted in (
            ((), b'{"do":"pause"}', 403),
            (("X-Flagfall-Command: x",), b'{"do":"pause"}', 403),
            ((mine, "Origin: http://elsewhere.example"), b'{"do":"pause"}', 403),
            ((mine,), b'{"do":"dance"}', 400),
            ((mine,), b'{"do":"jobs","jobs":1}', 400),
            ((mine,), b'{"do":"cancel","match":"' + b"m" * 300 + b'"}', 400),
            ((mine,), b"[" * 10_000, 400),
            ((mine,), b"", 400),
            ((mine,), b'{"do":"pause"}', 409),
        ):
            answer = await server.ask("/command", *words, method="POST", body=body)
            assert status(answer) == wanted
            assert text(answer).count("\n") == 1
        assert "no tournament is being played" in text(answer)
        assert status(await server.ask("/command", mine)) == 405
        assert server.lines == []


async def test_a_run_is_paused_resumed_and_its_match_is_cancelled(tmp_path: Path):
    folder = tmp_path / "cup"
    plan = small_plan(1000, steps=200_000)
    async with trio.open_nursery() as nursery:
        stop = trio.Event()

        async def play() -> None:
            await run_tournament(plan, folder, jobs=1, stop=stop)

        nursery.start_soon(play)
        await until((folder / "control").exists)
        async with live(folder, allow_control=True) as server:
            token = _token(text(await server.ask("/")))

            async def command(body: str) -> str:
                return await server.ask(
                    "/command", f"X-Flagfall-Command: {token}", method="POST", body=body.encode()
                )

            async with events(server.port) as viewer:
                while not (run := await viewer.next("run"))["running"]:
                    pass
                assert run["controllable"]
                match = run["running"][0]["match"]
                assert status(await command('{"do":"pause"}')) == 200
                while (run := await viewer.next("run"))["state"] != "paused":
                    pass
                state = await trio.to_thread.run_sync(send_command, folder, {"do": "status"})
                assert state["paused"]
                assert state["protocol"] == 2
                assert state["run_seconds"] > 0
                answer = await command('{"do":"cancel","match":"nothing"}')
                assert status(answer) == 409
                assert "no match 'nothing' is being played" in text(answer)
                assert status(await command(json.dumps({"do": "cancel", "match": match}))) == 200
                while not (news := await viewer.next("news"))["items"]:
                    pass
                assert (news["items"][0]["match"], news["items"][0]["void"]) == (match, True)
                assert status(await command('{"do":"resume"}')) == 200
                while (run := await viewer.next("run"))["state"] != "running":
                    pass
        stop.set()
        nursery.cancel_scope.cancel()


async def test_a_folder_whose_name_is_no_text(tmp_path: Path):
    folder = trio.Path(os.fsdecode(os.fsencode(tmp_path) + b"/cup\xff\x1b"))
    await folder.mkdir()
    async with live(Path(folder)) as server, events(server.port) as viewer:
        assert (await viewer.next("run"))["state"] == "waiting"
        await folder.rmdir()
        while (run := await viewer.next("run"))["state"] != "missing":
            pass
        assert run["detail"].isprintable()
        assert "cup\\\\udcff\\\\x1b" in text(await server.ask("/"))


async def test_a_folder_that_is_removed_while_it_is_served(begun: Path):
    async with live(begun) as server, events(server.port) as viewer:
        assert (await viewer.next("run"))["state"] == "interrupted"
        shutil.rmtree(begun)
        while (run := await viewer.next("run"))["state"] != "missing":
            pass
        assert run["detail"]
        assert status(await server.ask("/")) == 200
        await trio.Path(begun).mkdir()
        while (await viewer.next("run"))["state"] != "waiting":
            pass
        assert server.lines == []


# Pages of results.


OUTSIDE = [
    "nothing",
    "link",
    "..",
    "%2e%2e",
    "%2e%2e%2ftournament.db",
    "..%2f..%2fsecret",
    "%2e%2e%2f..%2f%2e%2e%2fsecret",
    "..%5c..%5csecret",
    "%2fetc%2fpasswd",
    "there%2fsecret",
    "secret%00",
    "a" * 3000,
]


@pytest.mark.parametrize("name", OUTSIDE)
async def test_no_replay_leads_out_of_the_folder(begun: Path, tmp_path: Path, name: str):
    journals = begun / "journals"
    journals.mkdir()
    (tmp_path / "secret.jsonl").write_text("a secret")
    (journals / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (journals / "there").symlink_to(tmp_path)
    running = begun / "running"
    running.mkdir(exist_ok=True)
    (running / "link-1.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (running / "nothing-1.jsonl").mkdir()
    async with live(begun) as server:
        for part in ("", "data/summary", "data/chunk/0", "data/frames/0"):
            answer = await server.ask(f"/replay/{name}/{part}")
            assert status(answer) in {400, 404}
            assert text(answer).count("\n") == 1
            assert "a secret" not in answer
            assert str(tmp_path) not in answer
        assert server.lines == []


async def test_the_newest_attempt_of_a_match_is_shown_until_its_journal_is_kept(begun: Path):
    (begun / "journals").mkdir(exist_ok=True)
    running = begun / "running"
    running.mkdir(exist_ok=True)
    for attempt, turns in ((2, 20), (10, 30), (9, 40)):
        write(running / f"r0-m0-g0-{attempt}.jsonl", bytes_match(turns), whole=False)
    async with live(begun) as server:

        async def summary() -> dict[str, Any]:
            answer = await server.ask("/replay/r0-m0-g0/data/summary")
            found: dict[str, Any] = json.loads(text(answer))
            return found

        assert (await summary())["turns"] == 30
        kept = begun / "journals" / "r0-m0-g0.jsonl"
        await trio.Path(running / "r0-m0-g0-10.jsonl").replace(kept)
        assert ((await summary())["turns"], (await summary())["file"]) == (30, "r0-m0-g0.jsonl")
        assert status(await server.ask("/replay/r0-m0-g0/data/chunk/0")) == 200
        shutil.rmtree(running)
        await trio.Path(kept).unlink()
        gone = await summary()
        assert (gone["turns"], gone["state"]) == (30, "truncated")
        assert "not there any more" in gone["state_detail"]
        assert status(await server.ask("/replay/r0-m0-g0/data/chunk/0")) == 400
        assert server.lines == []


async def test_the_report_is_not_made_for_each_viewer(begun: Path, monkeypatch: pytest.MonkeyPatch):
    put(begun, a_record(0))
    made = calls_of(monkeypatch, result_pages, "report_data")
    async with live(begun) as server:
        for _ in range(3):
            assert "tournament report" in text(await server.ask("/report"))
    assert len(made) == 1


async def test_the_report_of_a_folder_without_results_is_one_line(tmp_path: Path):
    async with live(tmp_path) as server:
        answer = await server.ask("/report")
        assert status(answer) == 400
        assert "holds no tournament" in text(answer)
        assert server.lines == []
