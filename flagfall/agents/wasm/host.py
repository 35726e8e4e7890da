"""Host of agents in WebAssembly: modules and components, and Python agents.

An agent is called once for each message of the agent protocol, in a thread, and its work is counted in units
of fuel. By the rate of its seat they are its time, which passes on the virtual clock before its answer is
heard. So whatever it does, and whatever this machine does meanwhile, its times, its verdicts and its match
are the same.

Where the seat has no rate, the work takes the time of the clock: none on a virtual one, and real time on the
wall's.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio

from flagfall.agents.process.prints import Prints
from flagfall.agents.wasm import building
from flagfall.agents.wire.session import ProtocolChannel, WireSession
from flagfall.code_loader import files_of_file, files_of_module
from flagfall.errors import UNRESPONSIVE, AgentFault
from flagfall.kernel.outcomes import STDERR_BYTES, end_of
from flagfall.timing import NEVER_NS, VirtualClock
from flagfall.timing.distributions import MAX_LATENCY_NS
from flagfall.timing.rates import Fuel

if TYPE_CHECKING:
    from collections.abc import Callable

    from flagfall.agents.spec import AgentSpec
    from flagfall.agents.wasm.engine import Machine, Program
    from flagfall.kernel.hosting import Briefing, HostKind
    from flagfall.kernel.seat import HostSeat

DEFAULT_MEMORY: Final = 512 * 1024**2
"""Memory of an agent, in bytes, unless its limits say otherwise."""

MAX_UNITS: Final = 30_000_000_000
"""Fuel of a call on the virtual clock that no limit ends: half a minute of a fast machine. An agent that uses
all of it is disqualified as unresponsive, after the same work on every machine."""

NO_LIMIT_UNITS: Final = 1 << 62
"""Fuel of a call on the wall clock, which ends it."""

GUEST_RATE: Final = Fuel(1_000_000_000)
"""The rate of an agent's own clock where its seat has none."""

_QUICK_SECONDS: Final = 0.001
"""The longest time for which a call holds up the event loop: most answers are there before, and cost no pass
of it."""

THREAD_STACK_BYTES: Final = 16 * 1024**2
"""Stack of a thread that runs agents. wasmtime trusts that it is larger than what an agent may use of it
(`flagfall.agents.wasm.engine.STACK_BYTES`), with room for calls of the host."""

_THREADS: Final = 64
"""Most calls at a time, of which each needs a processor. Further ones wait; a virtual clock stands still."""


class WasmHost:
    """Runs an agent in WebAssembly.

    Args:
        spec: a file of WebAssembly, or Python code, which the component of Python agents runs.
        memory: bytes of its memory; `None` for `DEFAULT_MEMORY`.

    Raises:
        UsageError: a library is missing.
    """

    kind: HostKind = "wasm"
    measures: Final = "fuel"

    def __init__(self, spec: AgentSpec, name: str, memory: int | None = None) -> None:
        self.name = name
        self._spec = spec.in_folder(Path.cwd())
        self._memory = memory or DEFAULT_MEMORY
        building.check_installed(python=spec.scheme == "python")

    @property
    def is_ready(self) -> bool:
        """Whether all that `prepare` makes is there."""
        return building.is_ready(self._spec)

    def prepare(self) -> Program:
        """Return the program; what is missing of it is built, which takes up to a minute.

        Raises:
            UsageError: there is no such file, it is not WebAssembly, or nothing can be built here.
            HostFault: the disk failed.
        """
        return building.program_of(self._spec, self.name)

    async def warm_up(self) -> None:
        """Build what is missing; see `flagfall.kernel.hosting.SharingHost`."""
        if not self.is_ready:
            await trio.to_thread.run_sync(self.prepare)

    async def run(self, seat: HostSeat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`."""
        from flagfall.agents.wasm.engine import Machine  # noqa: PLC0415 - an extra
        from flagfall.agents.wasm.wasi import System  # noqa: PLC0415

        program = self.prepare()
        try:
            await seat.agent.turn()
        except trio.EndOfChannel:
            return
        prints = Prints(STDERR_BYTES, seat.number, lambda: calls.turn)
        rate = seat.rate if isinstance(seat.rate, Fuel) else None
        system = System(rate or GUEST_RATE, briefing.seed, prints.add)
        machine = Machine(program, self.name, self._memory, system)
        calls = _Calls(seat, machine, rate)
        channel = ProtocolChannel(calls)
        session = WireSession(seat, briefing, self._text(), files=self._files())
        try:
            await session.start(channel)
            await session.play(channel)
        except AgentFault as fault:
            tail = end_of(prints.parts())
            raise AgentFault(fault.reason, "\n".join(filter(None, (fault.detail, tail)))) from fault
        finally:
            machine.close()
            seat.printed = prints.parts()

    def _text(self) -> str:
        """Return the text of the agent without its folder, whose length would cost it fuel."""
        return f"{Path(self._spec.target).name}:{self._spec.member}"

    def _files(self) -> dict[str, str]:
        """Return the modules of a Python agent, by their names; none of a program."""
        if self._spec.scheme != "python":
            return {}
        place = self._spec.target
        files = files_of_file(Path(place)) if self._spec.is_file else files_of_module(place)
        return {name: path.read_text("utf-8") for name, path in files.items()}


class _Calls:
    """Calls of an agent, as a stream of messages: each one sent is a call, whose answer is received."""

    def __init__(self, seat: HostSeat, machine: Machine, rate: Fuel | None) -> None:
        self.turn = 0
        self._seat = seat
        self._machine = machine
        self._rate = rate
        self._message: bytes | None = None
        self._is_started = False

    def send_nowait(self, payload: bytes) -> bool:
        """Keep the message for the call."""
        self._message = payload
        return True

    async def send(self, payload: bytes) -> None:
        """Keep the message for the call."""
        self._message = payload

    async def flush(self) -> None:
        """Do nothing: all of it is sent."""

    def receive_nowait(self) -> bytes | None:
        """Return `None`: an answer has to be waited for."""
        return None

    async def receive(self) -> bytes:
        """Call the agent, and return its answer when the time of its work has passed."""
        message, self._message = self._message, None
        if message is None:
            raise AgentFault("garbage", "its answer names another turn than that which it was asked for")
        seat, rate = self._seat, self._rate
        self.turn = seat.turn_number
        most_ns = NEVER_NS if rate is None else seat.most_ns
        if rate is not None and most_ns < NEVER_NS:
            units = rate.units_in(most_ns)
        else:
            units = MAX_UNITS if isinstance(trio.lowlevel.current_clock(), VirtualClock) else NO_LIMIT_UNITS
        answer = await self._call(self._export(), message, units)
        if rate is not None:
            await seat.spend(rate.time_ns(self._machine.used))
        if not isinstance(answer, AgentFault | None):
            return answer
        if answer is not None:
            raise answer
        if most_ns >= NEVER_NS:
            raise AgentFault(
                UNRESPONSIVE, f"it used {units:,} units of fuel for one answer, which is the most"
            )
        while True:  # until its clock has disqualified it
            await seat.spend(MAX_LATENCY_NS)

    def _export(self) -> str:
        if not self._is_started:
            self._is_started = True
            return "start"
        return "result" if self._seat.clock.phase == "result" else "act"

    async def _call(self, export: str, message: bytes, units: int) -> bytes | AgentFault | None:
        """Return what a call of the agent comes to: an answer, a fault, or `None` at the end of its fuel."""
        from flagfall.agents.wasm.engine import OutOfFuel  # noqa: PLC0415 - an extra

        try:
            return await _in_thread(partial(self._machine.call, export, message, units), self._machine.stop)
        except OutOfFuel:
            return None
        except AgentFault as fault:
            return AgentFault("not started", fault.detail) if export == "start" else fault

    def age_ns(self) -> int | None:
        """Return `None`: an answer is read as it is made."""
        return None

    def allow(self, max_bytes: int) -> None:
        """Do nothing: the machine has the same limit."""

    def use_frames(self) -> None:
        """Do nothing: a call has one message."""

    def close(self) -> None:
        """Do nothing: the machine ends with its match."""


async def _in_thread(work: Callable[[], bytes], stop: Callable[[], None]) -> bytes:
    """Return what a call of the machine returns; a virtual clock stands still for it."""
    clock = trio.lowlevel.current_clock()
    usual = threading.stack_size(THREAD_STACK_BYTES)
    try:
        future = _threads().submit(work)  # which may start a thread
    finally:
        threading.stack_size(usual)
    done, token = trio.Event(), trio.lowlevel.current_trio_token()
    try:
        if isinstance(clock, VirtualClock):
            with suppress(TimeoutError):
                return future.result(_QUICK_SECONDS)
        future.add_done_callback(lambda _future: _tell(token, done))
        with clock.hold() if isinstance(clock, VirtualClock) else nullcontext():
            await done.wait()
    except trio.Cancelled:
        stop()
        with trio.CancelScope(shield=True):
            await done.wait()
        raise
    except KeyboardInterrupt:
        stop()
        wait([future])
        raise
    return future.result()


def _tell(token: trio.lowlevel.TrioToken, done: trio.Event) -> None:
    with suppress(trio.RunFinishedError):
        token.run_sync_soon(done.set)


@cache
def _threads() -> ThreadPoolExecutor:
    """Return the threads of this process that run agents, each with room for the stack of one."""
    return ThreadPoolExecutor(_THREADS, "flagfall wasm")
