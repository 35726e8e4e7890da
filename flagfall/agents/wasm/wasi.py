"""The system interface of agents in WebAssembly: what WASI, in both its versions, gives them here.

| an agent asks for | and gets |
|---|---|
| a clock | the time that its work has taken so far, by its rate of fuel, from 0 |
| sleep | its fuel goes down by that time |
| random bytes | those of a generator that begins with the agent's seed |
| environment | `PYTHONHASHSEED=0` |
| standard output, error | both are its prints |
| standard input | the end |
| exit | the end of the agent, with the exit code |
| files, network, arguments | none: a call of another function ends the agent |

Every call uses fuel itself, so that an agent cannot occupy the host by calls that cost it nothing. No
function raises: wasmtime keeps the exception of a callback in a place that all threads share.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from wasmtime import FuncType, Linker, Memory, ValType, WasmtimeError
from wasmtime import component as components

if TYPE_CHECKING:
    from wasmtime import Caller, Engine

    from flagfall.timing.rates import Fuel

CALL_UNITS: Final = 50_000
"""Fuel of a call of the host: what an agent does in the 50 µs that the host's Python takes for one."""

BYTE_UNITS: Final = 500
"""Fuel of each byte that such a call carries; wasmtime's Python takes 0.4 µs for one."""

ANSWER_UNITS: Final = 10
"""Fuel of each byte of an answer, which the host copies and decodes in some 10 ns; all languages pay it."""

_PART_BYTES: Final = 8
"""Bytes that name a part of a print: its place and size."""

MAX_RANDOM_BYTES: Final = 1 << 16
"""Most random bytes of a call; a longer one ends the agent."""

MAX_PRINT_BYTES: Final = 1 << 16
"""Most bytes that a call prints; the agent is told how many were taken."""

MAX_MOMENTS: Final = 1_000
"""Most moments to wait for that an agent keeps at a time; one more ends it."""

_MAX_PARTS: Final = 64
"""Most parts that a call to print has, and most moments of which a call to sleep waits for the first."""

ENVIRONMENT: Final = {"PYTHONHASHSEED": "0"}

_NS: Final = 1_000_000_000


class System:
    """What one agent has of the world in one match.

    Args:
        rate: the rate of its clock.
        seed: where its random bytes begin.
        write: takes what it prints.

    Attributes:
        ended: why the agent has ended itself, or was ended for a call; empty while it has not.
    """

    def __init__(self, rate: Fuel, seed: int, write: Callable[[bytes], None]) -> None:
        self.ended: str = ""
        self.write: Callable[[bytes], None] = write
        self._rate = rate
        self._random = random.Random(seed)
        self._store: Any = None
        self._used = self._given = self._left = 0
        self._wakes: dict[int, int] = {}
        self._moments = 0

    def begin_call(self, store: Any, units: int) -> None:
        """Give the agent fuel for a call, which this thread makes."""
        self._store, self._given = store, units
        _call.system = self
        store.set_fuel(units)

    def end_call(self) -> int:
        """Return the fuel that the call has used."""
        used = self._given - (self._left if self.ended else self._store.get_fuel())
        self._used += used
        return used

    def pay(self) -> None:
        """Use the fuel of a call of the host, without that of the bytes that it carries."""
        self._burn(CALL_UNITS)

    def carry(self, count: int) -> None:
        """Use the fuel of bytes that a call of the host carries."""
        self._burn(BYTE_UNITS * count)

    def answer(self, count: int) -> None:
        """Use the fuel of the bytes of an answer."""
        self._burn(ANSWER_UNITS * count)

    def _burn(self, units: int) -> None:
        self._store.set_fuel(max(0, self._store.get_fuel() - units))

    def now_ns(self) -> int:
        """Return the time by the agent's clock."""
        return self._rate.time_ns(self._used + self._given - self._store.get_fuel())

    def sleep(self, time_ns: int) -> None:
        """Let time pass by the agent's clock."""
        self._burn(self._rate.units_in(max(0, time_ns)))

    def random_bytes(self, count: int) -> bytes:
        """Return the next random bytes."""
        if count > MAX_RANDOM_BYTES:
            self.end(f"it asked for {count} random bytes at once; {MAX_RANDOM_BYTES} are the most")
            return b""
        self.carry(count)
        return self._random.randbytes(count)

    def print(self, text: bytes) -> None:
        """Take what the agent prints."""
        self.carry(len(text))
        self.write(text)

    def end(self, why: str) -> None:
        """End the agent at its next instruction."""
        if not self.ended:
            self.ended, self._left = why, self._store.get_fuel()
            self._store.set_fuel(0)

    # Moments to wait for, in components.

    def wake_at(self, when_ns: int) -> int:
        """Return the number of a moment that can be waited for, until `forget` is called with it."""
        if len(self._wakes) >= MAX_MOMENTS:
            self.end(f"it keeps more than {MAX_MOMENTS} moments to wait for")
            return 0
        self._moments += 1
        self._wakes[self._moments] = when_ns
        return self._moments

    def forget(self, number: int) -> None:
        """Forget a moment that the agent does not wait for any more."""
        self._wakes.pop(number, None)

    def sleep_until(self, numbers: Iterable[int]) -> list[int]:
        """Sleep until the first of some moments; return the places of those that have come."""
        moments = [self._wakes.get(number, 0) for number in numbers]
        self.sleep(min(moments, default=0) - self.now_ns())
        return [place for place, when_ns in enumerate(moments) if when_ns <= self.now_ns()]


class _Call(threading.local):
    """The call that a thread makes: functions of a linker serve all agents."""

    system: System


_call: Final = _Call()

# Preview 1, which modules import.

_SUCCESS, _BAD_DESCRIPTOR, _INVALID, _NOT_SUPPORTED = 0, 8, 28, 58
_SIZE = 1 << 32


class _Memory:
    """The memory of the module that calls; addresses that it does not have end the agent."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._memory = caller.get("memory")

    def _with(self, at: int, size: int) -> Memory | None:
        """Return the memory if it has some bytes at an address."""
        memory = self._memory
        if isinstance(memory, Memory) and 0 <= at <= at + size <= memory.data_len(self._caller):
            return memory
        _call.system.end("it gave the host an address outside of its memory")
        return None

    def read(self, at: int, size: int) -> bytes:
        memory = self._with(at, size)
        return b"" if memory is None else bytes(memory.read(self._caller, at, at + size))

    def write(self, at: int, data: bytes) -> None:
        if data and (memory := self._with(at, len(data))) is not None:
            memory.write(self._caller, data, at)

    def number(self, at: int, size: int = 4) -> int:
        return int.from_bytes(self.read(at, size), "little")

    def put(self, at: int, value: int, size: int = 4) -> None:
        self.write(at, value.to_bytes(size, "little"))


def _fd_write(memory: _Memory, fd: int, vectors: int, count: int, written: int) -> int:
    if fd not in {1, 2}:
        return _BAD_DESCRIPTOR
    total = 0
    for place in range(min(count, _MAX_PARTS)):
        part = vectors + _PART_BYTES * place
        at, size = memory.number(part), memory.number(part + 4)
        size = min(size, MAX_PRINT_BYTES - total)
        _call.system.carry(_PART_BYTES)
        _call.system.print(memory.read(at, size))
        total += size
    memory.put(written, total)
    return _SUCCESS


def _fd_read(memory: _Memory, fd: int, _vectors: int, _count: int, read: int) -> int:
    memory.put(read, 0)
    return _SUCCESS if fd == 0 else _BAD_DESCRIPTOR


def _fd_fdstat_get(memory: _Memory, fd: int, into: int) -> int:
    if fd not in {0, 1, 2}:
        return _BAD_DESCRIPTOR
    memory.write(into, bytes([2]) + bytes(23))  # a character device
    return _SUCCESS


def _clock_time_get(memory: _Memory, _clock: int, _precision: int, into: int) -> int:
    memory.put(into, _call.system.now_ns(), 8)
    return _SUCCESS


def _clock_res_get(memory: _Memory, _clock: int, into: int) -> int:
    memory.put(into, 1, 8)
    return _SUCCESS


def _random_get(memory: _Memory, into: int, count: int) -> int:
    memory.write(into, _call.system.random_bytes(count % _SIZE))
    return _SUCCESS


def _environ_sizes_get(memory: _Memory, count: int, size: int) -> int:
    memory.put(count, len(_ENTRIES))
    memory.put(size, sum(map(len, _ENTRIES)))
    return _SUCCESS


def _environ_get(memory: _Memory, places: int, at: int) -> int:
    for number, entry in enumerate(_ENTRIES):
        memory.put(places + 4 * number, at)
        memory.write(at, entry)
        at += len(entry)
    return _SUCCESS


def _args_sizes_get(memory: _Memory, count: int, size: int) -> int:
    memory.put(count, 0)
    memory.put(size, 0)
    return _SUCCESS


def _poll_oneoff(memory: _Memory, events_in: int, out: int, count: int, fired: int) -> int:
    """Sleep until the first of the clocks that are waited for; nothing else can be."""
    system, sooner = _call.system, -1
    userdata = b""
    for place in range(min(count, _MAX_PARTS)):
        at = events_in + 48 * place
        if memory.read(at + 8, 1) != b"\0":
            return _NOT_SUPPORTED
        wait_ns = memory.number(at + 24, 8)
        if memory.number(at + 40, 2) & 1:  # a moment, not a time from now
            wait_ns = max(0, wait_ns - system.now_ns())
        if sooner < 0 or wait_ns < sooner:
            sooner, userdata = wait_ns, memory.read(at, 8)
    if sooner < 0:
        return _INVALID
    system.sleep(sooner)
    memory.write(out, userdata + bytes(24))
    memory.put(fired, 1)
    return _SUCCESS


def _proc_exit(_memory: _Memory, code: int) -> None:
    _call.system.end(_exited(code))


def _exited(code: int) -> str:
    return f"it ended itself (exit code {code})"


_ENTRIES: Final = [f"{name}={value}\0".encode() for name, value in ENVIRONMENT.items()]

_PREVIEW_1: Final[Mapping[str, tuple[Callable[..., int | None], str]]] = {
    "args_get": (lambda _memory, _places, _at: _SUCCESS, "ii"),
    "args_sizes_get": (_args_sizes_get, "ii"),
    "clock_res_get": (_clock_res_get, "ii"),
    "clock_time_get": (_clock_time_get, "iIi"),
    "environ_get": (_environ_get, "ii"),
    "environ_sizes_get": (_environ_sizes_get, "ii"),
    "fd_close": (lambda _memory, _fd: _SUCCESS, "i"),
    "fd_fdstat_get": (_fd_fdstat_get, "ii"),
    "fd_prestat_get": (lambda _memory, _fd, _into: _BAD_DESCRIPTOR, "ii"),
    "fd_prestat_dir_name": (lambda _memory, _fd, _at, _size: _BAD_DESCRIPTOR, "iii"),
    "fd_read": (_fd_read, "iiii"),
    "fd_seek": (lambda _memory, _fd, _by, _whence, _into: _NOT_SUPPORTED, "iIii"),
    "fd_write": (_fd_write, "iiii"),
    "poll_oneoff": (_poll_oneoff, "iiii"),
    "proc_exit": (_proc_exit, "i"),
    "random_get": (_random_get, "ii"),
    "sched_yield": (lambda _memory: _SUCCESS, ""),
}
"""Functions by their names, with the types of their arguments: `i` of 32 bits, `I` of 64."""


# Preview 2, which components import. Its functions get the store, and the numbers of resources.

_RESOURCES: Final = {"pollable": 1, "output-stream": 2, "input-stream": 3, "error": 4}
"""Numbers of the types of resources; those of which an agent gets none have their own."""


_DONE: Final = components.Variant("ok")
_END: Final = None
"""Both are what wasmtime takes for the cases `ok` of a write, and `closed` of a read."""


def _number(store: Any, argument: Any) -> Any:
    """Return the number of a resource, or of each one in a list, and give them back; other values as is."""
    if isinstance(argument, list):
        return [_number(store, one) for one in argument]
    return argument.to_host(store).rep if isinstance(argument, components.ResourceAny) else argument


def _none(_value: object) -> None:
    """Return nothing."""


def _own(kind: str, number: int = 0) -> Any:
    return components.ResourceHost.own(number, _RESOURCES[kind])


def _wake_at(when_ns: int) -> Any:
    return _own("pollable", _call.system.wake_at(when_ns))


def _forget(_store: Any, number: int) -> None:
    _call.system.forget(number)


def _date(_store: Any) -> Any:
    seconds, nanoseconds = divmod(_call.system.now_ns(), _NS)
    return SimpleNamespace(seconds=seconds, nanoseconds=nanoseconds)


def _printed(text: bytes) -> Any:
    _call.system.print(text)
    return _DONE


def _exit(_store: Any, status: Any) -> None:
    _call.system.end(_exited(0 if status is None or getattr(status, "tag", "") == "ok" else 1))


_PREVIEW_2: Final[Mapping[str, Callable[..., Any]]] = {
    "wasi:cli/environment get-environment": lambda _store: [*ENVIRONMENT.items()],
    "wasi:cli/environment get-arguments": lambda _store: [],
    "wasi:cli/environment initial-cwd": lambda _store: None,
    "wasi:cli/exit exit": _exit,
    "wasi:cli/exit exit-with-code": lambda _store, code: _call.system.end(_exited(code)),
    "wasi:cli/stderr get-stderr": lambda _store: _own("output-stream"),
    "wasi:cli/stdin get-stdin": lambda _store: _own("input-stream"),
    "wasi:cli/stdout get-stdout": lambda _store: _own("output-stream"),
    "wasi:cli/terminal-stderr get-terminal-stderr": lambda _store: None,
    "wasi:cli/terminal-stdin get-terminal-stdin": lambda _store: None,
    "wasi:cli/terminal-stdout get-terminal-stdout": lambda _store: None,
    "wasi:clocks/monotonic-clock now": lambda _store: _call.system.now_ns(),
    "wasi:clocks/monotonic-clock resolution": lambda _store: 1,
    "wasi:clocks/monotonic-clock subscribe-instant": lambda _store, when_ns: _wake_at(when_ns),
    "wasi:clocks/monotonic-clock subscribe-duration": lambda _store, time_ns: _wake_at(
        _call.system.now_ns() + time_ns
    ),
    "wasi:clocks/wall-clock now": _date,
    "wasi:clocks/wall-clock resolution": lambda _store: SimpleNamespace(seconds=0, nanoseconds=1),
    "wasi:filesystem/preopens get-directories": lambda _store: [],
    "wasi:io/poll poll": lambda _store, moments: _call.system.sleep_until(moments),
    "wasi:io/poll [method]pollable.block": lambda _store, moment: _none(_call.system.sleep_until([moment])),
    "wasi:io/poll [method]pollable.ready": lambda _store, _moment: True,
    "wasi:io/streams [method]input-stream.blocking-read": lambda _store, _stream, _count: _END,
    "wasi:io/streams [method]input-stream.read": lambda _store, _stream, _count: _END,
    "wasi:io/streams [method]input-stream.subscribe": lambda _store, _stream: _wake_at(0),
    "wasi:io/streams [method]output-stream.blocking-flush": lambda _store, _stream: _DONE,
    "wasi:io/streams [method]output-stream.blocking-write-and-flush": lambda _store, _stream, text: _printed(
        text
    ),
    "wasi:io/streams [method]output-stream.check-write": lambda _store, _stream: MAX_PRINT_BYTES,
    "wasi:io/streams [method]output-stream.flush": lambda _store, _stream: _DONE,
    "wasi:io/streams [method]output-stream.subscribe": lambda _store, _stream: _wake_at(0),
    "wasi:io/streams [method]output-stream.write": lambda _store, _stream, text: _printed(text),
    "wasi:random/insecure get-insecure-random-bytes": lambda _store, count: _call.system.random_bytes(count),
    "wasi:random/insecure-seed insecure-seed": lambda _store: (0, 0),
    "wasi:random/random get-random-bytes": lambda _store, count: _call.system.random_bytes(count),
    "wasi:random/random get-random-u64": lambda _store: int.from_bytes(
        _call.system.random_bytes(8), "little"
    ),
}
"""Functions by their interface, without its version, and their name."""


def module_linker(engine: Engine, module: Any) -> Linker:
    """Return what links a module with the functions of this file; a call of any other ends the agent."""
    linker = Linker(engine)
    kinds = {"i": ValType.i32(), "I": ValType.i64()}
    for name, (function, arguments) in _PREVIEW_1.items():
        takes = [kinds[kind] for kind in arguments]
        gives = [] if function is _proc_exit else [ValType.i32()]
        call = _with_memory(function, [_SIZE if kind == "i" else _SIZE * _SIZE for kind in arguments])
        linker.define_func("wasi_snapshot_preview1", name, FuncType(takes, gives), call, access_caller=True)
    linker.define_unknown_imports_as_traps(module)
    return linker


def _with_memory(function: Callable[..., int | None], sizes: list[int]) -> Callable[..., int | None]:
    def call(caller: Caller, *arguments: int) -> int | None:
        _call.system.pay()
        return function(
            _Memory(caller), *(value % size for value, size in zip(arguments, sizes, strict=True))
        )

    return call


def component_linker(engine: Engine, component: components.Component) -> components.Linker:
    """Return what links a component with the functions of this file; a call of any other ends the agent."""
    linker = components.Linker(engine)
    types = dict(_RESOURCES)
    with linker.root() as root:
        for name, imported in component.type.imports(engine).items():
            interface = name.partition("@")[0]
            if not isinstance(instance := imported.ty, components.ComponentInstanceType):
                continue  # is refused when it is linked
            with root.add_instance(name) as names:
                for member, kind in ((member, one.ty) for member, one in instance.exports(engine).items()):
                    if isinstance(kind, components.ResourceType):
                        number = types.setdefault(member, len(types) + 1)
                        dropped = _forget if member == "pollable" else lambda _store, _number: None
                        names.add_resource(member, components.ResourceType.host(number), dropped)
                    elif isinstance(kind, components.FuncType):
                        names.add_func(member, _paid(f"{interface} {member}"))
    return linker


def _paid(name: str) -> Callable[..., Any]:
    function = _PREVIEW_2.get(name)

    def call(store: Any, *arguments: Any) -> Any:
        _call.system.pay()
        if function is None:
            _call.system.end(f"it called {name}, and an agent has nothing of that kind")
            raise WasmtimeError(name)  # which wasmtime hands over as a value
        return function(store, *(_number(store, argument) for argument in arguments))

    return call
