"""Agents that tests load into processes and threads by name."""

# ruff: noqa: ARG001, ARG002, SIM105, T201 - agents do as they like

import asyncio
import ctypes
import os
import signal
import sys
import time

import trio


def echo(observation):
    return observation


async def trio_echo(observation):
    await trio.sleep(0.001)
    return observation


class AsyncioEcho:
    loop = "asyncio"

    async def act(self, observation):
        await asyncio.sleep(0.001)
        return observation


async def actor(seat):
    async for turn in seat:
        seat.reply(turn.observation)


class AsyncioActor:
    loop = "asyncio"

    async def run(self, seat):
        async for turn in seat:
            await asyncio.sleep(0)
            seat.reply(turn.observation)


async def doubling(seat):
    async for turn in seat:
        seat.reply(turn.observation)
        seat.reply(99)


async def flooding(seat):
    async for turn in seat:
        seat.reply(turn.observation)
        for _ in range(2000):
            seat.reply(99, 0)


async def skipping(seat):
    async for turn in seat:
        if turn.observation % 2 == 0:
            seat.reply(turn.observation)


async def leaving(seat):
    await seat.turn()


class Talking:
    def act(self, observation):
        print("hello " * 1000)
        sys.stderr.write("x" * 200_000)
        os.write(1, b"\x00\x00\x00\x01garbage")
        return observation


class Phases:
    def start(self, briefing):
        self.seen: list[object] = [("start", briefing.seat)]

    def init(self, observation):
        self.seen.append(("init", observation))

    def act(self, observation):
        self.seen.append(("act", observation))
        return observation

    def result(self, observation, reward):
        self.seen.append(("result", observation, reward))
        return self.seen


def slow(observation):
    time.sleep(0.1 if observation == 1 else 0)
    return observation


class Told:
    def act(self, observation, timer):
        late, limit = timer.late, timer.limit_ns
        time.sleep(0.4 if observation == 1 else 0)  # longer than a stall of a busy host may excuse
        return 50 if late else (limit > 0) + 40


class Raises:
    where = "act"

    def _maybe(self, where):
        if where == self.where:
            raise ValueError("boom in " + where)

    def start(self, briefing):
        self._maybe("start")

    def init(self, observation):
        self._maybe("init")

    def act(self, observation):
        self._maybe("act")
        return observation

    def result(self, observation, reward):
        self._maybe("result")

    def close(self):
        self._maybe("close")


class RaisesInStart(Raises):
    where = "start"


class RaisesInInit(Raises):
    where = "init"


class RaisesInAct(Raises):
    where = "act"


class RaisesInResult(Raises):
    where = "result"


class RaisesInClose(Raises):
    where = "close"


def exits(observation):
    raise SystemExit(3)


def leaves_at_once(observation):
    sys.stderr.write("so long")
    sys.stderr.flush()
    os._exit(0)


def kills_itself(observation):
    os.kill(os.getpid(), 9)


def segfaults(observation):
    ctypes.string_at(0)


def closes_its_pipes(observation):
    for fd in range(3, 20):
        try:
            os.close(fd)
        except OSError:
            pass
    time.sleep(60)


def _raw(data):
    for fd in range(3, 20):
        try:
            os.write(fd, data)
        except OSError:
            pass


def half_a_frame(observation):
    _raw(b"\x00\x00\x00\x09abc")
    os._exit(0)


def garbage(observation):
    _raw(b"\x00\x00\x00\x04\xc1\xc1\xc1\xc1")
    time.sleep(60)


def too_long(observation):
    _raw(b"\xff\xff\xff\xff")
    time.sleep(60)


def nonsense(observation):
    return object()


def spins(observation):
    while True:
        pass


def spins_with_a_child(observation):
    if os.fork() == 0:
        while True:
            time.sleep(1)
    while True:
        pass


def sleeps(observation):
    time.sleep(60)


def ignores_terminate(observation):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        pass


def burns(observation):
    end = time.process_time() + (0.1 if observation == 1 else 0.001)
    while time.process_time() < end:
        pass
    return observation


def naps(observation):
    time.sleep(0.06)
    return observation


class NeverStarts:
    def start(self, briefing):
        time.sleep(60)

    def act(self, observation):
        return observation
