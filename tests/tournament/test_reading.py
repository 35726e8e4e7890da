import re
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flagfall
from flagfall.errors import UsageError
from flagfall.tasks.commai.catalog import CATALOG, COMMAI_CATALOG
from flagfall.tasks.configs.config import Config
from flagfall.tasks.vgdl.learning_track_setup import TrackSetup
from flagfall.timing import TimeControl
from flagfall.timing.durations import MS, S
from flagfall.tournament.formats.adaptive import Adaptive
from flagfall.tournament.formats.fixed_rounds import Gauntlet, RoundRobin
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.formats.swiss import Knockout, Swiss
from flagfall.tournament.model import SprtRule
from flagfall.tournament.plan.entries import (
    AgentTable,
    PlanTable,
    SprtTable,
    StopTable,
    TaskTable,
)
from flagfall.tournament.plan.fingerprint import changes, plan_facts, plan_of_facts
from flagfall.tournament.plan.parser import PLANS, load_plan, parse_plan
from flagfall.tournament.standings import compute_standings

AGENTS = """
[[agents]]
spec = "random"
[[agents]]
spec = "silent"
"""
SMALL = f"""{AGENTS}
[[tasks]]
task = "micro1"
steps = 10
"""


def mistakes_of(text: str, **options: object) -> list[str]:
    with pytest.raises(UsageError) as caught:
        parse_plan(text, **options)  # type: ignore[arg-type]
    lines = str(caught.value).splitlines()
    return [line.strip() for line in lines[1:]] if len(lines) > 1 else [lines[0].removeprefix("plan: ")]


def test_what_is_not_said_is_as_usual():
    plan = parse_plan(SMALL)
    assert [agent.name for agent in plan.agents] == ["random", "silent"]
    (task,) = plan.tasks
    assert (task.name, task.tasks, task.seats, task.agents) == (
        "micro1",
        ("micro1",),
        1,
        ("random", "silent"),
    )
    assert (plan.repeats, plan.seeds, plan.clock, plan.stop.sprt) == (1, (), "wall", None)
    assert plan.output.folder == Path("tournament-results")


def test_what_agents_in_sandboxes_are_shown_is_beside_the_plan(tmp_path):
    (tmp_path / "book.txt").touch()
    text = f'show = "book.txt"\n{SMALL}'.replace('spec = "random"', 'spec = "random"\nisolation = "sandbox"')
    shown, plain = (agent.isolation for agent in parse_plan(text, folder=tmp_path).agents)
    assert (shown.readable, plain.readable) == ((str(tmp_path / "book.txt"),), ())
    assert "there is no" in mistakes_of(text, folder=tmp_path / "elsewhere")[0]


def test_everything_can_be_said(tmp_path):
    (tmp_path / "bot.py").write_text("def act(observation): return 0\n")
    plan = parse_plan(
        """
        name = "all of it"
        seeds = [5, 6]
        jobs = 2
        time_control = "act=40ms"
        isolation = "process"
        limits = "memory=1GB"
        anchor = "bot"
        format = { kind = "gauntlet", champions = ["bot"] }
        [stop]
        matches = 3
        falls = 2
        [output]
        folder = "there"
        journals = false
        tables = ["csv", "json"]
        [[agents]]
        name = "bot"
        spec = "bot.py:act"
        limits = "memory=2GB"
        [[agents]]
        spec = "random"
        host = "process"
        [[tasks]]
        task = ["micro1", "micro2"]
        scheduler = "random"
        steps = 7
        time_control = "act=50ms"
        tick = "20ms"
        score = "reward"
        seatings = "balanced"
        [[tasks]]
        name = "bits"
        task = "micro1"
        episodes = 2
        bit_mode = true
        [[tasks]]
        name = "games"
        each = ["vgdl:causeway#0", "vgdl:windfall#0"]
        agents = "random"
        [[tasks]]
        track = ["causeway", "glacier"]
        training = "10s"
        rounds = 3
        """,
        folder=tmp_path,
    )
    bot, random = plan.agents
    assert bot.spec == f"{tmp_path.resolve() / 'bot.py'}:act"
    assert (bot.isolation.limits.memory, random.isolation.limits.memory) == (2 * 10**9, 10**9)
    assert (plan.seeds, plan.repeats, plan.jobs, plan.anchor) == ((5, 6), 2, 2, "bot")
    assert plan.format == Gauntlet(champions=("bot",))
    assert (plan.stop.matches, plan.stop.falls, plan.output.folder) == (3, 2, Path("there"))
    names = ["micro1 +1", "bits", "games vgdl:causeway#0", "games vgdl:windfall#0", "track causeway"]
    assert [task.name for task in plan.tasks] == [*names, "track glacier"]
    both, bits, game, _, track, _ = plan.tasks
    assert (both.steps, both.tick_ns, both.score, both.scheduler) == (7, 20 * MS, "reward", "random")
    assert (both.control, bits.control) == (TimeControl(act=50 * MS), TimeControl(act=40 * MS))
    assert (both.seatings, bits.seatings) == ("balanced", "cyclic")
    assert isinstance(bits.tasks, Config)
    assert (game.tasks, game.agents) == (("vgdl:causeway#0",), ("random",))
    assert isinstance(track.tasks, TrackSetup)
    assert (track.tasks.rules.training_ns, track.last) == (10 * S, 6)


def test_an_agent_may_have_a_model_of_latency(tmp_path):
    """Recorded times are read with the plan, from beside it, and their digest is a setting of the plan."""
    flagfall.run("micro1", "silent", clock="virtual", steps=9, think="7ms", journal=tmp_path / "run.jsonl")
    text = SMALL.replace('spec = "silent"', 'spec = "silent"\nthink = "network=1ms recorded(run.jsonl)"')
    plan = parse_plan(f'clock = "virtual"\n{text}', folder=tmp_path)
    digest = sha256((tmp_path / "run.jsonl").read_bytes()).hexdigest()[:16]
    facts = plan_facts(plan)
    assert facts["agents.silent.think"] == f"act=recorded(run.jsonl, sha256={digest}) network=1ms"
    assert "agents.random.think" not in facts
    assert "virtual clock" in mistakes_of(text, folder=tmp_path)[0]
    for wrong, told in (
        ("20", "agents[0].think: latency, column 1: '20' has no unit"),
        ("recorded(no)", "/no: "),
    ):
        text = SMALL.replace('spec = "random"', f'spec = "random"\nthink = "{wrong}"')
        with pytest.raises(UsageError, match=re.escape(told)):
            parse_plan(f'clock = "virtual"\n{text}', folder=tmp_path)


MODEL = "llm?url=http://127.0.0.1:1/v1&model=small"
MEASURED = f"""
clock = "virtual"
[[agents]]
name = "fast"
spec = "{MODEL}"
think = "tokens(100/s)"
[[agents]]
name = "slow"
spec = "{MODEL}"
think = "tokens(10/s)"
[[agents]]
name = "other"
spec = "random"
think = "20ms"
[[tasks]]
task = "micro1"
steps = 10
"""


def test_rates_of_one_kind_are_a_handicap_that_plan_and_standings_state():
    plan = parse_plan(MEASURED)
    facts = plan_facts(plan)
    assert facts["agents.slow.think"] == "tokens(10/s)"
    assert changes(facts, plan_facts(parse_plan(MEASURED.replace("tokens(10/s)", "tokens(20/s)")))) == [
        "agents.slow.think: was tokens(10/s), is tokens(20/s)"
    ]
    notes = compute_standings(plan_of_facts("cup", 0, facts), {}).notes
    assert notes == compute_standings(plan, {}).notes
    assert notes[0] == (
        "think time, on the virtual clock: tokens(100/s) (fast); tokens(10/s) (slow); act=20ms (other)"
    )
    assert not compute_standings(parse_plan(SMALL), {}).notes


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ('think = "20ms"', "", "agents[2]: 'other' would take no time and never be late, beside 'fast'"),
        ('"20ms"', '"none"', "agents[2]: 'other' would take no time"),
        ('clock = "virtual"', "", "agents[0]: think: a model of latency needs the virtual clock"),
        ('"20ms"', '"fuel(1G/s)"', "agents[2]: think: fuel(1G/s) is not for other: it counts"),
    ],
)
def test_think_times_that_cannot_be_compared_are_refused(old, new, mistake):
    found = mistakes_of(MEASURED.replace(old, new))
    assert any(mistake in line for line in found), found


def test_instructions_and_tokens_have_no_common_measure(tmp_path):
    (tmp_path / "bot.wasm").touch()
    fuel = MEASURED.replace(MODEL, "bot.wasm").replace("tokens(100/s)", "fuel(2G/s)")
    plan = parse_plan(fuel.replace("tokens(10/s)", "fuel(1G/s)"), folder=tmp_path)
    assert [str(agent.think) for agent in plan.agents] == ["fuel(2G/s)", "fuel(1G/s)", "act=20ms"]
    mixed = MEASURED.replace(MODEL, "bot.wasm", 1).replace("tokens(100/s)", "fuel(2G/s)")
    tokens, free = mistakes_of(mixed.replace('"20ms"', '"none"'), folder=tmp_path)
    assert (
        "agents[1]: 'slow' has tokens(10/s) beside 'fast', whose think time is measured by fuel(2G/s)"
        in tokens
    )
    assert "play them in two tournaments" in tokens
    assert "agents[2]: 'other' would take no time and never be late, beside 'fast'" in free


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('format = "round-robin"', RoundRobin()),
        ('format = {kind = "swiss", rounds = 4}', Swiss(rounds=4)),
        ('[format]\nkind = "knockout"\nreplays = 1', Knockout(replays=1)),
        (
            'format = {kind = "adaptive", precision = 20, duration = "2h"}',
            Adaptive(precision=20.0, duration="2h"),
        ),
    ],
)
def test_formats_have_names_and_tables(said, expected):
    assert parse_plan(f"{said}\n{SMALL}").format == expected


def test_a_test_of_two_agents_takes_them_in_the_order_of_the_plan():
    stop = parse_plan(f"[stop.sprt]\nelo1 = 20\n{SMALL}").stop
    assert stop.sprt == SprtRule(agents=("random", "silent"), elo1=20.0)


def test_every_mistake_is_told_at_once_with_line_name_and_mend(tmp_path):
    (tmp_path / "bot.py").write_text("")
    text = """\
sed = 3
repeats = 0
format = "swis"
anchor = "rnd"
[[agents]]
spec = "randm"
[[agents]]
spec = "bott.py:Bot"
[[agents]]
name = "ok"
spec = "silent"
host = "proces"
[[agents]]
spec = "silent"
[[agents]]
spec = "silent"
[[agents]]
spec = "human"
[[tasks]]
task = "mikro1"
[[tasks]]
task = "micro1"
stepps = 3
time_control = "act=4x"
[[tasks]]
task = "micro2"
agents = ["silentt"]
scheduler = "random"
[stop]
falls = -1
"""
    found = mistakes_of(text, folder=tmp_path)
    expected = [
        "line 1: sed: unknown name 'sed'; nearest: seed",
        "line 2: repeats: expected a whole number from 1 to 100000, got 0",
        "line 3: format.kind: unknown format 'swis'; nearest: swiss",
        "line 5: agents[0]: unknown agent 'randm'; nearest: random; or write module:Name, file.py:Name or",
        f"line 7: agents[1]: no such agent file: {tmp_path}/bott.py; nearest: bot.py",
        "line 12: agents[2].host: unknown value 'proces'; nearest: process",
        "line 15: agents[4]: there are two agents 'silent': give one of them another name",
        (
            "line 17: agents[5]: 'human': a human can play only single matches, with `flagfall play` or"
            " `flagfall run`"
        ),
        "line 19: tasks[0]: unknown task 'mikro1'; nearest: micro1",
        "line 23: tasks[1].stepps: unknown name 'stepps'; nearest: steps",
        "line 24: tasks[1].time_control: time control, column 5: '4x'",
        "line 27: tasks[2].agents: unknown agent 'silentt'; nearest: silent",
        "line 25: tasks[2]: micro2: its scheduler has no end: set steps",
        "line 30: stop.falls: expected a whole number of at least 1, got -1",
    ]
    for told in expected:
        assert any(line.startswith(told) for line in found), told
    numbers = [int(line.split()[1].rstrip(":")) for line in found if line.startswith("line ")]
    assert numbers == sorted(numbers)


def test_a_mistake_makes_no_others():
    text = """
    anchor = "bot"
    format = { kind = "gauntlet", champions = ["bot"] }
    [[agents]]
    name = "bot"
    spec = "nobody"
    [[agents]]
    spec = "random"
    [[tasks]]
    task = "micro1"
    agents = ["bot", "random"]
    """
    (mistake,) = mistakes_of(text)
    assert mistake.startswith("line 4: agents[0]: unknown agent 'nobody'")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "agents: name at least one, under a line [[agents]]"),
        ("agents = 3", "agents: name at least one"),
        (
            f"agents = [3]\n{SMALL.replace(AGENTS, '')}",
            "agents[0]: expected a table of names",
        ),
        (f"format = 3\n{SMALL}", "unknown format 3; it should be a text"),
        (f"format = {{rounds = 3}}\n{SMALL}", "format.kind: is missing; known: benchmark, round-robin"),
        (f'format = "gauntlet"\n{SMALL}', "champions: required, but missing"),
        (
            f'format = {{kind="gauntlet", champions=["rndom"]}}\n{SMALL}',
            "unknown agent 'rndom'; nearest: random",
        ),
        (f'format = {{kind="gauntlet", champions=["random", "silent"]}}\n{SMALL}', "some of the agents"),
        (f'format = {{kind="gauntlet", champions=["random", "random"]}}\n{SMALL}', "named twice"),
        (
            f'format = {{kind="swiss", rounds=0}}\n{SMALL}',
            "rounds: expected a whole number from 1",
        ),
        (f'format = "swiss"\nstop = {{matches = 3}}\n{SMALL}', "a partial round has no ranking"),
        (f'format = "knockout"\n{SMALL}agents = ["random"]', "every agent plays every task"),
        (f'format = "knockout"\nstop = {{falls = 3}}\n{SMALL}', "a disqualified agent loses its encounter"),
        (f'format = "knockout"\nstop = {{sprt = {{}}}}\n{SMALL}', "use a round-robin"),
        (
            f'format = {{kind = "adaptive", goal = "ratings"}}\n{SMALL}',
            "format.precision: the goal ratings needs it: precision = 20, for example",
        ),
        (
            f'format = {{kind = "adaptive", goal = "ratings", precision = 9, equivalence = 5}}\n{SMALL}',
            "format.equivalence: only the goal order has it",
        ),
        (
            f'format = {{kind = "adaptive", precision = 0}}\n{SMALL}',
            "expected a number from 1 to 1000, got 0",
        ),
        (f'format = {{kind = "adaptive", duration = "2"}}\n{SMALL}', "format.duration: '2' has no unit"),
        (f'format = {{kind = "adaptive", duration = "0s"}}\n{SMALL}', "expected a time above zero"),
        (f'format = "adaptive"\nscoring = "score"\n{SMALL}', "ranks agents by its own rule"),
        (
            f'format = "round-robin"\n{SMALL}'.replace('[[agents]]\nspec = "silent"', ""),
            "needs at least two agents",
        ),
        (f"stop = {{sprt = {{elo0 = 5, elo1 = 5}}}}\n{SMALL}", "elo0 (5) has to be below elo1 (5)"),
        (f"stop = {{sprt = {{elo1 = 5000}}}}\n{SMALL}", "elo1: expected a number from -4000 to 4000"),
        (f"stop = {{sprt = {{model = 'elo'}}}}\n{SMALL}", "unknown value 'elo'"),
        (f"stop = {{sprt = {{alpha = 0.5}}}}\n{SMALL}", "0.5 is not an error rate"),
        (f"stop = {{sprt = {{alpha = nan}}}}\n{SMALL}", "expected a number, got nan"),
        (
            f'stop = {{sprt = {{agents = ["random"]}}}}\n{SMALL}',
            "between two agents, which must be all agents of the plan",
        ),
        (f"name = 3\n{SMALL}", "name: expected a text in quotes, got 3"),
        (f'jobs = "3"\n{SMALL}', "jobs: expected a whole number of at least 1, got '3'"),
        (f'stop = {{sprt = {{elo0 = "3"}}}}\n{SMALL}', "elo0: expected a number from -4000 to 4000, got '3'"),
        (f"output = {{journals = 1}}\n{SMALL}", "journals: expected true or false, got 1"),
        (
            f'format = {{kind = "knockout", replays = 1.0}}\n{SMALL}',
            "replays: expected a whole number from 0",
        ),
        (f"stop = {{sprt = {{}}, falls = 2}}\n{SMALL}", "a test needs both agents to its end"),
        (f"seeds = [1, 1]\n{SMALL}", "each only once"),
        (f"seeds = [1, 2]\nrepeats = 3\n{SMALL}", "3 repeats and 2 seeds"),
        (f'anchor = "rndm"\n{SMALL}', "unknown agent 'rndm'; nearest: random"),
        (f'clock = "virtual"\nlimits = "memory=1GB"\n{SMALL}', "write host process"),
        (f'host = "task"\nlimits = "memory=1GB"\n{SMALL}', "apply only to agents in processes"),
        (f'output = {{tables = "csv"}}\n{SMALL}', "expected a list, got 'csv'"),
        (f'output = {{tables = ["cvs"]}}\n{SMALL}', "unknown value 'cvs'; nearest: csv"),
        (f"{SMALL}[[agents]]\nspec = 'zmq:5556'", "let flagfall start it, as cmd:PROGRAM"),
        (f"{SMALL}[[agents]]\nspec = 'random'\nname = 'a\\u0007'".replace("'", '"'), "is not a valid name"),
        (f"{SMALL}[[agents]]\nspec = 'cmd:./no/bot'", "there is no program './no/bot' to run"),
        (
            f"{AGENTS}[[tasks]]\nsteps = 3",
            "nothing to play is given: write exactly one of task, each, config, track",
        ),
        (f"{AGENTS}[[tasks]]\ntask = 'micro1'\ntrack = 'causeway'", "task and track are given"),
        (f"{AGENTS}[[tasks]]\ntrack = 'causeway'\nsteps = 3", "steps does not apply to track"),
        (f"{AGENTS}[[tasks]]\ntrack = 'causway'", "nearest: causeway"),
        (f"{AGENTS}[[tasks]]\ntask = 'micro1'\nrounds = 3", "rounds does not apply to task"),
        (
            f"{AGENTS}[[tasks]]\ntask = 'micro1'\nepisodes = 3\nscheduler = 'random'",
            "episodes sets the scheduler",
        ),
        (f"{AGENTS}[[tasks]]\nconfig = 'nothing'", "unknown configuration 'nothing'"),
        (
            f"{AGENTS}[[tasks]]\nconfig = 'challenge'\nbit_mode = true\nsteps = 3",
            "config sets bit_mode itself",
        ),
        (f"{SMALL}[[tasks]]\ntask = 'micro1'", "there are two tasks 'micro1'"),
        (f"{SMALL}seatings = 'any'", "unknown value 'any'"),
        (f"{SMALL}agents = ['random', 'random']", "an agent is named twice"),
        ("a = [", "invalid TOML"),
    ],
)
def test_a_problem_is_reported_with_its_fix(text, told):
    assert any(told in line for line in mistakes_of(text)), mistakes_of(text)


def test_a_game_for_two_needs_two():
    pytest.importorskip("pettingzoo")
    text = f"{AGENTS}[[tasks]]\ntask = 'pettingzoo:classic/tictactoe_v3'\nagents = 'random'"
    assert "seats 2 agents, but only 1 play it: name more" in mistakes_of(text)[0]


def test_names_of_plans_and_files(tmp_path):
    with pytest.raises(UsageError, match="nearest: demo"):
        load_plan("demoo")
    with pytest.raises(UsageError, match="No such file"):
        load_plan(tmp_path / "none.toml")
    (tmp_path / "mine.toml").write_text(SMALL)
    assert load_plan(tmp_path / "mine.toml", seed=9).seed == 9
    assert load_plan(tmp_path / "mine.toml").name == "mine"


KEYS = sorted(
    {key for kind in (AgentTable, PlanTable, SprtTable, StopTable, TaskTable) for key in kind.__annotations__}
)
VALUES = (
    *(
        '"random"',
        '"silent"',
        '"micro1"',
        '["micro1", "micro2"]',
        '"causeway"',
        '"vgdl:causeway#0"',
        '"none"',
    ),
    *("0", "1", "3", "-1", "1.5", "nan", "inf", "true", "[]", "[1, 2]", "[[1]]", "{}", "{ kind = 3 }", '""'),
    *(
        '"swiss"',
        '{ kind = "knockout" }',
        '{ kind = "adaptive", goal = "ratings", precision = 20, duration = "2h" }',
        '{ kind = "gauntlet", champions = ["random"] }',
        '"act=1s"',
        '"10s"',
    ),
    *('"process"', '"virtual"', '"reward"', "1979-05-27", '"""\n[tasks]\n"""', '"challenge"', '"random:"'),
)
HEADERS = ("[[agents]]", "[[tasks]]", "[stop]", "[stop.sprt]", "[output]", "[format]", "[agents]", "[x.y]")
LINES = st.one_of(
    st.sampled_from(HEADERS),
    st.builds(
        "{} = {}".format,
        st.sampled_from([*KEYS, "format", "agents", "tasks", "stop", "output"]),
        st.sampled_from(VALUES),
    ),
    st.text(max_size=8),
)


@given(st.lists(LINES, max_size=8), st.booleans())
@settings(deadline=None, max_examples=400)
def test_whatever_stands_in_a_file_is_a_plan_or_a_usage_error(lines, begun):
    text = "\n".join([*lines, SMALL] if begun else [SMALL, *lines])
    try:
        plan = parse_plan(text)
    except UsageError:
        return
    order = schedule(plan)
    assert order.total is None or order.total >= 0
    assert next(order.due({}), None) is not None


@pytest.mark.parametrize("name", PLANS)
def test_the_plans_that_come_with_flagfall_can_be_read(name):
    plan = load_plan(name)
    total = schedule(plan).total
    assert total is not None
    assert len(list(schedule(plan).due({}))) == total


def test_the_demo_has_tasks_of_all_families():
    ids = [str(task.tasks) for task in load_plan("demo").tasks]
    for family in ("micro", "vgdl:", "langroom", "gym:"):
        assert any(family in text for text in ids)


@pytest.mark.parametrize("form", ["benchmark", "round-robin", "swiss", "knockout", "adaptive"])
def test_a_plan_that_nobody_can_play_to_its_end_is_refused_at_once(form):
    tasks = "".join(f'[[tasks]]\ntask = "{name}"\nsteps = 10\n' for name in [*CATALOG, *COMMAI_CATALOG][1:])
    text = f'format = "{form}"\nrepeats = 100_000\n{SMALL}\n{tasks}'
    (mistake,) = mistakes_of(text)
    assert "matches are more than 10000000" in mistake
    if form in {"benchmark", "round-robin"}:
        assert parse_plan(f"{text}\n[stop]\nmatches = 5\n").repeats == 100_000
