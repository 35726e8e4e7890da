"""Misbehaving agents as modules of WebAssembly: no language keeps their calls and addresses in order.

They do as those of `flagfall.testing.adversarial.agents`. They are in WebAssembly's text form.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from flagfall.testing.adversarial.plain_agents import DONE, REFUSED, TURN

_ASK: Final = '{"type":"ask","number":'
"""Beginning of the message of a turn; fields have the order of docs/protocol.md."""

_READY: Final = '{"type":"ready","wants":["act"],"version":1}'
_ANSWER: Final = '{"type":"answer","number":00,"action":00}'
_READY_AT, _ANSWER_AT, _OTHER_AT, _ROOM_AT = 16, 128, 256, 1024
"""Addresses of the messages, and of the room for those of the host."""

_PAGES: Final = 200
"""Memory in pages of 64 KiB: 13 MB."""

_FOREVER: Final = "(loop $again {} (br $again))"
_LONG: Final = 100_000_000


def _module(
    bad: str = "",
    *,
    start: str = "",
    imports: str = "",
    more: str = "",
    says: str = "",
    pages: str = str(_PAGES),
    room: int = _ROOM_AT,
) -> str:
    """Return the text of a module that answers with the index of the turn.

    Args:
        bad: what it does in turn `TURN`; it may return the address of an answer: `(return (call $says ...))`.
        start: what it does before it is ready.
        more: further definitions.
        says: a text for `bad`, at `_OTHER_AT`.
        pages: its memory.
        room: the address that it gives for messages.
    """
    number, action = _ANSWER_AT + _ANSWER.index("00"), _ANSWER_AT + _ANSWER.rindex("00")
    return f"""(module {imports}
    (memory (export "memory") {pages})
    (data (i32.const {_READY_AT}) {_quoted(_READY)})
    (data (i32.const {_ANSWER_AT}) {_quoted(_ANSWER.replace("00", " 0"))})
    (data (i32.const {_OTHER_AT}) {_quoted(says)})
    (global $turn (mut i32) (i32.const 0))
    {more}
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const {room}))
    (func $says (param $at i32) (param $size i32) (result i32)
      (i32.store (i32.const 0) (local.get $at))
      (i32.store (i32.const 4) (local.get $size))
      (i32.const 0))
    (func $put (param $at i32) (param $number i32)
      (if (i32.ge_u (local.get $number) (i32.const 10)) (then
        (i32.store8 (local.get $at) (i32.add (i32.const 48) (i32.div_u (local.get $number) (i32.const 10))))))
      (i32.store8 (i32.add (local.get $at) (i32.const 1))
        (i32.add (i32.const 48) (i32.rem_u (local.get $number) (i32.const 10)))))
    (func $answer (param $action i32) (result i32)
      (call $put (i32.const {number}) (global.get $turn))
      (call $put (i32.const {action}) (local.get $action))
      (call $says (i32.const {_ANSWER_AT}) (i32.const {len(_ANSWER)})))
    (func $read_turn (param $at i32) (local $digit i32)
      (global.set $turn (i32.const 0))
      (loop $next
        (local.set $digit (i32.sub (i32.load8_u (local.get $at)) (i32.const 48)))
        (if (i32.lt_u (local.get $digit) (i32.const 10)) (then
          (global.set $turn (i32.add (i32.mul (global.get $turn) (i32.const 10)) (local.get $digit)))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br $next)))))
    (func (export "start") (param i32 i32) (result i32)
      {start} (call $says (i32.const {_READY_AT}) (i32.const {len(_READY)})))
    (func (export "result") (param i32 i32) (result i32) (unreachable))
    (func (export "act") (param $message i32) (param $size i32) (result i32) (local $n i32)
      (call $read_turn (i32.add (local.get $message) (i32.const {len(_ASK)})))
      (if (i32.eq (global.get $turn) (i32.const {TURN})) (then {bad}))
      (call $answer (global.get $turn))))"""


def _quoted(text: str) -> str:
    return '"{}"'.format(text.replace('"', '\\"'))


def _says(text: str) -> str:
    return _module(f"(return (call $says (i32.const {_OTHER_AT}) (i32.const {len(text)})))", says=text)


def _says_at(at: int, size: int) -> str:
    return _module(f"(return (call $says (i32.const {at}) (i32.const {size})))")


def _wasi(name: str, takes: str) -> str:
    result = "" if name == "proc_exit" else "(result i32)"
    return f'(import "wasi_snapshot_preview1" "{name}" (func ${name} (param {takes}) {result}))'


_READS_CLOCK: Final = f"""
(drop (call $clock_time_get (i32.const 0) (i64.const 1) (i32.const 512)))
(return (call $answer (select (i32.const {DONE}) (i32.const {REFUSED})
  (i64.gt_u (i64.load (i32.const 512)) (i64.const 1000000000000000000)))))
"""
"""Whether it is later than 2001."""

MODULES: Final[Mapping[str, str]] = {
    # Time.
    "computes_too_long": _module(
        "(loop $again (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1)))"
        "  (i32.const 20000000))))"
    ),
    "loops": _module(_FOREVER.format("")),
    "loops_in_start": _module(start=_FOREVER.format("")),
    "loops_as_it_is_made": _module(more=f"(func $made {_FOREVER.format('')}) (start $made)"),
    "fills_memory": _module(
        _FOREVER.format("(memory.fill (i32.const 65536) (i32.const 7) (i32.const 10000000))")
    ),
    "asks_the_host": _module(
        _FOREVER.format("(drop (call $random_get (i32.const 512) (i32.const 8)))"),
        imports=_wasi("random_get", "i32 i32"),
    ),
    "prints_at_length": _module(
        "(i32.store (i32.const 512) (i32.const 65536)) (i32.store (i32.const 516) (i32.const 10000000))"
        + _FOREVER.format(
            "(drop (call $fd_write (i32.const 1) (i32.const 512) (i32.const 1) (i32.const 520)))"
        ),
        imports=_wasi("fd_write", "i32 i32 i32 i32"),
    ),
    "reads_the_clock": _module(_READS_CLOCK, imports=_wasi("clock_time_get", "i32 i64 i32")),
    # Ways to end.
    "traps": _module("(unreachable)"),
    "divides_by_zero": _module("(drop (i32.div_u (i32.const 1) (local.get $n)))"),
    "segfaults": _module("(drop (i32.load (i32.const -8)))"),
    "overflows_its_stack": _module("(call $deeper)", more="(func $deeper (call $deeper) (call $deeper))"),
    "exits_with_0": _module("(call $proc_exit (i32.const 0))", imports=_wasi("proc_exit", "i32")),
    "calls_what_is_not_there": _module(
        "(drop (call $sock_open (i32.const 2) (i32.const 1) (i32.const 512)))",
        imports=_wasi("sock_open", "i32 i32 i32"),
    ),
    # Memory.
    "grows_memory": _module(_FOREVER.format("(drop (memory.grow (i32.const 1)))")),
    "grows_a_table": _module(
        _FOREVER.format("(drop (table.grow $grows (ref.null func) (i32.const 1000)))"),
        more="(table $grows 0 funcref)",
    ),
    "begins_with_too_much_memory": _module(pages="65536"),
    "has_many_memories": _module(more="(memory 1)" * 50),
    # Messages.
    "garbage": _says("\\c1" * 4),
    "sends_another_message": _says(_READY),
    "answers_another_turn": _says(_ANSWER.replace("00", "77")),
    "huge_message": _says_at(65536, _LONG),
    "answers_at_a_bad_address": _says_at(0x7FFF0000, 40),
    "answers_with_a_bad_length": _says_at(_ANSWER_AT, -1),
    "answers_nowhere": _module("(return (i32.const -4))"),
    "gives_no_room": _module(room=0xFFFFFFF0),
    "gives_the_host_bad_addresses": _module(
        "(drop (call $random_get (i32.const -16) (i32.const 64)))", imports=_wasi("random_get", "i32 i32")
    ),
}
"""Texts of the modules, by the names of the agents."""


def module_file(name: str, folder: Path) -> Path:
    """Write the binary form of a module to a file in a folder; return its path."""
    from wasmtime import wat2wasm  # noqa: PLC0415 - an extra

    file = folder / f"{name}.wasm"
    file.write_bytes(wat2wasm(MODULES[name]))
    return file
