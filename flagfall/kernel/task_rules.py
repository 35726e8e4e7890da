"""What the referee knows of the task that runs: who plays, what may be played, and what is for nobody."""

from __future__ import annotations

__all__ = ["TaskRules"]

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from flagfall.kernel.roles import Player, TaskRole


@attrs.frozen
class TaskRules:
    """The rules of one task; without arguments those before the first, when nothing is played.

    Attributes:
        players: in seat order.
        nil: the action that is played for a late, wrong or absent agent.
        abort: the action that ends the episode at once; `None` where there is none.
    """

    players: tuple[Player, ...] = ()
    nil: Any = None
    abort: Any = None
    _is_legal: Callable[[Any], bool] = lambda _action: True
    _is_legal_for: Callable[[Player, Any], bool] | None = None

    @classmethod
    def of(cls, task: TaskRole) -> TaskRules:
        """The rules of this task."""
        judge = getattr(task, "is_legal_for", None)
        return cls(
            tuple(task.players), task.nil_action, getattr(task, "abort_action", None), task.is_legal, judge
        )

    def legal(self, seat: int, action: Any) -> bool:
        """Whether a seat may play this; an action that breaks the task's own check is no action of it."""
        judge = self._is_legal_for
        try:
            return self._is_legal(action) if judge is None else judge(self.players[seat], action)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - whatever it is
            return False

    def share_of(self, seat: int, shown: Any, paid: Any) -> tuple[Any, Any]:
        """What one seat sees and gets of an observation and a reward."""
        if len(self.players) <= 1:
            return shown, paid
        player = self.players[seat]
        return (
            shown.get(player) if isinstance(shown, Mapping) else shown,
            paid.get(player, 0) if isinstance(paid, Mapping) else 0,
        )
