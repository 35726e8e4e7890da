"""Earlier meanings of presets, for tournaments that began under them."""

from __future__ import annotations

__all__ = ["as_begun"]

from collections.abc import Mapping

import attrs

from flagfall.tasks.vgdl.learning_track_setup import TrackSetup
from flagfall.timing import TimeControl
from flagfall.tournament.model import PlannedTask, TournamentPlan
from flagfall.tournament.plan.fingerprint import plan_facts


def as_begun(plan: TournamentPlan, facts: Mapping[str, str]) -> TournamentPlan:
    """Return a plan whose presets mean what they meant when its tournament began.

    A plan names a preset, and a later version of flagfall may correct what that stands for. A tournament goes
    on under the rules of its first matches, so that all of its matches are played alike.

    Args:
        plan: the plan, read by this version.
        facts: the stored facts of the tournament, see `flagfall.tournament.plan.fingerprint.plan_facts`.

    Returns:
        The plan with former meanings where these give the stored facts; otherwise `plan` itself.
    """
    former = attrs.evolve(plan, tasks=tuple(_before_rounds_broke(task) for task in plan.tasks))
    return former if plan_facts(former) == facts else plan


def _before_rounds_broke(task: PlannedTask) -> PlannedTask:
    """Return a task with `gvgai-2017` as it was at first.

    A tick over 50 ms disqualified the agent then, instead of aborting the level, and a client that declared
    itself too slow lost the match, instead of the rest of its round.
    """
    setup = task.tasks
    if not isinstance(setup, TrackSetup) or setup.rules.name != "gvgai-2017":
        return task
    rules = attrs.evolve(setup.rules, breaks_rounds=False)
    return attrs.evolve(task, tasks=attrs.evolve(setup, rules=rules), control=_without_abort(task.control))


def _without_abort(control: TimeControl) -> TimeControl:
    if control.act_abort is None:
        return control
    return attrs.evolve(control, act_abort=None, act_hard=control.act_abort)
