"""Bounds on unauthenticated connections: their number, their time, and which one gives way."""

from __future__ import annotations

import socket

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from flagfall.agents.admission import HANDSHAKE_SECONDS, MAX_HANDSHAKES, Handshakes, is_hung_up

FLOOD = ("10.0.0.1", 1)


async def hold(handshakes: Handshakes, peer: tuple[str, int], ended: list[str], name: str) -> None:
    with handshakes.place(peer):
        await trio.Event().wait()
    ended.append(name)


async def test_one_address_cannot_crowd_out_others(autojump_clock: MockClock):
    handshakes, ended = Handshakes(), list[str]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hold, handshakes, ("10.0.0.2", 1), ended, "honest")
        await wait_all_tasks_blocked()
        for number in range(3 * MAX_HANDSHAKES):
            nursery.start_soon(hold, handshakes, FLOOD, ended, f"flood {number}")
            await wait_all_tasks_blocked()
            assert handshakes.open <= MAX_HANDSHAKES
        assert ended == [f"flood {number}" for number in range(2 * MAX_HANDSHAKES + 1)]  # the oldest first
    assert handshakes.open == 0
    assert handshakes.silent == 3 * MAX_HANDSHAKES + 1
    assert trio.current_time() == autojump_clock.current_time() >= HANDSHAKE_SECONDS


async def test_addresses_of_one_ipv6_host_count_as_one(autojump_clock: MockClock):
    handshakes, ended = Handshakes(), list[str]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hold, handshakes, ("fe80::1%eth0", 1), ended, "honest")
        nursery.start_soon(hold, handshakes, ("::ffff:10.0.0.3", 1), ended, "honest too")
        await wait_all_tasks_blocked()
        for number in range(MAX_HANDSHAKES):
            peer = (f"2001:db8::{number:x}", 1)
            nursery.start_soon(hold, handshakes, peer, ended, str(number))
            await wait_all_tasks_blocked()
        assert ended == ["0", "1"]
    assert autojump_clock.current_time() >= HANDSHAKE_SECONDS


def test_a_socket_whose_other_end_closed_is_known_though_it_has_unread_data():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.send(b"last words")
        assert not is_hung_up(ours.fileno())
        theirs.close()
        assert is_hung_up(ours.fileno())
        assert ours.recv(100) == b"last words"
