"""flagfall: matches of agents and tasks, as concurrent actors under deadlines that the kernel enforces.

Programs import what stands in `__all__` here and in `flagfall.agents`, `environments`, `tasks`, `testing`,
`timing` and `tournament`; all else may change. Names are imported on first use, so a command that needs few
of them starts in half the time. The package itself does not import this module.
"""

__all__ = [
    "Agent",
    "AgentFault",
    "Briefing",
    "ElapsedTimer",
    "FlagfallError",
    "HostFault",
    "Journal",
    "LogSink",
    "MatchResult",
    "Outcome",
    "Seat",
    "StepResult",
    "Task",
    "TaskSampler",
    "TelemetrySink",
    "TimeControl",
    "TrackTimes",
    "Turns",
    "UsageError",
    "Verification",
    "VirtualClock",
    "configure_logging",
    "events",
    "iter_turns",
    "play",
    "play_track",
    "read_journal",
    "read_turns",
    "run",
    "show",
    "verify",
    "with_state_observation",
]

from flagfall.lazy_names import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flagfall import events
    from flagfall.agents.agent import Agent
    from flagfall.errors import AgentFault, FlagfallError, HostFault, UsageError
    from flagfall.gvgai.play_track import TrackTimes, play_track
    from flagfall.gvgai.sample_players import with_state_observation
    from flagfall.kernel.agent_seat import Seat
    from flagfall.kernel.hosting import Briefing
    from flagfall.kernel.outcomes import MatchResult, Outcome, StepResult
    from flagfall.playing import play, run
    from flagfall.recording.journal.reader import read_journal
    from flagfall.recording.journal.writer import Journal
    from flagfall.recording.log_sink import LogSink, configure_logging
    from flagfall.recording.telemetry import TelemetrySink
    from flagfall.recording.turn_columns import Turns, iter_turns, read_turns
    from flagfall.recording.verify import Verification, verify
    from flagfall.tasks.task import Task, TaskSampler
    from flagfall.timing.clocks import VirtualClock
    from flagfall.timing.control import TimeControl
    from flagfall.timing.elapsed_timer import ElapsedTimer
    from flagfall.viewer.notebook import show

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "flagfall.agents.agent": "Agent",
        "flagfall.errors": "AgentFault FlagfallError HostFault UsageError",
        "flagfall.events": "events",
        "flagfall.gvgai.play_track": "TrackTimes play_track",
        "flagfall.gvgai.sample_players": "with_state_observation",
        "flagfall.kernel.agent_seat": "Seat",
        "flagfall.kernel.hosting": "Briefing",
        "flagfall.kernel.outcomes": "MatchResult Outcome StepResult",
        "flagfall.playing": "play run",
        "flagfall.recording.journal.reader": "read_journal",
        "flagfall.recording.journal.writer": "Journal",
        "flagfall.recording.log_sink": "LogSink configure_logging",
        "flagfall.recording.telemetry": "TelemetrySink",
        "flagfall.recording.turn_columns": "Turns iter_turns read_turns",
        "flagfall.recording.verify": "Verification verify",
        "flagfall.tasks.task": "Task TaskSampler",
        "flagfall.timing.clocks": "VirtualClock",
        "flagfall.timing.control": "TimeControl",
        "flagfall.timing.elapsed_timer": "ElapsedTimer",
        "flagfall.viewer.notebook": "show",
    },
)
del TYPE_CHECKING, lazy_names
