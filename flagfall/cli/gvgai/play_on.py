"""`flagfall gvgai play-on`."""

from __future__ import annotations

__all__ = ["play_on"]

from typing import Annotated

from cyclopts import Parameter

from flagfall.cli.console.log_options import NO_LOG, LogOptions
from flagfall.cli.gvgai.options import Flag, Seed


def play_on(
    server: str,
    /,
    *,
    agent: Annotated[str, Parameter(name=["--agent", "-a"])],
    time_control: str = "gvgai-2017",
    wait: float = 10.0,
    seed: Seed = 0,
    json: Annotated[bool, Flag] = False,
    logs: LogOptions = NO_LOG,
) -> int:
    """Let an agent play at a server of the original, as a client of it.

    Args:
        server: `HOST:PORT`, such as `localhost:8080`.
        agent: Who plays: `random`, `q-learning`, `file.py:Name` or `package.module:Name`; it runs in this
            process.
        time_control: Limits that the client enforces, because that server does not. `total` is the time for
            training.
        wait: Timeout of connecting, in seconds.
        seed: Seed of the agent.
        json: Print one JSON object instead of lines.
        logs: Settings of the log.
    """
    import attrs
    import trio

    from flagfall.agents.registry import load_agent
    from flagfall.cli.console.output import print_json
    from flagfall.cli.gvgai.execution import run_until_interrupted
    from flagfall.errors import UsageError
    from flagfall.gvgai.client import ClientReport, play_remote
    from flagfall.gvgai.sample_players import PLAYERS
    from flagfall.terminal_text import sanitize_terminal
    from flagfall.timing import TimeControl

    host, colon, port = server.rpartition(":")
    if not colon or not host or not port.isdecimal():
        raise UsageError(f"{server!r} is not an address: write HOST:PORT, such as localhost:8080")
    control = TimeControl.parse(time_control)
    player = PLAYERS[agent] if agent in PLAYERS else load_agent(agent)
    reports: list[ClientReport] = []

    async def play(stop: trio.Event) -> None:
        async with trio.open_nursery() as nursery:

            async def leave() -> None:
                await stop.wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(leave)
            report = ClientReport()
            reports.append(report)
            await play_remote(
                player,
                host,
                int(port),
                control,
                seed=seed,
                wait_seconds=wait,
                report=report,
                sinks=opened.sinks(server),
            )
            nursery.cancel_scope.cancel()

    with logs.opened() as opened:
        code = run_until_interrupted(play)
    for report in reports:
        if json:
            print_json(attrs.asdict(report))
        else:
            outcomes = (
                ", ".join(f"{count} {winner}" for winner, count in report.winners.items()) or "no games"
            )
            print(f"{outcomes}; {report.ticks} actions, {report.late} late, {report.overspent} overspent")
            if report.fault:
                print(f"the agent {sanitize_terminal(report.fault).strip()}")
            elif not report.finished:
                print("the connection ended before the server sent FINISH")
    return code
