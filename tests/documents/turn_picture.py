"""Draw the picture of a turn in `docs/architecture.md`, from the calls of a real match.

    python -m tests.documents.turn_picture        # write docs/images/turn.svg anew

A match of three turns on the virtual clock is played under a profile function, which sees each call of the
functions in `MESSAGES`. What stands in the picture was called, in this order and at this time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, TypeAlias

import attrs
import trio
from gymnasium.spaces import Discrete

from flagfall import Seat, StepResult, Task, run
from flagfall.kernel.channels.turn_channel import Envelope, TurnChannel
from flagfall.kernel.referee.state_machine import Referee
from flagfall.kernel.scheduling import Scheduling
from flagfall.kernel.seat import HostSeat
from flagfall.timing.turn_clock import TurnClock

PICTURE: Final = Path(__file__).parents[2] / "docs" / "images" / "turn.svg"

SCHEDULER, ENVIRONMENT, REFEREE, SEAT, AGENT = LANES = (72, 148, 224, 300, 368)
"""Places of the actors from the left, in pixels of a telephone."""

HEADINGS: Final = (
    *(("task", "scheduler"), ("environment", "script, task"), ("referee", "state machine")),
    *(("seat", "channel, clock"), ("agent", "in its host")),
)
WIDTH: Final = 400
ROW: Final = 20
GAP: Final = 26
"""Height of a row, and of the time between two moments."""

STYLE: Final = """
svg { --paper: #fff; --ink: #1f2328; --faint: #667; --line: #c5cad3; --good: #1a7f37; --bad: #c0271b; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #16181d; --ink: #e6e8eb; --faint: #9aa3b0; --line: #3b424d; --good: #3fb950; --bad: #f65; }
}
text { font: 11px system-ui, sans-serif; fill: var(--ink); text-anchor: middle; }
text.small { font-size: 9.5px; fill: var(--faint); } text.head { font-weight: 600; }
text.time { text-anchor: start; fill: var(--faint); font-variant-numeric: tabular-nums; }
path { stroke: var(--ink); fill: none; } path.lane { stroke: var(--line); }
path.moment { stroke: var(--line); stroke-dasharray: 2 4; }
path.good { stroke: var(--good); } path.bad { stroke: var(--bad); }
path.tip { fill: var(--ink); stroke: none; }
path.tip.good { fill: var(--good); } path.tip.bad { fill: var(--bad); }
text.good { fill: var(--good); font-weight: 600; } text.bad { fill: var(--bad); font-weight: 600; }
rect.paper { fill: var(--paper); stroke: var(--line); } rect.busy { fill: var(--faint); opacity: .35; }
rect.good { fill: var(--good); } rect.bad { fill: var(--bad); }
"""

Values: TypeAlias = "dict[str, Any]"


@attrs.frozen
class Message:
    """An arrow from one actor to another: its ends, its text, and its class in `STYLE`."""

    sender: int
    receiver: int
    text: Callable[[Values], str]
    kind: Callable[[Values], str] = lambda _values: ""


def _kind(values: Values) -> str:
    return "good" if values["verdict"] == "on time" else "bad"


def _named(envelope: Envelope) -> str:
    return f"turn {envelope.number}" if envelope.phase == "act" else envelope.phase


CALLS: Final[dict[CodeType, Message]] = {
    Scheduling.next_task.__code__: Message(ENVIRONMENT, SCHEDULER, lambda _: "next_task"),
    Referee.play_turns.__code__: Message(ENVIRONMENT, REFEREE, lambda _: "play_turns"),
    HostSeat.post.__code__: Message(REFEREE, SEAT, lambda values: f"post {_named(values['envelope'])}"),
    TurnChannel.reply.__code__: Message(AGENT, SEAT, lambda _: "reply"),
    Referee.replied.__code__: Message(SEAT, REFEREE, lambda values: values["verdict"], _kind),
    Referee.deadline.__code__: Message(SEAT, REFEREE, lambda _: "deadline", _kind),
    Referee.dropped.__code__: Message(SEAT, REFEREE, lambda _: "dropped", lambda _: "bad"),
    Task.step.__code__: Message(
        REFEREE, ENVIRONMENT, lambda values: f"step({'NIL' if values['action'] == 0 else values['action']})"
    ),
}
RETURNS: Final[dict[CodeType, Message]] = {
    Scheduling.next_task.__code__: Message(
        SCHEDULER, ENVIRONMENT, lambda values: "a task" if values["returned"] else "no more"
    ),
    HostSeat.take_turn.__code__: Message(SEAT, AGENT, lambda values: _named(values["returned"])),
    Task.step.__code__: Message(ENVIRONMENT, REFEREE, lambda _: "its result"),
}
CLOCK: Final = {
    TurnClock.start.__code__: "starts",
    TurnClock.stop.__code__: "good",
    TurnClock.expire.__code__: "bad",
}
"""Calls that start and end the clock of a turn; the colour of its bar in `STYLE`."""


class _Echo(Task):
    """Three steps."""

    observation_space = action_space = Discrete(2)
    nil_action = 0
    max_steps = 3

    def _reset(self, seed: int) -> int:
        return seed % 2

    def _step(self, action: int) -> StepResult:
        return StepResult(action, 1.0, False, False, {})

    def reached_terminal_state(self) -> bool:
        return False


class _LateOnce:
    """Thinks for 40, 150 and 30 ms."""

    async def run(self, seat: Seat) -> None:
        think_ms = iter((40, 150, 30))
        async for _turn in seat:
            await trio.sleep(next(think_ms) / 1000)
            seat.reply(1)


@attrs.define
class _Drawing:
    """Draws what happens, from top to bottom."""

    shapes: list[str] = attrs.Factory(list)
    bars: list[str] = attrs.Factory(list)
    y: int = 36
    _at_ms: int = -1
    _clock_y: int | None = None
    _took_y: int | None = None

    def happens(self, at_ms: int) -> None:
        """Go on to a time; a new one has a line of its own."""
        if at_ms != self._at_ms:
            self._at_ms = at_ms
            self.y += GAP
            self.shapes += [
                f'<path class="moment" d="M8 {self.y}H{WIDTH - 8}"/>',
                f'<text class="time" x="9" y="{self.y + 15}">{at_ms} ms</text>',
            ]

    def message(self, message: Message, values: Values) -> None:
        """Draw an arrow."""
        self.y += ROW
        kind, text = message.kind(values), escape(message.text(values))
        sender, receiver = message.sender, message.receiver
        tip = receiver - 6 if receiver > sender else receiver + 6
        self.shapes += [
            f'<path class="{kind}" d="M{sender} {self.y}H{tip}"/>',
            f'<path class="tip {kind}" d="M{receiver} {self.y}L{tip} {self.y - 3}V{self.y + 3}Z"/>',
            f'<text class="{kind}" x="{(sender + receiver) // 2}" y="{self.y - 4}">{text}</text>',
        ]
        if receiver == AGENT:
            self._took_y = self.y
        elif sender == AGENT and self._took_y is not None:
            self._bar(AGENT, self._took_y, "busy")

    def clock(self, *, starts: bool, kind: str) -> None:
        """Start the clock of a turn, or draw how long it ran."""
        if starts:
            self._clock_y = self.y
        elif self._clock_y is not None:
            self._bar(SEAT, self._clock_y, kind)
            if kind == "bad":
                self.bars.append(f'<path class="bad" d="M{SEAT - 9} {self.y}h18"/>')

    def _bar(self, lane: int, top: int, kind: str) -> None:
        size = f'width="6" height="{self.y - top}"'
        self.bars.append(f'<rect class="{kind}" x="{lane - 3}" y="{top}" {size} rx="3"/>')

    def svg(self) -> str:
        """Return the file."""
        height = self.y + 20
        lanes = [f'<path class="lane" d="M{lane} 44V{height - 8}"/>' for lane in LANES]
        heads = [
            f'<text class="{kind}" x="{x}" y="{y}">{text}</text>'
            for x, texts in zip(LANES, HEADINGS, strict=True)
            for text, kind, y in zip(texts, ("head", "small"), (22, 36), strict=True)
        ]
        paper = f'<rect class="paper" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>'
        size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH * 1.2:g}" height="{height * 1.2:g}"'
        lines = [f"<style>{STYLE}</style>", paper, *lanes, *self.bars, *heads, *self.shapes]
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n' + "\n".join(lines) + "\n</svg>\n"


def draw_turn() -> str:
    """Play the match, and return its picture as SVG."""
    drawing = _Drawing()

    def watch(frame: FrameType, event: str, returned: Any) -> None:
        code = frame.f_code
        if event == "call" and code in CLOCK:
            drawing.happens(round(trio.current_time() * 1000))
            drawing.clock(starts=CLOCK[code] == "starts", kind=CLOCK[code])
        message = {"call": CALLS, "return": RETURNS}.get(event, {}).get(code)
        suspended = code is HostSeat.take_turn.__code__ and not isinstance(returned, Envelope)
        if message is not None and not suspended:
            drawing.happens(round(trio.current_time() * 1000))
            drawing.message(message, {**frame.f_locals, "returned": returned})

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        run(_Echo(), _LateOnce(), time_control="act=100ms/1s", clock="virtual", seed=1)
    finally:
        sys.setprofile(before)
    return drawing.svg()


if __name__ == "__main__":
    PICTURE.write_text(draw_turn(), encoding="utf-8")
