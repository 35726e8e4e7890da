"""Effects that run later."""

from __future__ import annotations

__all__: list[str] = []

from flagfall.tasks.vgdl.engine.effects.behaviour import effect_maker
from flagfall.tasks.vgdl.engine.state.game import Game
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite
from flagfall.tasks.vgdl.engine.state.tables import Effect, EffectLine
from flagfall.tasks.vgdl.engine.state.timers import Timer, TimerPlan, schedule


@effect_maker("addTimer")
def _add_timer(line: EffectLine, game: Game) -> Effect:
    """Run another effect later, once for each collision; the score is added both times."""
    assert line.inner is not None  # the parser demands one
    period: int = line.parameters["timer"]
    plan = TimerPlan(len(game.timer_plans), None, line.inner, line.score, period, repeats=False)
    game.timer_plans.append(plan)

    def run(play: Play, _first: Sprite | None, _second: Sprite | None) -> int:
        schedule(play.memory.timers, Timer(play.tick + period, plan))
        return line.score

    return run
