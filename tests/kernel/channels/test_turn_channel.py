"""The cost of a turn through the channel between referee and agent, in steps of the loop."""

from __future__ import annotations

import trio

from flagfall.kernel.channels.turn_channel import BURST_ENVELOPES
from flagfall.timing import VirtualClock
from tests.fakes import CountTask, play_here


class StepCounter(trio.abc.Instrument):
    """Counts how many times the loop runs a task."""

    def __init__(self) -> None:
        self.steps = 0

    def before_task_step(self, _task: trio.lowlevel.Task) -> None:
        self.steps += 1


async def steps_of_a_match(turns: int) -> int:
    async def act(observation: int) -> int:
        return observation % 100

    counter = StepCounter()
    trio.lowlevel.add_instrument(counter)
    played = await play_here(CountTask(turns), act, control="act=60s")
    trio.lowlevel.remove_instrument(counter)
    assert len(played.turns) == turns
    return counter.steps


def test_a_burst_of_turns_is_one_step_of_the_loop() -> None:
    bursts = 100
    few, many = (
        trio.run(steps_of_a_match, n * bursts * (BURST_ENVELOPES + 1), clock=VirtualClock()) for n in (1, 2)
    )
    # The steps of the start and the end fall out of the difference, but for one or two: the order in which
    # the loop runs tasks that are ready at once is random.
    assert abs(many - few - bursts) <= 4
