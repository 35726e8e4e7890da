"""`flagfall run`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from flagfall.cli.console.files import NO_LOG, Flag, LogOptions, Quiet, Seed, TaskIds, Texts
from flagfall.errors import UsageError
from flagfall.kernel.hosting import LocalHostKind

if TYPE_CHECKING:
    from flagfall.agents.process.isolation import Isolation
    from flagfall.agents.wire.admission import JoinPolicy
    from flagfall.cli.runs.plan import RunPlan
    from flagfall.testing.faults import Fault, FaultSchedule


def run(
    *,
    task: TaskIds = None,
    agent: Annotated[Texts, Parameter(name=["--agent", "-a"])] = None,
    config: Annotated[str | None, Parameter(name=["--config", "-c"])] = None,
    scheduler: str | None = None,
    steps: int | None = None,
    matches: int = 1,
    seed: Seed = 0,
    time_control: str | None = None,
    no_timeout: Flag = False,
    clock: Literal["wall", "virtual"] | None = None,
    host: LocalHostKind | None = None,
    isolation: Literal["none", "process", "sandbox"] | None = None,
    limits: str | None = None,
    pass_env: Texts = None,
    show: Texts = None,
    tick: str | None = None,
    fault: Texts = None,
    think: Texts = None,
    answers: Path | None = None,
    journal: Annotated[Path | None, Parameter(name=["--journal", "-o"])] = None,
    whole_observations: Flag = False,
    results: Path | None = None,
    overwrite: Flag = False,
    resume: Flag = False,
    words: Path | None = None,
    bit_mode: Flag = False,
    scramble: Flag = False,
    fixes: Flag = False,
    max_reward_per_task: float | None = None,
    agent_token_file: Path | None = None,
    agent_cert: Path | None = None,
    agent_key: Path | None = None,
    agent_reconnect: Flag = False,
    learner_cmd: str | None = None,
    learner_port: int | None = None,
    learner_address: str | None = None,
    fail_on_disqualified: Flag = False,
    wide: Flag = False,
    json: Flag = False,
    quiet: Quiet = False,
    logs: LogOptions = NO_LOG,
) -> int:
    """Play agents on tasks under a time control, and print the results.

    All options are checked before anything is played. Several agents on tasks for one player make a series:
    a match for each agent, all with the same seed. In tasks for several players the agents take the seats.

    The first Ctrl-C ends the match after its turn, prints the results and completes the journal; the second
    one cancels the match. An agent that is late, crashes or answers with an invalid action loses its turn or
    is disqualified, which is a result: the exit code stays 0, and the tables and `--json` show the reason.

    Args:
        task: Ids of tasks, such as `micro1`; `flagfall tasks` lists them.
        agent: The agents: a sample (`flagfall agents`), `file.py:Name`, `package.module:Name`, `human`,
            `human-line`, `"cmd:PROGRAM --option"` for a program in any language, `bot.wasm` for one in
            WebAssembly, `tcp://ADDRESS:PORT` (or `tls`, `ws`, `wss`) for an agent that connects there,
            `zmq:PORT` for a learner of round 1.
        config: Tasks and their order, instead of `--task` and `--scheduler`: `challenge` for the
            configuration of round 1, a `.json` file of round 1, a `.toml` file, or `file.py:function`.
        scheduler: Order of the tasks: `random`, `sequential`, `sequential:2` (rounds), `incremental:3`,
            `consecutive:5`, `dependencies:micro1>micro2;unlock_threshold=4`. By default each task once, or
            in repeated rounds with `--steps`.
        steps: Number of turns after which a match ends.
        matches: Number of times that all matches are played: first with `--seed`, then with seeds derived
            from it.
        seed: Root seed of all random numbers.
        time_control: Such as `act=40ms/1s`, `blitz` or `"start=1s act=40ms total=10m"`; by default
            `start=10s init=5s act=1s/5s result=5s`.
        no_timeout: Disable all time limits, whatever `--time-control` says; for debuggers.
        clock: `virtual`: waiting takes no time, and the same seed gives the same journal, byte by byte. By
            default `wall`, and `virtual` with `--fault`.
        host: Where agents run. By default samples run in the event loop and your own agents in processes;
            under the virtual clock all that can run in the event loop. `wasm`: Python agents in WebAssembly.
        isolation: Isolation of agents in processes: `process` (limits, few environment variables, private
            temporary files), `sandbox` (also no network, and a read-only view of few files; needs
            bubblewrap), or `none`.
        limits: Limits of an agent in a process, such as `memory=512MB processes=64 cpu=10m disk=1GB
            cores=0-1` (docs/hosts.md); of one in WebAssembly `memory` alone.
        pass_env: Environment variables passed to agents in processes besides the default ones.
        show: Files and folders that agents in a sandbox can read besides their own file or package.
        tick: Real-time pace: at each tick (such as `20ms`) the environment takes the newest action of each
            agent.
        fault: Simulate the match, on the virtual clock in one process, and let this go wrong: such as
            `"seat 0: crash @turn 200"`, `"disconnect 3s @turn 5"` or `"disk full @1.5s"` (docs/faults.md).
            Agents are at the other end of a simulated network; with `--host process` or `task` as there.
        think: Time that turns take on the virtual clock, such as `20ms`, `"lognormal(20ms, 0.8)"` or
            `"act=20ms start=1s network=2ms"`, or the rate of their work: `"fuel(1G/s)"` in WebAssembly,
            `"tokens(30/s)"` of `llm` (docs/time.md). One model for all agents, or one for each `--agent` in
            their order, `none` for one that takes no time.
        answers: A journal whose recorded answers `llm` gives again, without a model; as the option `answers`
            of all agents `llm`, which keep their names.
        journal: Record the match in this file; a name that ends in `.zst` compresses it. In a series each
            match has a numbered file: `run-0.jsonl`, `run-1.jsonl`, ...
        whole_observations: Keep observations of any length in journals; by default long ones, such as
            pictures, are stored as digests, which `verify` compares.
        results: Write the statistics of round 1 (rewards, times, trials) to this file, after errors too; as
            JSON if its name ends in `.json`. Numbered like the journals in a series.
        overwrite: Replace files of `--journal` and `--results` that exist.
        resume: Go on with matches that were cut, from the last turn in their journals, and leave those that
            are over. The agents play the recorded turns again, outside of their time, and must repeat their
            answers; `llm` takes them from its notes. Everything else is named as before.
        words: File of words for sentence tasks, one word per line.
        bit_mode: One step is one bit instead of one byte, in both directions.
        scramble: Replace words by pseudo-words; for conversations in bit mode.
        fixes: Play the tasks of round 1 with four quirks of the original repaired (see `docs/round1.md`).
        max_reward_per_task: Limit of the reward of a task; after that it pays 0.
        agent_token_file: File with the token that connecting agents and learners must present.
        agent_cert: File with the certificate of this host in PEM format, for `tls` and `wss`.
        agent_key: File with the private key, unless the certificate's file has it.
        agent_reconnect: Let agents reconnect while their time lasts.
        learner_cmd: Program to start for `--agent zmq`; its last argument is the port.
        learner_port: Port of `--agent zmq`, which the three learner options imply; by default 5556.
        learner_address: Address to bind for learners; by default 127.0.0.1, `*` for all.
        fail_on_disqualified: End with exit code 1 if an agent was disqualified, for tests of agents.
        wide: Print whole tables, however long their lines are.
        json: Print one JSON object instead of tables; times in nanoseconds.
        quiet: Print only errors (and the object of `--json`).
    """
    from flagfall.agents.hosts.registry import Player
    from flagfall.agents.process.isolation import Isolation
    from flagfall.agents.registry import with_answers
    from flagfall.cli.runs.plan import check_tick, make_plan
    from flagfall.cli.runs.session import RunSession
    from flagfall.cli.runs.task_options import TaskOptions, check_players, choose_tasks
    from flagfall.playing import MatchRequest, models_of
    from flagfall.tasks.adapters.environment_task import split_texts
    from flagfall.timing.control import UNTIMED

    ids = tuple(part for text in task or () for part in split_texts(text))
    options = TaskOptions(words, bit_mode, scramble, max_reward_per_task, fixes)
    if resume and journal is None:
        raise UsageError("--resume: name the --journal of the match to go on with")
    if fault and clock == "wall":
        raise UsageError("--fault: a simulated match is on the virtual clock: leave --clock wall out")
    if resume and fault:
        raise UsageError("--fault: a match that goes on from a recorded one cannot be simulated")
    tasks, order = choose_tasks(ids, scheduler, config, options, steps=steps)
    kept = Isolation.from_options(isolation, limits, pass_env, show)
    faults = _schedule(fault)
    join_policy = _join_policy(agent_token_file, agent_cert, agent_key, reconnect=agent_reconnect)
    names = _agents(agent or [], learner_port, learner_address, learner_cmd)
    texts = with_answers(names, answers)
    models = models_of(think or [], len(names), "--think")
    request = MatchRequest(
        tasks=tasks,
        agents=tuple(
            Player(text, host, None if text == name else name, kept, join_policy, learner_cmd, think=model)
            for text, name, model in zip(texts, names, models, strict=True)
        ),
        scheduler=order,
        time_control=UNTIMED if no_timeout else time_control,
        clock=clock or ("wall" if faults is None else "virtual"),
        seed=seed,
        steps=steps,
        tick_ns=None if tick is None else check_tick(tick),
    )
    plan = make_plan(
        request,
        repeats=matches,
        journal=journal,
        whole=whole_observations,
        results=results,
        log=logs.log_file,
        overwrite=overwrite or resume,
    )
    if resume:
        plan = _resumed(plan, quiet=quiet)
    if faults is None:
        check_players(plan.apart)
    else:
        _check_faults(plan, faults)
    if not quiet:
        _print_notices(kept, plan)
    progress = not quiet and not logs.uses_stderr
    with logs.opened("run", journal, results) as opened:
        session = RunSession(plan, logs=opened, progress=progress, quiet=quiet, faults=faults)
        return session.run(json=json, wide=wide, fail_on_disqualified=fail_on_disqualified)


def _schedule(texts: list[str] | None) -> FaultSchedule | None:
    """Return the schedule of `--fault`; `None` where it is not given."""
    if not texts:
        return None
    from flagfall.testing.faults import FaultSchedule

    faults: list[Fault] = []
    for text in texts:
        try:
            faults += FaultSchedule.parse(text)
        except UsageError as error:
            raise UsageError(f"--fault {text!r:.80}: {error}") from None
    return FaultSchedule(tuple(faults))


def _check_faults(plan: RunPlan, faults: FaultSchedule) -> None:
    """Check that all matches of a plan can be simulated under faults."""
    import attrs

    from flagfall.testing.simulation.match import check_match

    for match in plan.matches:
        try:
            check_match(attrs.evolve(match.request, agents=match.players), faults)
        except UsageError as error:
            raise UsageError(f"--fault: {error}") from None


def _resumed(plan: RunPlan, *, quiet: bool) -> RunPlan:
    """Return a plan with the matches that are not over, each as it goes on from its journal."""
    import attrs

    from flagfall.cli.runs.resuming import resumed

    found = [(match, resumed(match)) for match in plan.matches]
    for match, left in found:
        if left is None and not quiet:
            print(f"flagfall: {match.request.journal}: the match is over", file=sys.stderr, flush=True)
    return attrs.evolve(plan, matches=tuple(left for _, left in found if left is not None))


def _print_notices(isolation: Isolation, plan: RunPlan) -> None:
    """Print lines about limits that the kernel of this machine does not enforce, and about an endless run."""
    from flagfall.agents.process.enforcement import advisory_line

    lines = [advisory_line(isolation)]
    if plan.endless and not plan.has_human:
        lines.append("this run has no end: Ctrl-C ends it and prints the results; --steps sets one")
    for line in filter(None, lines):
        print(f"flagfall: {line}", file=sys.stderr, flush=True)


def _join_policy(
    token_file: Path | None, certificate: Path | None, key: Path | None, *, reconnect: bool
) -> JoinPolicy | None:
    """Return the conditions for connecting agents; `None` if no option sets one."""
    if token_file is certificate is key is None and not reconnect:
        return None
    from flagfall.agents.wire.admission import JoinPolicy

    token = "" if token_file is None else JoinPolicy.read_token(token_file)
    return JoinPolicy(token, certificate, key, reconnect)


def _agents(agents: list[str], port: int | None, address: str | None, command: str | None) -> list[str]:
    """Return the agents; the learner options of round 1 replace or add the agent `zmq`."""
    if port is None and address is None and command is None:
        return agents
    if agents and [agent for agent in agents if agent.startswith("zmq")] != ["zmq"]:
        raise UsageError("--learner-cmd, --learner-port and --learner-address need exactly one --agent zmq")
    text = f"zmq://{address or '127.0.0.1'}:{5556 if port is None else port}"
    return [text if agent == "zmq" else agent for agent in agents or ["zmq"]]
