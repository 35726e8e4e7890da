"""`flagfall agent serve`: the agent's side of the wire protocol, for any Python agent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from cyclopts import App

from flagfall.cli.console.files import Flag
from flagfall.errors import HostFault, UsageError

agent: Final = App(
    name="agent", help="Run the agent's side of a match on another host.", help_format="markdown"
)


@agent.command
def serve(
    spec: str,
    /,
    *,
    connect: str | None = None,
    token_file: Path | None = None,
    ca: Path | None = None,
    wait: str = "10s",
    reconnect: Flag = False,
    matches: int = 1,
) -> int:
    """Play a Python agent over standard input and output, or over a connection to the host of a match.

    Without `--connect`, use it as the program of `--agent "cmd:flagfall agent serve bot.py:Bot"`, on this
    machine or over ssh on another. `docs/protocol.md` describes the wire protocol.

    Args:
        spec: The agent: a sample (`flagfall agents`), `file.py:Name` or `package.module:Name`; asyncio, trio
            or plain functions.
        connect: Address of the host: `tcp://HOST:PORT`, `tls://`, `ws://` or `wss://`.
        token_file: File with the token that the host requires.
        ca: File with the trusted certificates in PEM format; by default those of the system.
        wait: Time limit for connecting; attempts are repeated at growing intervals.
        reconnect: Reconnect when the connection is lost; the host must allow it.
        matches: Number of matches to play, one after the other.
    """
    from flagfall.agents.registry import load_agent
    from flagfall.agents.wire.admission import JoinPolicy
    from flagfall.agents.wire.client import ServerAddress, connect_and_play
    from flagfall.agents.wire.worker import serve as serve_wire
    from flagfall.agents.wire.worker import take_standard_streams
    from flagfall.timing.durations import S, parse_duration

    if connect is None:
        if token_file is not None or ca is not None or reconnect or matches != 1:
            raise UsageError("--token-file, --ca, --reconnect and --matches need --connect")
        return int(serve_wire(*take_standard_streams(), lambda _name: load_agent(spec)) is not None)
    if matches < 1:
        raise UsageError(f"--matches {matches}: write a whole number, at least 1")
    server = ServerAddress.parse(
        connect,
        token="" if token_file is None else JoinPolicy.read_token(token_file),
        authority=ca,
        wait_seconds=parse_duration(wait) / S,
        reconnect=reconnect,
    )
    loaded = load_agent(spec)
    told: set[str] = set()

    def tell(line: str) -> None:
        if line not in told:
            told.add(line)
            print(f"flagfall: {line}", file=sys.stderr, flush=True)

    code = 0
    for left in reversed(range(matches)):
        try:
            failed = connect_and_play(server, lambda: loaded, tell)
        except HostFault as error:  # this match is lost; the next one may succeed
            if not left:
                raise
            print(f"flagfall: {error}", file=sys.stderr)
            code = 1
            continue
        if failed is not None:
            print(f"flagfall: the agent was disqualified: {failed.reason}: {failed.detail}", file=sys.stderr)
            code = 1
    return code
