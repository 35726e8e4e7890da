"""Contracts of agents, schedulers and tasks, and matches under faults: functions for tests."""

__all__ = [
    "MatchRequest",
    "Player",
    "SimulatedRun",
    "check_agent",
    "check_scheduler",
    "check_task",
    "explore",
    "simulate",
]

from flagfall.lazy_names import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flagfall.agents.hosts.registry import Player
    from flagfall.playing import MatchRequest
    from flagfall.testing.contracts import check_agent, check_task
    from flagfall.testing.exploration import explore
    from flagfall.testing.scheduler_contract import check_scheduler
    from flagfall.testing.simulation.match import SimulatedRun, simulate

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "flagfall.agents.hosts.registry": "Player",
        "flagfall.playing": "MatchRequest",
        "flagfall.testing.contracts": "check_agent check_task",
        "flagfall.testing.exploration": "explore",
        "flagfall.testing.scheduler_contract": "check_scheduler",
        "flagfall.testing.simulation.match": "SimulatedRun simulate",
    },
)
del TYPE_CHECKING, lazy_names
