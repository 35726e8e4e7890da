"""`flagfall run`."""

from __future__ import annotations

__all__ = ["run"]

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from flagfall.cli.console.signals import SIGNALLED
from flagfall.errors import UsageError

if TYPE_CHECKING:
    from flagfall.agents.process.isolation import Isolation
    from flagfall.agents.wire.admission import Joining
    from flagfall.cli.runs.session import RunSession

_List = Parameter(consume_multiple=True, negative="")
_Flag = Parameter(negative="", show_default=False)


def run(
    *,
    task: Annotated[list[str] | None, Parameter(name=["--task", "-t"]), _List] = None,
    agent: Annotated[list[str] | None, Parameter(name=["--agent", "-a"]), _List] = None,
    config: Annotated[str | None, Parameter(name=["--config", "-c"])] = None,
    scheduler: str | None = None,
    steps: int | None = None,
    matches: int = 1,
    seed: Annotated[int, Parameter(name=["--seed", "-s"])] = 0,
    time_control: str | None = None,
    no_timeout: Annotated[bool, _Flag] = False,
    clock: Literal["wall", "virtual"] = "wall",
    host: Literal["task", "thread", "process"] | None = None,
    isolation: Literal["none", "process", "sandbox"] | None = None,
    limits: str | None = None,
    pass_env: Annotated[list[str] | None, _List] = None,
    show: Annotated[list[str] | None, _List] = None,
    tick: str | None = None,
    journal: Annotated[Path | None, Parameter(name=["--journal", "-o"])] = None,
    whole_observations: Annotated[bool, _Flag] = False,
    results: Path | None = None,
    words: Path | None = None,
    bit_mode: Annotated[bool, _Flag] = False,
    scramble: Annotated[bool, _Flag] = False,
    fixes: Annotated[bool, _Flag] = False,
    max_reward_per_task: float | None = None,
    agent_token_file: Path | None = None,
    agent_cert: Path | None = None,
    agent_key: Path | None = None,
    agent_reconnect: Annotated[bool, _Flag] = False,
    learner_cmd: str | None = None,
    learner_port: int | None = None,
    learner_address: str | None = None,
    json: Annotated[bool, _Flag] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"]), _Flag] = False,
    log_level: Literal["debug", "info", "warning", "error"] | None = None,
) -> int:
    """Play agents on tasks, under a time control, and print how they did.

    Everything is checked before anything is played. Several agents on tasks for one player make a series:
    a match for each agent, all with the same seed. Tasks for several players take the agents as seats.

    The first Ctrl-C ends the match after its turn, prints the results and completes the journal; the second
    one cancels at once. An agent that is late, crashes or answers nonsense loses its turn or its seat, which
    is a result: the exit code stays 0, the table says `fell`, and `--json` has `fell` and `detail`.

    Args:
        task: Ids of tasks, such as `micro1`; `flagfall tasks` lists them.
        agent: Who plays: a sample (`flagfall agents`), `file.py:Name`, `package.module:Name`, `human`,
            `human-line`, `"cmd:PROGRAM --option"` in any language, `tcp://ADDRESS:PORT` (or `tls`, `ws`,
            `wss`) for one that connects there, `zmq:PORT` for a learner of round 1 that does.
        config: Which tasks come in which order, instead of `--task` and `--scheduler`: `challenge` for round
            1 as it was, a `.json` file of round 1, a `.toml` file, or `file.py:function`.
        scheduler: Which task comes next: `random`, `sequential`, `sequential:2` (rounds), `incremental:3`,
            `consecutive:5`, `dependencies:micro1>micro2;unlock_threshold=4`. By default every task once,
            or round and round with `--steps`.
        steps: Each match ends after so many turns.
        matches: Play everything so many times; the first time with `--seed`, then with seeds derived from it.
        seed: Everything random derives from it.
        time_control: Such as `act=40ms/1s`, `blitz` or `"start=1s act=40ms total=10m"`; by default
            `start=10s init=5s act=1s/5s result=5s`.
        no_timeout: No time limits at all, whatever `--time-control` says: for debuggers.
        clock: `virtual`: waiting takes no time, and the same seed gives the same journal, byte by byte.
        host: Where agents run. By default samples in the event loop, and agents of your own in processes;
            under the virtual clock all in the loop.
        isolation: How agents in processes are kept apart: `process` (limits, few variables of the
            environment, temporary files of their own), `sandbox` (and no network, and a read-only system of
            which they see little; needs bubblewrap), or `none`.
        limits: What each of them may have, such as `memory=512MB processes=64 cpu=10m disk=1GB cores=0-1`.
        pass_env: Variables of the environment that they get besides the usual ones, such as a key.
        show: Files and folders that agents in a sandbox can read besides their own file or package.
        tick: Real-time pace: the world moves every so often (`20ms`) and takes each agent's newest action.
        journal: Record the match in this file; `.zst` at its end compresses it. In a series each match has
            its own, with its number: `run-0.jsonl`, `run-1.jsonl`, ...
        whole_observations: Journals keep observations of any length; otherwise long ones, such as pictures,
            stand as digests, which `verify` compares.
        results: Leave the figures of round 1 in this file, whatever becomes of the match: rewards, times and
            trials; as JSON where it ends in `.json`. In a series it is numbered as the journals are.
        words: A file of words, one a line, that sentence tasks speak of.
        bit_mode: One step is one bit instead of one byte, each way.
        scramble: Words become pseudo-words; for conversations, in bit mode.
        fixes: Play round 1's tasks with four quirks of the original repaired (`docs/round1.md` lists them).
        max_reward_per_task: A task that has paid so much pays no more.
        agent_token_file: A file with the token that agents and learners must say who connect over a network.
        agent_cert: A file with the certificate of this host, in PEM, for `tls` and `wss`.
        agent_key: A file with its key, where it is not in the same one.
        agent_reconnect: Agents whose line is lost may come back while they have time.
        learner_cmd: A program to start for `--agent zmq`; it gets the port as its last argument.
        learner_port: The port of `--agent zmq`, which these three imply; by default 5556.
        learner_address: The address to bind for it; by default 127.0.0.1, `*` for all.
        json: Print one JSON object instead of tables; times in nanoseconds.
        quiet: Print nothing but errors (and the object of `--json`).
        log_level: Log to the standard error what happens, from this level on.
    """
    import trio

    from flagfall.agents.process.isolation import Isolation
    from flagfall.cli.runs.plan import make_plan
    from flagfall.cli.runs.session import RunSession
    from flagfall.cli.runs.task_options import TaskOptions
    from flagfall.timing import VirtualClock

    plan = make_plan(
        task or (),
        _agents(agent or [], learner_port, learner_address, learner_cmd),
        config=config,
        options=TaskOptions(words, bit_mode, scramble, max_reward_per_task, fixes),
        learner_command=learner_cmd,
        joining=_joining(agent_token_file, agent_cert, agent_key, reconnect=agent_reconnect),
        scheduler=scheduler,
        steps=steps,
        seed=seed,
        time_control=time_control,
        clock=clock,
        host=host,
        isolation=Isolation.told(isolation, limits, pass_env, show),
        journal=journal,
        results=results,
        repeats=matches,
        tick=tick,
        timed=not no_timeout,
    )
    if plan.in_processes:
        from flagfall.cli.runs.preflight import check_now

        check_now(plan.in_processes, plan.isolation)
    if not quiet:
        _tell_advisory(plan.isolation)
    if log_level is not None:
        from flagfall.recording.log_sink import configure_logging

        configure_logging(level=log_level)
    progress = not quiet and log_level is None
    session = RunSession(plan, logs=log_level is not None, progress=progress, whole=whole_observations)
    try:
        trio.run(session.play, clock=VirtualClock() if plan.virtual else None)
    finally:
        _report(session, json=json, quiet=quiet)
    if session.fault is not None:
        raise session.fault
    return SIGNALLED + session.signal if session.signal else 0


def _tell_advisory(isolation: Isolation) -> None:
    """Print one line on limits that this machine does not enforce at once, if any were asked for."""
    import sys

    from flagfall.agents.process.enforcement import advisory_line

    if line := advisory_line(isolation):
        print(f"flagfall: {line}", file=sys.stderr, flush=True)


def _joining(
    token_file: Path | None, certificate: Path | None, key: Path | None, *, reconnect: bool
) -> Joining | None:
    """Who may join over a network; `None` where nothing is said of it."""
    if token_file is certificate is key is None and not reconnect:
        return None
    from flagfall.agents.wire.admission import Joining

    token = "" if token_file is None else Joining.read_token(token_file)
    return Joining(token, certificate, key, reconnect)


def _agents(agents: list[str], port: int | None, address: str | None, command: str | None) -> list[str]:
    """The agents, with the remote learner that the options of round 1 mean in its place."""
    if port is None and address is None and command is None:
        return agents
    if agents and [agent for agent in agents if agent.startswith("zmq")] != ["zmq"]:
        raise UsageError("--learner-cmd, --learner-port and --learner-address go with one --agent zmq")
    text = f"zmq://{address or '127.0.0.1'}:{5556 if port is None else port}"
    return [text if agent == "zmq" else agent for agent in agents or ["zmq"]]


def _report(session: RunSession, *, json: bool, quiet: bool) -> None:
    """Print what was played."""
    from flagfall.cli.console.output import print_json
    from flagfall.cli.runs.tables import as_data, print_falls, print_journals, print_results

    if json:
        ended = "fault" if session.fault is not None else "signal" if session.signal else "done"
        print_json({"ended": ended, "matches": [as_data(match) for match in session.played]})
    elif session.played and not quiet:
        several = len(session.plan.matches) > 1
        print_results(session.played, several=several)
        print_falls(session.played, several=several)
        print_journals(session.played)
