from __future__ import annotations

from typing import Any

import pytest
import trio

from flagfall.kernel.channels.turn_channel import Envelope, TurnChannel, open_turn_channel
from tests.testing import channel_contract
from tests.testing.channel_contract import RULES, check_channel


async def test_the_turn_channel_keeps_the_contract() -> None:
    await check_channel(open_turn_channel)


class Queues(TurnChannel):
    """Keeps the older envelope."""

    def send_nowait(self, envelope: Any) -> None:
        if self.waiting is None:
            super().send_nowait(envelope)


class LosesOnCancel(TurnChannel):
    async def receive(self) -> Any:
        envelope = await super().receive()
        await trio.lowlevel.checkpoint()
        return envelope


class NeverYields(TurnChannel):
    async def receive(self) -> Any:
        self._burst = 0
        return await super().receive()


class WokenForGood(TurnChannel):
    """Gives what it was woken for, retracted or not."""

    def retract(self) -> None:
        if self.closed:
            super().retract()


class ForgetsTheFirst(TurnChannel):
    def start_receiving(self) -> None:
        self.is_receiving = False
        self._receiver = None
        super().start_receiving()


class ForgetsTheWoken(TurnChannel):
    """Takes a receiver that was woken, and has not run yet, for one that is gone."""

    def start_receiving(self) -> None:
        self.is_receiving = self._receiver is not None
        super().start_receiving()


class PlaysStale(TurnChannel):
    def reply(self, action: Any = None, number: int | None = None) -> None:
        self.open_envelope = self.taken
        super().reply(action, number)


class IgnoresNumbers(TurnChannel):
    def reply(self, action: Any = None, number: int | None = None) -> None:  # noqa: ARG002 - the fault
        super().reply(action)


class AnswersTwice(TurnChannel):
    def reply(self, action: Any = None, number: int | None = None) -> None:
        taken = self.taken
        super().reply(action, number)
        self.taken = taken


class Hangs(TurnChannel):
    async def receive(self) -> Any:
        await trio.sleep_forever()


class Unclosable(TurnChannel):
    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (Queues, "the_newest_envelope_wins: the envelope that was received after three were sent: got 0"),
        (LosesOnCancel, "a_cancelled_receive_took_nothing"),
        (NeverYields, "receiving_lets_the_loop_run: 0 passes"),
        (WokenForGood, "a_retracted_envelope_is_not_received"),
        (ForgetsTheWoken, "one_task_receives_at_a_time"),
        (ForgetsTheFirst, "one_task_receives_at_a_time: it never ended"),
        (PlaysStale, "a_reply_that_comes_too_late_is_stale"),
        (IgnoresNumbers, "a_reply_by_number_answers_no_other_envelope"),
        (AnswersTwice, "a_reply_answers_what_was_taken"),
        (Hangs, "the_newest_envelope_wins: it never ended"),
        (Unclosable, "closing_ends_the_channel: it never ended"),
    ],
)
async def test_a_broken_channel_is_found_out(
    broken: Any, says: str, autojump_clock: trio.testing.MockClock
) -> None:
    autojump_clock.autojump_threshold = 0.05
    with pytest.raises(AssertionError, match=says):
        await check_channel(broken._create)


def test_a_channel_says_what_it_holds_and_is_made_by_its_function_alone() -> None:
    channel = open_turn_channel(channel_contract.Replies())
    channel.send_nowait(Envelope(3))
    channel.receive_nowait()
    channel.send_nowait(Envelope(4))
    assert channel.statistics() == (4, 3, 4, 0, False)
    assert "waiting=4, taken=3" in repr(channel)
    channel.close()
    assert channel.statistics() == (None, 3, None, 0, True)
    with pytest.raises(TypeError, match="TurnChannel has no public constructor"):
        TurnChannel(channel_contract.Replies())


def test_every_rule_is_on_the_list() -> None:
    rules = [
        name
        for name, value in vars(channel_contract).items()
        if not name.startswith("_")
        and getattr(value, "__module__", "") == channel_contract.__name__
        and getattr(value, "__annotations__", {}).get("open_channel") == "Open"
    ]
    assert rules == [rule.__name__ for rule in RULES]
