"""The virtual machine of agents in WebAssembly, by wasmtime: programs, and one agent's instance of one.

It is set so that an agent does the same on every machine: no threads, NaNs of one form, no instructions whose
results depend on the processor. Fuel counts its work: about one unit an instruction.

A call ends in one of four ways: with an answer, at the end of its fuel, in a trap, or because it was stopped:
by its host, or by the guard, where it takes much more real time than its fuel does on a slow machine.
"""

from __future__ import annotations

import ctypes
import struct
import threading
import time
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from wasmtime import Config, Engine, Func, Memory, Module, Store, Trap, TrapCode, WasmtimeError, _ffi
from wasmtime import component as components

from flagfall.agents.wasm.wasi import System, component_linker, module_linker
from flagfall.errors import AgentFault, HostFault, UsageError
from flagfall.kernel.channels.framing import MAX_FRAME_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EXPORTS: Final = ("start", "act", "result")

STACK_BYTES: Final = 2 * 1024**2
"""Stack of an agent: room for 1,000 calls of Python in Python, which is Python's own limit."""

TICK_SECONDS: Final = 0.1
"""How often a call finds out whether it has to stop."""

GUARD_SECONDS: Final = 60.0
"""Real time of a call before the guard stops it, besides the time of its fuel. It is counted in ticks, of
which there are none while this process is stopped."""

SLOW_UNITS: Final = 2_000_000
"""Units of fuel a second that the slowest host does; a laptop does 1,000,000,000, and 15,000,000 of those
that throw and catch exceptions."""

MAX_TABLE_ELEMENTS: Final = 100_000
MAX_INSTANCES: Final = 100
"""Python as a component has 15 instances, and 7,000 elements in its tables."""


SETTINGS: Final = f"stack {STACK_BYTES}"
"""Another text wherever a compiled program cannot be used, or would count differently."""


MAX_COMPONENT_BYTES: Final = 128 * 1024**2 // 40
"""What wasmtime takes from a component in one piece: 128 MiB, with 40 bytes for the value of each byte."""


class OutOfFuel(Exception):
    """A call has used all fuel that it was given."""


class Unusable(Exception):
    """A compiled program cannot be used on this machine."""


class Stopped(Exception):
    """A call was stopped by its host."""


@cache
def engine() -> Engine:
    """Return the engine of this process."""
    config = Config()
    config.consume_fuel = True
    config.epoch_interruption = True
    config.cranelift_nan_canonicalization = True
    config.wasm_threads = False
    config.wasm_relaxed_simd = False
    config.max_wasm_stack = STACK_BYTES
    config.memory_init_cow = True
    made = Engine(config)
    threading.Thread(target=_tick, args=(made,), daemon=True, name="flagfall ticks").start()
    return made


def _tick(ticking: Engine) -> None:
    while True:
        time.sleep(TICK_SECONDS)
        ticking.increment_epoch()


_deadline_callback: Final[Any] = ctypes.CFUNCTYPE(
    ctypes.c_size_t,
    ctypes.POINTER(_ffi.wasmtime_context_t),
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_uint64),
    ctypes.POINTER(_ffi.wasmtime_update_deadline_kind_t),
)


class Program:
    """A compiled agent, of which a process needs one for all matches: a module, or a component.

    Args:
        compiled: the file that `compile_wasm` made the bytes of. It is native code, and believed.

    Raises:
        Unusable: it was compiled for another processor, or is damaged.
    """

    def __init__(self, compiled: Path, *, is_component: bool) -> None:
        self._link: Callable[[Store, str], _Exports]
        kind: Any = components.Component if is_component else Module
        try:
            program = kind.deserialize_file(engine(), str(compiled))
        except WasmtimeError as error:
            raise Unusable(str(error)) from error
        exports = _ComponentExports if is_component else _ModuleExports
        linker: Any = (component_linker if is_component else module_linker)(engine(), program)
        self._link = lambda store, name: exports(store, linker.instantiate(store, program), name)

    def link(self, store: Store, name: str) -> _Exports:
        """Return the exports of a new instance, for an agent of that name.

        Raises:
            UsageError: it lacks one of `agent.wit`.
        """
        return self._link(store, name)


def compile_wasm(wasm: bytes) -> bytes:
    """Return a program compiled for this machine.

    Raises:
        UsageError: it is not WebAssembly, or of a kind that is not taken.
    """
    kind: Any = components.Component if is_component(wasm) else Module
    try:
        return bytes(kind(engine(), wasm).serialize())
    except WasmtimeError as error:
        raise UsageError(
            f"not a program in WebAssembly that is taken here: {first_line(str(error))}"
        ) from None


def is_component(wasm: bytes) -> bool:
    """Return whether a file is a component, by its header; otherwise it is a module."""
    return wasm[4:8] == b"\x0d\0\x01\0"


class _Exports(Protocol):
    """The functions of an instance: bytes to bytes."""

    def call(self, export: str, message: bytes) -> bytes: ...


# wasmtime's Python looks up the types of a function at each call, and converts each byte of a list by itself:
# 50 µs a call, 0.7 µs a byte. So types are checked once here, and the functions below are called as the
# library is.


class _ModuleExports:
    """Exports of a module, by the canonical ABI: a message lies in memory that `cabi_realloc` returns."""

    def __init__(self, store: Store, instance: Any, name: str) -> None:
        exports = instance.exports(store)
        memory = exports.get("memory")
        if not isinstance(memory, Memory):
            raise UsageError(
                f"{name} exports no memory: an agent exports what agent.wit has (docs/agents.md)"
            )
        self._store = store
        self._memory = memory._memory  # noqa: SLF001
        self._realloc = _Function(store, exports.get("cabi_realloc"), f"{name}: cabi_realloc", 4)
        self._calls = {key: _Function(store, exports.get(key), f"{name}: {key}", 2) for key in EXPORTS}
        self._after = {key: exports.get(f"cabi_post_{key}") for key in EXPORTS}
        begin = exports.get("_initialize")
        if begin is not None:
            begin(store)

    def call(self, export: str, message: bytes) -> bytes:
        size = len(message)
        at = self._realloc(0, 0, 1, size)
        ctypes.memmove(self._place(at, size), message, size)
        pair = self._calls[export](at, size)
        answer_at, answer_size = struct.unpack("<II", ctypes.string_at(self._place(pair, 8), 8))
        answer = ctypes.string_at(self._place(answer_at, _checked(answer_size)), answer_size)
        if (after := self._after[export]) is not None:
            after(self._store, pair)
        return answer

    def _place(self, at: int, size: int) -> int:
        """Return where some bytes of the agent's memory are in that of this process."""
        context, memory = self._store._context(), ctypes.byref(self._memory)  # noqa: SLF001
        if at + size > _ffi.wasmtime_memory_data_size(context, memory):
            raise AgentFault("garbage", "it gave the host an address outside of its memory")
        base: int = ctypes.cast(_ffi.wasmtime_memory_data(context, memory), ctypes.c_void_p).value or 0
        return base + at


class _Function:
    """A function of a module, from so many numbers of 32 bits to one."""

    def __init__(self, store: Store, function: Any, name: str, arguments: int) -> None:
        kind = function.type(store) if isinstance(function, Func) else None
        types = [] if kind is None else [*map(str, kind.params), "to", *map(str, kind.results)]
        if types != [*["i32"] * arguments, "to", "i32"]:
            raise UsageError(
                f"{name} has to be a function from {arguments} numbers (i32) to one: see agent.wit"
                " (docs/agents.md)"
            )
        self._store, self._function = store, function._func  # noqa: SLF001
        self._given = (_ffi.wasmtime_val_t * arguments)()
        self._answer = _ffi.wasmtime_val_t()
        for value in self._given:
            value.kind = _ffi.WASMTIME_I32

    def __call__(self, *numbers: int) -> int:
        for value, number in zip(self._given, numbers, strict=True):
            value.of.i32 = number
        trap = ctypes.POINTER(_ffi.wasm_trap_t)()
        error = _ffi.wasmtime_func_call(
            self._store._context(),  # noqa: SLF001
            ctypes.byref(self._function),
            self._given,
            len(numbers),
            ctypes.byref(self._answer),
            1,
            ctypes.byref(trap),
        )
        _raise_error(error)
        if bool(trap):
            raise Trap._from_ptr(trap)  # noqa: SLF001
        return int(self._answer.of.i32) % _SIZE


_SIZE: Final = 1 << 32


class _ComponentExports:
    """Exports of a component; the bytes of a list lie in an array of wasmtime's values."""

    def __init__(self, store: Store, instance: components.Instance, name: str) -> None:
        self._store = store
        self._functions = {key: instance.get_func(store, key) for key in EXPORTS}
        for key, function in self._functions.items():
            if function is None or not _takes_bytes(function.type(store)):
                raise UsageError(f"{name} has no {key} of agent.wit, which takes and returns list<u8>")

    def call(self, export: str, message: bytes) -> bytes:
        function: Any = self._functions[export]
        context, size = self._store._context(), len(message)  # noqa: SLF001
        cells = bytearray(size * _CELL)
        cells[0::_CELL] = bytes([_ffi.WASMTIME_COMPONENT_U8.value]) * size
        cells[_PLACE::_CELL] = message
        given, answer = _ffi.wasmtime_component_val_t(), _ffi.wasmtime_component_val_t()
        given.kind = _ffi.WASMTIME_COMPONENT_LIST
        values = (ctypes.c_char * len(cells)).from_buffer(cells)
        _ffi.wasmtime_component_vallist_new(
            ctypes.byref(given.of.list),
            size,
            ctypes.cast(values, ctypes.POINTER(_ffi.wasmtime_component_val_t)),
        )
        try:
            error = _ffi.wasmtime_component_func_call(
                ctypes.byref(function._func),  # noqa: SLF001
                context,
                ctypes.byref(given),
                1,
                ctypes.byref(answer),
                1,
            )
            _raise_error(error)
            try:
                count = _checked(answer.of.list.size)
                found = ctypes.string_at(answer.of.list.data, count * _CELL)[_PLACE::_CELL] if count else b""
            finally:
                _ffi.wasmtime_component_val_delete(ctypes.byref(answer))
            return found
        finally:
            _ffi.wasmtime_component_val_delete(ctypes.byref(given))


def _raise_error(error: Any) -> None:
    """Raise an error that the library returns, if it is one."""
    if error:
        raise WasmtimeError._from_ptr(error)  # noqa: SLF001


_CELL: Final = ctypes.sizeof(_ffi.wasmtime_component_val_t)
_PLACE: Final[int] = _ffi.wasmtime_component_val_t.of.offset
"""Size of a value in wasmtime's lists, and the place of a byte in it."""


def _takes_bytes(kind: Any) -> bool:
    types = [*(type_ for _, type_ in kind.params), kind.result]
    return len(types) == 2 and all(  # noqa: PLR2004 - the message and the answer
        isinstance(one, components.ListType) and isinstance(one.element, components.U8) for one in types
    )


def _checked(size: int) -> int:
    if size > MAX_FRAME_BYTES:
        raise AgentFault("garbage", f"an answer of {size} bytes: {MAX_FRAME_BYTES} are the most")
    return size


class Machine:
    """One agent's instance of a program, with memory and fuel of its own; of one match.

    Args:
        name: the agent's, for messages.
        memory: the most bytes that it may have.
        system: what it has of the world.

    Attributes:
        used: the fuel that the last call has used.
    """

    def __init__(self, program: Program, name: str, memory: int, system: System) -> None:
        self.used = 0
        self._name = name
        self._program = program
        self._system = system
        self._exports: _Exports | None = None
        self._stopped = False
        self._ticks_left = 0
        self._store = Store(engine())
        self._store.set_limits(memory, MAX_TABLE_ELEMENTS, MAX_INSTANCES, MAX_INSTANCES, 1)
        self._on_tick = _deadline_callback(self._tick)
        _ffi.wasmtime_store_epoch_deadline_callback(self._store.ptr(), self._on_tick, None, _NOTHING)

    def _tick(self, _context: Any, _data: Any, ticks: Any, kind: Any) -> int:
        """Let a call go on for a tick, or end it: wasmtime takes an error for the end."""
        self._ticks_left -= 1
        if self._stopped or self._ticks_left < 0:
            error = WasmtimeError("stopped")
            return ctypes.cast(error._consume(), ctypes.c_void_p).value or 0  # noqa: SLF001
        ticks[0] = 1
        kind[0] = 0
        return 0

    def stop(self) -> None:
        """End the call that another thread makes, within a tick."""
        self._stopped = True

    def close(self) -> None:
        """Free its memory, now that no call is made any more: it has references to itself."""
        self._exports = None
        self._store.close()
        del self._on_tick

    def call(self, export: str, message: bytes, units: int) -> bytes:
        """Call an export; the first call makes the instance.

        Args:
            units: the fuel that it gets.

        Raises:
            OutOfFuel: it has used all of it.
            Stopped: `stop` was called.
            AgentFault: the agent crashed, or its answer is too long.
            HostFault: it took much more real time than its fuel does.
        """
        store, system = self._store, self._system
        self._ticks_left = int((GUARD_SECONDS + units / SLOW_UNITS) / TICK_SECONDS)
        store.set_epoch_deadline(1)
        system.begin_call(store, units)
        try:
            if self._exports is None:
                self._exports = self._program.link(store, self._name)
            answer = self._exports.call(export, message)
            system.answer(len(answer))
        except (WasmtimeError, Trap) as error:
            raise self._fault(str(error), getattr(error, "trap_code", None)) from None
        finally:
            self.used = system.end_call()
        if system.ended:  # the end of fuel is noticed at the next loop or call, of which there was none
            raise AgentFault("crashed", system.ended)
        if self.used == units:
            raise OutOfFuel
        return answer

    def _fault(self, text: str, code: Any) -> Exception:
        if self._stopped:
            return Stopped()
        if self._ticks_left < 0:
            return HostFault(f"{self._name}: this machine is too slow: the guard stopped a call")
        if self._system.ended:
            return AgentFault("crashed", self._system.ended)
        if code is TrapCode.OUT_OF_FUEL or "all fuel consumed" in text:
            return OutOfFuel()
        if "too much data is being copied" in text:
            return AgentFault("garbage", f"an answer or a print of more than {MAX_COMPONENT_BYTES} bytes")
        return AgentFault("crashed", why_trapped(text))


_NOTHING: Final[Any] = ctypes.cast(0, ctypes.CFUNCTYPE(None, ctypes.c_void_p))


def why_trapped(text: str) -> str:
    """Return one line of what wasmtime says of a trap: its reason, without the addresses of the frames."""
    _, trap, reason = text.partition("wasm trap: ")
    return first_line(trap + reason or text.rpartition("Caused by:")[2])


def first_line(text: str) -> str:
    """Return the first line of a text."""
    return text.strip().partition("\n")[0][:200]
