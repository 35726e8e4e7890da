"""The running task as the referee sees it: its players, legal actions, NIL action and times."""

from __future__ import annotations

__all__ = ["TaskRules"]

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from flagfall.kernel.safe_values import safe_repr
from flagfall.kernel.spaces import legal_actions
from flagfall.timing import NEVER_NS

if TYPE_CHECKING:
    from flagfall.kernel.referee.ports import SeatPort
    from flagfall.kernel.roles import Player, TaskRole


@attrs.frozen
class TaskRules:
    """The rules of one task; without arguments those before the first, when nothing is played.

    Attributes:
        players: in seat order.
        nil: the action that is played for a late, wrong or absent agent.
        abort: the action that ends the episode at once; `None` where there is none.
        play_until_ns: the end of the task's time, since the match began; `NEVER_NS` for none.
        result_until_ns: until then agents may think of its result, since the match began; 0 for no such time.
    """

    players: tuple[Player, ...] = ()
    nil: Any = None
    abort: Any = None
    play_until_ns: int = NEVER_NS
    result_until_ns: int = 0
    _is_legal: Callable[[Any], bool] = lambda _action: True
    _is_legal_for: Callable[[Player, Any], bool] | None = None
    _task: TaskRole | None = None

    @classmethod
    def of(cls, task: TaskRole) -> TaskRules:
        """Read the rules of a task."""
        return cls(
            tuple(task.players),
            task.nil_action,
            task.abort_action,
            task.play_until_ns,
            task.result_until_ns,
            task.is_legal,
            task.is_legal_for,
            task,
        )

    def legal(self, seat: int, action: Any) -> bool:
        """Return whether a seat may play an action; one that breaks the task's own check is not legal."""
        is_legal_for = self._is_legal_for
        try:
            return (
                self._is_legal(action) if is_legal_for is None else is_legal_for(self.players[seat], action)
            )
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - an action may hold any code of its agent's
            return False

    def refuse(self, seat: SeatPort, action: Any, turn: int) -> tuple[str, str | None]:
        """Count an illegal action; return it as text, and with a seat's first one the legal ones as text."""
        stats = seat.stats
        stats.illegal += 1
        refused = safe_repr(action)
        if stats.illegal > 1:
            return refused, None
        legal = self._legal_actions(seat.number)
        stats.illegal_note = f"turn {turn}: {refused}; legal: {legal}"
        return refused, legal

    def _legal_actions(self, seat: int) -> str:
        try:
            text = "" if self._task is None else legal_actions(self._task, seat)
        except Exception:  # noqa: BLE001 - a task's own spaces may be anything
            text = ""
        return text or "not described by the task"

    def share_of(self, seat: int, shown: Any, paid: Any) -> tuple[Any, Any]:
        """Return one seat's share of an observation and a reward."""
        if len(self.players) <= 1:
            return shown, paid
        player = self.players[seat]
        return (
            shown.get(player) if type(shown) is dict or isinstance(shown, Mapping) else shown,
            paid.get(player, 0) if type(paid) is dict or isinstance(paid, Mapping) else 0,
        )
