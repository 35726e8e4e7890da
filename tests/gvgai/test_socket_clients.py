"""GVGAI clients that are started here and connect to a port: in contests, in plans, and misbehaving."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from flagfall.agents.admission import LOOPBACK, try_port
from flagfall.agents.hosts.registry import host_agent
from flagfall.agents.process.isolation import DEFAULT_ISOLATION, NO_ISOLATION, Isolation
from flagfall.agents.process.limits import Limits
from flagfall.agents.process.sandbox import check_sandbox
from flagfall.agents.process.supervisor import descendants
from flagfall.errors import HostFault, UsageError
from flagfall.events import Event, TaskStarted
from flagfall.gvgai import play_track as play_track_module
from flagfall.gvgai.clients import host, launcher, network
from flagfall.gvgai.clients.network import is_made_by, own_networks_work
from flagfall.gvgai.play_track import PlayedTrack, TrackTimes, play_track
from flagfall.recording.verify import verify
from flagfall.tasks.building import rebuild
from flagfall.tasks.vgdl.learning_track import RULES
from flagfall.tasks.vgdl.learning_track_setup import TrackSetup
from flagfall.tournament.folder import JOURNALS, RUNNING
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.tournament.run.engine import Attempt
from flagfall.tournament.run.match import play_attempts
from flagfall.tournament.store import Store
from tests.children import open_descriptors
from tests.gvgai.clients import Client
from tests.gvgai.games import write_game
from tests.gvgai.public_clients import java_agent, python_agent
from tests.ports import free_port

FEW = attrs.evolve(RULES["gvgai-document"], games=4)
GENEROUS = "init=20s act=10s/10s result=20s"
PATIENT = f"start=60s {GENEROUS}"  # a Java virtual machine comes up on a busy host


def sandboxes_work() -> bool:
    try:
        check_sandbox()
    except UsageError:
        return False
    return True


needs_networks = pytest.mark.skipif(not own_networks_work(), reason="no network namespaces here")
needs_sandboxes = pytest.mark.skipif(not sandboxes_work(), reason="no bubblewrap, or it may not work here")


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No process and no descriptor stays when a match is over."""
    processes, descriptors = descendants(os.getpid()), open_descriptors()
    yield
    assert set(descendants(os.getpid())) <= set(processes), "of other tests, such as the browser"
    assert open_descriptors() <= descriptors


def started(client: Client, port: str = "{port}") -> str:
    return f"gvgai:{shlex.join(client.words(port))}"


def play(
    folder: Path, agent: str, control: str = GENEROUS, isolation: Isolation | None = None, **options: Any
) -> PlayedTrack:
    times, rules = TrackTimes.of(FEW, control)
    setup = TrackSetup(write_game(folder), rules)
    return trio.run(partial(play_track, setup, agent, times, isolation=isolation, **options))


def flagfall(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flagfall", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


# The public clients.


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The public clients that can run here, by name."""
    folder = tmp_path_factory.mktemp("originals")
    found = {"java": java_agent(folder), "python": python_agent(folder)}
    there = {name: agent for name, agent in found.items() if agent is not None}
    if not there:
        pytest.skip("neither of the public clients can run here")
    if not own_networks_work():
        try:
            try_port(LOOPBACK, network.PORT)
        except UsageError:
            pytest.skip("no network namespaces here, and another program has the port of the public clients")
    return there


@pytest.mark.release
def test_public_clients_play_a_contest_beside_a_new_agent(tmp_path, originals):
    game = write_game(tmp_path)
    agents = [word for agent in (*originals.values(), "random") for word in ("--agent", agent)]
    options = ["--games", "4", "--time-control", PATIENT, "--json"]
    held = flagfall(tmp_path, "gvgai", "contest", game, *agents, *options)
    assert held.returncode == 0, held.stderr
    matches = json.loads(held.stdout)["matches"]
    assert len(matches) == len(originals) + 1
    for match in matches:
        assert not match["disqualified"], match["detail"]
        assert [game["level"] for game in match["games"]][-2:] == [3, 4]
        assert [game["illegal"] for game in match["games"]] == [0] * 6


@pytest.mark.release
def test_public_clients_play_a_tournament_beside_a_new_agent(tmp_path, originals):
    write_game(tmp_path)
    agents = {**originals, "new": "flagfall.gvgai.sample_players:QLearningPlayer"}
    tables = [f"[[agents]]\nname = '{name}'\nspec = {json.dumps(spec)}\n" for name, spec in agents.items()]
    task = f"[[tasks]]\ntrack = 'corridor.txt'\ngames = 4\ntime_control = '{PATIENT}'\n"
    (tmp_path / "plan.toml").write_text("".join([*tables, task]))
    held = flagfall(tmp_path, "tournament", "plan.toml")
    assert held.returncode == 0, held.stderr
    store = Store(tmp_path / "plan-results")
    played = [record.seats[0] for record in store.played().values()]
    store.close()
    assert {seat.agent: seat.fell for seat in played} == dict.fromkeys(agents)
    assert min(seat.turns for seat in played) > 30
    journals = sorted((tmp_path / "plan-results/journals").iterdir())
    assert len(journals) == len(agents)
    for journal in journals:
        assert verify(journal, partial(rebuild, journal=journal)).difference is None


@pytest.mark.release
@needs_sandboxes
def test_public_java_client_plays_in_a_sandbox(tmp_path, originals):
    if "java" not in originals or not Path(shutil.which("java") or "").resolve().is_relative_to("/usr"):
        pytest.skip("no Java of the system")
    seat = play(tmp_path, originals["java"], PATIENT, Isolation("sandbox")).result.seats[0]
    assert seat.disqualified is None, seat.detail
    assert seat.stats.dropped == 1, "it sends `0#null` after its first reply"


def test_contest_says_why_a_client_is_out_and_goes_on(tmp_path):
    agents = ["--agent", "gvgai:env --no-such-option {port} bot", "--agent", "random"]
    options = ["--games", "3", "--time-control", PATIENT]
    held = flagfall(tmp_path, "gvgai", "contest", write_game(tmp_path), *agents, *options)
    assert held.returncode == 0
    first, second = held.stderr.splitlines()
    assert "bot: disqualified: not connected: the client ended before it connected to port" in first
    assert first.endswith("(exit code 125)")
    assert "random: " in second
    assert "won in validation" in second


# Plans and other places where such an agent may stand.


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ("[[tasks]]\ntask = 'micro1'\nsteps = 9", "old is a GVGAI client, which plays tracks only"),
        ("clock = 'virtual'\n[[tasks]]\ntrack = 'causeway'\ngames = 3", "plays in real time"),
        ("host = 'thread'\n[[tasks]]\ntrack = 'causeway'", "of its own: leave host out"),
    ],
)
@pytest.mark.parametrize("kind", ["gvgai", "program"])
def test_plan_says_where_a_client_cannot_play(plan, message, kind):
    top, tasks, rest = plan.partition("[[tasks]]")
    text = f"{top}[[agents]]\nname = 'old'\nspec = '{kind}:env'\n{tasks}{rest}"
    with pytest.raises(UsageError, match=message):
        parse_plan(text)


def test_plan_says_that_there_is_no_such_program():
    with pytest.raises(UsageError, match="no program 'no-such-program'"):
        parse_plan("[[agents]]\nspec = 'gvgai:no-such-program'\n[[tasks]]\ntrack = 'causeway'")


def test_client_over_pipes_plays_in_a_plan(tmp_path):
    client = Client(tmp_path, "start()\nplay()")
    write_game(tmp_path)
    agent = json.dumps(f"program:{shlex.join(client.words('pipe'))}")
    task = f"track = 'corridor.txt'\ntime_control = '{GENEROUS}'"
    plan = parse_plan(f"[[agents]]\nname = 'old'\nspec = {agent}\n[[tasks]]\n{task}", folder=tmp_path)
    for folder in (RUNNING, JOURNALS):
        (tmp_path / folder).mkdir()
    spec = MatchSpec(id="m", task=plan.tasks[0].name, entrants=("old",), seed=1)
    records = []
    play_attempts(plan, [Attempt(spec)], tmp_path, lambda record, _seconds: records.append(record))
    (record,) = records
    assert isinstance(record, MatchRecord)
    assert (record.status, record.seats[0].fell, record.solved) == ("played", None, 1)


@pytest.mark.parametrize("kind", ["gvgai", "program"])
def test_other_tasks_are_refused_with_what_to_do(kind):
    with pytest.raises(UsageError, match="plays the learning track only: use `flagfall gvgai train`"):
        host_agent(f"{kind}:env")


@pytest.mark.parametrize("kind", ["gvgai", "program"])
def test_host_that_is_no_process_is_refused(tmp_path, kind):
    with pytest.raises(UsageError, match="of its own: leave host out"):
        play(tmp_path, f"{kind}:env", host="thread")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gvgai", "contest", "causeway", "--clock", "virtual", "--games", "3"], "plays in real time"),
        (["gvgai", "play-on", "localhost:1"], "cannot be loaded into this one"),
        (["check-agent"], "plays the learning track only"),
        (["run", "--task", "micro1"], "plays the learning track only"),
    ],
)
def test_commands_refuse_a_client_that_they_cannot_play(tmp_path, words, message):
    agent = ["gvgai:env"] if words == ["check-agent"] else ["--agent", "gvgai:env"]
    refused = flagfall(tmp_path, *words, *agent)
    assert refused.returncode == 2
    assert message in " ".join(refused.stderr.split())


# Where a client connects.


ISOLATIONS = [
    pytest.param(NO_ISOLATION, id="none"),
    pytest.param(DEFAULT_ISOLATION, id="process", marks=needs_networks),
    pytest.param(Isolation("sandbox"), id="sandbox", marks=needs_sandboxes),
]


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_client_is_started_and_plays(tmp_path, isolation):
    client = Client(tmp_path, "start()\nplay()")
    client.log = Path("/dev/stderr")  # in a sandbox there is no other place
    track = play(tmp_path, started(client), isolation=isolation)
    seat = track.result.seats[0]
    assert track.result.reason == "finished", seat.detail
    assert [(g.phase[0], g.level, g.winner) for g in track.statistics.games] == [
        ("t", 0, 1),
        ("v", 3, 1),
        ("v", 4, 0),
    ]
    assert seat.stats.dropped == 0
    assert "#FINISH" in seat.stderr_tail


@needs_networks
def test_clients_with_the_same_port_play_at_the_same_time(tmp_path):
    """Each says `START_DONE` only when both have connected."""
    wait = """
open(sys.argv[2] + ".here", "w").close()
while len([name for name in os.listdir(FOLDER) if name.endswith(".here")]) < 2:
    time.sleep(0.01)
start()
play()
"""
    text = wait.replace("FOLDER", repr(str(tmp_path)))
    clients = [Client(tmp_path, text, name) for name in ("one", "other")]
    times, rules = TrackTimes.of(FEW, GENEROUS)
    setup = TrackSetup(write_game(tmp_path), rules)
    played: list[PlayedTrack] = []

    async def one(client: Client) -> None:
        played.append(await play_track(setup, started(client, str(network.PORT)), times))

    async def both() -> None:
        async with trio.open_nursery() as nursery:
            for client in clients:
                nursery.start_soon(one, client)

    trio.run(both)
    assert [track.result.seats[0].disqualified for track in played] == [None, None]


@pytest.fixture
def shared_port(monkeypatch: pytest.MonkeyPatch) -> int:
    """A port of this machine in place of 8080, which other programs may use."""
    port = free_port()
    monkeypatch.setattr(network, "PORT", port)
    return port


def test_shared_port_serves_one_after_another(tmp_path, shared_port):
    """The second client waits for the port until the first one has connected, not until its match is over."""
    hold = f"while not os.path.exists({str(tmp_path / 'go')!r}):\n    time.sleep(0.01)\n"
    first = Client(tmp_path, f"start()\n{hold}play()", "first")
    second = Client(tmp_path, f"open({str(tmp_path / 'go')!r}, 'w').close()\nstart()\nplay()", "second")
    times, rules = TrackTimes.of(FEW, GENEROUS)
    setup = TrackSetup(write_game(tmp_path), rules)
    played: list[PlayedTrack] = []

    async def one(client: Client) -> None:
        agent = started(client, str(shared_port))
        played.append(await play_track(setup, agent, times, isolation=NO_ISOLATION))

    async def both() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one, first)
            nursery.start_soon(one, second)

    trio.run(both)
    assert [track.result.seats[0].disqualified for track in played] == [None, None]


def test_shared_port_that_stays_taken_is_reported(tmp_path, shared_port, monkeypatch):
    monkeypatch.setattr(network, "PORT_WAIT_SECONDS", 0.2)
    with socket.socket() as other:
        other.bind(("127.0.0.1", shared_port))
        other.listen()
        client = Client(tmp_path, "start()\nplay()")
        with pytest.raises(HostFault, match=f"port {shared_port} at 127.0.0.1 was in use for 0.2 s"):
            play(tmp_path, started(client, str(shared_port)), isolation=NO_ISOLATION)
        assert not client.lines, "nothing was started"


def test_connection_of_another_program_is_turned_away(tmp_path, shared_port):
    """The client connects only when the other program has been turned away."""
    wait = f"while not os.path.exists({str(tmp_path / 'go')!r}):\n    time.sleep(0.01)\n"
    client = Client(tmp_path, "start()\nplay()")
    client.path.write_text(f"import os, time\n{wait}{client.path.read_text()}")
    heard: list[bytes] = []

    def other_program() -> None:
        while True:
            try:
                with socket.create_connection(("127.0.0.1", shared_port)) as link:
                    heard.append(link.recv(100))
                break
            except ConnectionRefusedError:
                time.sleep(0.01)
        (tmp_path / "go").touch()

    thread = threading.Thread(target=other_program)
    thread.start()
    track = play(tmp_path, started(client, str(shared_port)), isolation=NO_ISOLATION)
    thread.join()
    assert heard == [b""]
    assert track.result.seats[0].disqualified is None


def test_other_end_of_a_connection_is_found_among_processes():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")):
            with socket.socket(family) as near:
                near.connect((address, listener.getsockname()[1]))
                far, _ = listener.accept()
                with far:
                    assert is_made_by(far, [os.getpid()])
                    assert not is_made_by(far, [os.getppid()])
                    assert not is_made_by(far, [])


# Clients that misbehave.


SHORT = "init=20s act=100ms/300ms result=20s"


@pytest.mark.parametrize(
    ("behaviour", "reason", "detail"),
    [
        ("hear()\nsys.exit('no game for me')", "gone", "no game for me"),
        ("start()\nos.kill(os.getpid(), 9)", "gone", "closed the connection"),
        ("start()\nplay(act=lambda n, s: raw(b'x' * 9999))", "garbage", "4096 is the limit"),
        ("hear()\nsay(0, 'START_FAILED')", "not started", "START_FAILED"),
        ("start()\nplay(act=lambda n, s: time.sleep(60))", "late", "busy"),
    ],
)
def test_client_that_fails_is_out(tmp_path, behaviour, reason, detail):
    client = Client(tmp_path, behaviour)
    seat = play(tmp_path, started(client), SHORT).result.seats[0]
    assert seat.disqualified == reason
    assert detail in seat.detail


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_client_is_ended_with_what_it_started(tmp_path, isolation):
    """The client sleeps, and its child plays in a session of its own until it is late."""
    child = "os.fork() and time.sleep(60)\nos.setsid()\nstart()\nplay(act=lambda n, s: time.sleep(60))"
    client = Client(tmp_path, child)
    client.log = Path("/dev/null")
    assert play(tmp_path, started(client), SHORT, isolation).result.seats[0].disqualified == "late"


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_client_that_ends_without_a_connection_is_out(tmp_path, isolation):
    agent = f"gvgai:{shlex.join([sys.executable, '-c', 'import sys; sys.exit(sys.argv)', '{port}'])}"
    seat = play(tmp_path, agent, isolation=isolation).result.seats[0]
    assert seat.disqualified == "not connected"
    assert "the client ended before it connected to port" in seat.detail
    assert "['-c'," in seat.detail, "what it wrote is shown"


def test_client_that_never_connects_is_out(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "CONNECT_SECONDS", 0.3)
    agent = f"gvgai:{shlex.join([sys.executable, '-c', 'import time; time.sleep(60)', '{port}'])}"
    seat = play(tmp_path, agent).result.seats[0]
    assert seat.disqualified == "not connected"
    assert "the client did not connect to port" in seat.detail


def test_client_that_connects_and_says_nothing_is_late(tmp_path, monkeypatch):
    """To connect late and to answer late are two verdicts, whatever the limit of `start`."""
    monkeypatch.setattr(play_track_module, "LOADING_NS", 0)
    client = Client(tmp_path, "time.sleep(60)")
    seat = play(tmp_path, started(client), f"start=500ms {SHORT}").result.seats[0]
    assert seat.disqualified == "late"


def test_cpu_time_of_a_client_counts_where_it_is_asked_for(tmp_path):
    act = "def act(n, s):\n    time.sleep(0.05)\n    say(n, 'ACTION_ESCAPE')\n"
    client = Client(tmp_path, act + "start()\nplay(act=act)")
    control = "init=20s act=40ms/10s result=20s clock=cpu"
    seat = play(tmp_path, started(client), control).result.seats[0]
    assert (seat.disqualified, seat.stats.late) == (None, 0), "who sleeps uses no CPU time"


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_second_connection_is_refused_and_the_first_goes_on(tmp_path, isolation):
    again = """
start()
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    sys.stderr.write("connected twice")
except ConnectionRefusedError:
    sys.stderr.write("refused")
play()
"""
    client = Client(tmp_path, again)
    client.log = Path("/dev/null")
    seat = play(tmp_path, started(client), isolation=isolation).result.seats[0]
    assert seat.disqualified is None
    assert seat.stderr_tail == "refused"


@needs_networks
def test_client_in_its_own_network_sees_nothing_of_this_machine(tmp_path):
    """A server of this machine is not there; an isolation of `none` leaves it there."""
    look = """
start()
try:
    socket.create_connection(("127.0.0.1", SERVER))
    sys.stderr.write("seen")
except ConnectionRefusedError:
    sys.stderr.write("not seen")
play()
"""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = Client(tmp_path, look.replace("SERVER", str(server.getsockname()[1])))
        seen = [
            play(tmp_path, started(client), isolation=isolation).result.seats[0].stderr_tail
            for isolation in (DEFAULT_ISOLATION, NO_ISOLATION)
        ]
    assert seen == ["not seen", "seen"]


HOLDS_DESCRIPTORS = """
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
kept = [socket.socketpair() for _ in range(20)]
try:
    for near, _ in kept:
        socket.send_fds(near, [b"+"], [0] * 20)
except OSError as error:
    print(error.strerror, flush=True)
sys.stdin.read()
"""
"""Has more descriptors on their way than a process with 64 open files may send."""


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes a user of its own, which nobody else uses")
def test_descriptors_that_an_agent_keeps_on_their_way_keep_no_client_from_playing():
    python = "/usr/bin/python3"
    user = ["setpriv", "--reuid=60577", "--regid=60577", "--clear-groups", "--bounding-set=-all", "--"]
    source = Path(launcher.__file__).read_text()
    shows = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    words = [python, "-I", "-S", "-c", source, "here", "0", "64", "--", python, "-c", shows]
    if not Path(python).exists():
        pytest.skip("other users have no Python here")
    with subprocess.Popen(
        [*user, python, "-c", HOLDS_DESCRIPTORS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as agent:
        assert agent.stdout is not None
        assert agent.stdout.readline() == "Too many references: cannot splice\n"
        link, far_end = socket.socketpair()
        with link, far_end:
            tried = subprocess.run(
                ["prlimit", "--nofile=64:4096", *user, *words],
                stdin=far_end.fileno(),
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
            said, descriptors, _, _ = socket.recv_fds(link, 100, 1)
        agent.communicate()
    assert (said, len(descriptors)) == (b"+", 1)
    os.close(descriptors[0])
    assert tried.stderr == "(64, 64)\n"


def test_limits_hold_for_a_client(tmp_path):
    client = Client(tmp_path, "start()\nplay(act=lambda n, s: bytearray(400_000_000))")
    limited = Isolation("process", Limits.parse("memory=200MB"))
    seat = play(tmp_path, started(client), isolation=limited).result.seats[0]
    assert seat.disqualified == "gone"
    assert "MemoryError" in seat.detail


def test_limit_of_open_files_holds_for_a_client(tmp_path):
    shows = "import resource\nraise SystemExit(str(resource.getrlimit(resource.RLIMIT_NOFILE)))"
    limited = Isolation("process", Limits(files=77))
    seat = play(tmp_path, started(Client(tmp_path, shows)), isolation=limited).result.seats[0]
    assert "(77, 77)" in seat.detail


def test_cancelled_match_leaves_nothing(tmp_path):
    client = Client(tmp_path, "start()\nplay(act=lambda n, s: time.sleep(60))")
    times, rules = TrackTimes.of(FEW, "untimed")
    setup = TrackSetup(write_game(tmp_path), rules)

    async def main() -> None:
        with trio.CancelScope() as scope:

            def cancel(event: Event) -> None:
                if isinstance(event, TaskStarted):
                    scope.cancel()

            await play_track(setup, started(client), times, sinks=[cancel])
        assert scope.cancelled_caught

    trio.run(main)
