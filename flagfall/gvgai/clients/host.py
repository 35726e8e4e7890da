"""Host of a GVGAI client that is started here and connects to a port, like the public clients.

| the client | verdict |
|---|---|
| ends before it connects, or does not connect in time | `not connected` |
| connects a second time | the connection is refused, and the first one continues |
| sends nothing, ends, or sends invalid lines | as for any client: `late`, `gone`, `garbage` |
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Iterable
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from flagfall.agents.process import supervisor
from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation
from flagfall.agents.process.sandbox import check_sandbox
from flagfall.agents.process.supervised import (
    EXIT_GRACE_SECONDS,
    SupervisedProcess,
    open_supervised,
    supervise,
)
from flagfall.agents.spec import split_command
from flagfall.errors import AgentFault, HostFault
from flagfall.gvgai.clients.network import PORT_PLACEHOLDER, ClientNetwork, is_made_by, open_network
from flagfall.gvgai.hosts import ConnectedHost
from flagfall.timing.durations import S

if TYPE_CHECKING:
    from flagfall.kernel.hosting import Briefing, HostKind
    from flagfall.kernel.seat import HostSeat
    from flagfall.tasks.vgdl.learning_track import Track

CONNECT_SECONDS: Final = 10.0
"""Least time that a client has to connect; a Java virtual machine on a busy host needs some seconds."""

ANSWER_SECONDS: Final = 1.0
"""Part of `start` reserved for the first answer, so that a client that does not connect and one that does not
answer get different verdicts."""

END_SECONDS: Final = 0.5
"""Grace period of a client to end by itself when its connection is closed."""

OWNER_SEARCH_PAUSE_SECONDS: Final = 0.01
"""Time between searches for the owner of a connection; each reads all descriptors of the client."""

OWNER_SEARCHES: Final = 5
"""Searches before a connection is refused, since processes and descriptors change in the meantime."""

_SHOWN: Final = ("hosts", "nsswitch.conf", "java-*")
"""Files of `/etc` that clients need in a sandbox: the address of `localhost`, and the settings of Java."""


_VIRTUAL_FOLDERS: Final = (("/", "dev"), ("/", "proc"), ("/", "sys"))


class ClientHost:
    """Host that starts a client, and seats it when it connects.

    Args:
        command: client with its arguments; split as by a shell, without running one. It connects to port 8080
            of `localhost`; `{port}` stands for the port, for a client that takes it as an argument.
        isolation: isolation of its process. In a sandbox it can read the files and folders that its command
            names.

    Raises:
        UsageError: there is no such program, or sandboxes are not supported on this machine.
    """

    kind: HostKind = "process"

    def __init__(
        self, command: str, track: Track, name: str, isolation: Isolation = DEFAULT_ISOLATION
    ) -> None:
        if isolation.kind == "sandbox":
            check_sandbox()
        self.name = name
        program, *arguments = split_command(command)
        self._words = [str(Path(shutil.which(program) or program).absolute()), *arguments]
        self._track = track
        self._isolation = isolation
        self._network: ClientNetwork | None = None

    async def prepare(self) -> None:
        """Find a network for the client, before the match and its clock begin; this may wait for a port.

        Raises:
            HostFault: there is no network for it.
        """
        takes_port = any(PORT_PLACEHOLDER in word for word in self._words)
        self._network = await open_network(self._isolation, any_port=takes_port)

    def close(self) -> None:
        """Close the network if the match was void before the client was seated."""
        if self._network is not None:
            self._network.close()

    async def run(self, seat: HostSeat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`. `prepare` is called first."""
        network = self._network
        if network is None:
            raise HostFault("the host of a GVGAI client was not prepared for its match")
        limits = self._isolation.limits
        for_launcher = attrs.evolve(self._isolation, limits=attrs.evolve(limits, files=None))
        link, far_end = socket.socketpair()
        with link:
            with far_end:
                supervised = await open_supervised(
                    network.command(self._words, limits.files),
                    for_launcher,
                    shown=[*_system_places(), *_named_places(self._words)],
                    stdin=far_end.fileno(),
                    stdout=subprocess.DEVNULL,
                )
            await supervise(supervised, seat, partial(self._play, seat, briefing, network, supervised, link))

    async def _play(
        self,
        seat: HostSeat,
        briefing: Briefing,
        network: ClientNetwork,
        supervised: SupervisedProcess,
        link: socket.socket,
        stack: ExitStack,
    ) -> None:
        stack.callback(network.close)
        try:
            listener = await network.take_listener(link)
        except HostFault as fault:
            await supervised.wait_for_exit(EXIT_GRACE_SECONDS)
            raise HostFault(
                f"{fault}: {supervised.stderr_tail}" if supervised.stderr_tail else str(fault)
            ) from fault
        host = ConnectedHost(
            await _ConnectionWaiter(seat, network, supervised).wait(listener), self._track, self.name
        )
        stack.callback(host.close)
        network.close()
        if seat.budget.control.clock == "cpu":
            seat.clock.cpu_clock = supervised.cpu_clock()
        await host.run(seat, briefing)
        await supervised.wait_for_exit(END_SECONDS)


class _ConnectionWaiter:
    """Waits for the connection of a client."""

    def __init__(self, seat: HostSeat, network: ClientNetwork, supervised: SupervisedProcess) -> None:
        start_ns = seat.budget.control.start
        self._seconds = max(CONNECT_SECONDS, 0 if start_ns is None else start_ns / S - ANSWER_SECONDS)
        self._network = network
        self._supervised = supervised
        self._connection: socket.socket | None = None
        self._refused = 0

    async def wait(self, listener: socket.socket) -> socket.socket:
        """Return the connection.

        Raises:
            AgentFault: the client ended before it connected, or did not connect in time.
        """
        try:
            with trio.move_on_after(self._seconds):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._accept, listener, nursery.cancel_scope)
                    await self._supervised.process.wait()
                    nursery.cancel_scope.cancel()
        except trio.Cancelled:
            if self._connection is not None:
                self._connection.close()
            raise
        if self._connection is not None:
            return self._connection
        where = f"port {self._network.port}"
        if self._supervised.process.returncode is not None:
            raise AgentFault("not connected", f"the client ended before it connected to {where}")
        others = f"; connections of other programs: {self._refused}" if self._refused else ""
        raise AgentFault(
            "not connected", f"the client did not connect to {where} in {self._seconds:g} s{others}"
        )

    async def _accept(self, listener: socket.socket, scope: trio.CancelScope) -> None:
        while True:
            await trio.lowlevel.wait_readable(listener)
            try:
                connection, _ = listener.accept()
            except OSError:  # it was already closed, or no descriptor is left
                await trio.sleep(OWNER_SEARCH_PAUSE_SECONDS)
                continue
            if await self._is_from_client(connection):
                connection.setblocking(False)
                self._connection = connection
                scope.cancel()
                return
            self._refused += 1
            connection.close()

    async def _is_from_client(self, connection: socket.socket) -> bool:
        """Return whether the client made the connection; in its own network no other process can."""
        if self._network.kind != "shared":
            return True
        try:
            for _ in range(OWNER_SEARCHES):
                processes = supervisor.descendants(self._supervised.process.pid)
                if await trio.to_thread.run_sync(is_made_by, connection, processes):
                    return True
                await trio.sleep(OWNER_SEARCH_PAUSE_SECONDS)
        except trio.Cancelled:
            connection.close()
            raise
        return False


@asynccontextmanager
async def ready(host: Any) -> AsyncIterator[None]:
    """Prepare the host for a match, if it is a `ClientHost`, and close it afterwards."""
    if not isinstance(host, ClientHost):
        yield
        return
    await host.prepare()
    try:
        yield
    finally:
        host.close()


def _system_places() -> list[str]:
    return [str(place) for name in _SHOWN for place in Path("/etc").glob(name)]


def _named_places(words: Iterable[str]) -> list[str]:
    """Return the files and folders that a command names, also in a class path (`build:lib/gson.jar`).

    The working directory and its parents are left out, because results and other agents may be there, and so
    are `/dev`, `/proc` and `/sys`, of which the sandbox has its own.
    """
    here = Path.cwd()
    places = [Path(part).absolute() for word in words for part in word.split(os.pathsep) if part]
    found = [place for place in places if place.is_file() or place.is_dir()]
    return [
        str(place)
        for place in found
        if not here.is_relative_to(place) and place.parts[:2] not in _VIRTUAL_FOLDERS
    ]
