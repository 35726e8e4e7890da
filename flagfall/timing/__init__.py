"""Clocks, time controls, budgets, and the timekeeper that wakes for the earliest deadline."""

__all__ = ["ElapsedTimer", "TimeControl", "VirtualClock"]

from flagfall.lazy_names import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flagfall.timing.budget import Budget as Budget
    from flagfall.timing.clocks import NowNs as NowNs
    from flagfall.timing.clocks import VirtualClock as VirtualClock
    from flagfall.timing.clocks import process_cpu_clock as process_cpu_clock
    from flagfall.timing.clocks import time_source as time_source
    from flagfall.timing.control import PRESETS as PRESETS
    from flagfall.timing.control import TimeControl as TimeControl
    from flagfall.timing.deadlines import Deadline as Deadline
    from flagfall.timing.deadlines import DeadlineQueue as DeadlineQueue
    from flagfall.timing.durations import MS as MS
    from flagfall.timing.durations import NEVER_NS as NEVER_NS
    from flagfall.timing.durations import S as S
    from flagfall.timing.elapsed_timer import ElapsedTimer as ElapsedTimer
    from flagfall.timing.timekeeper import Timekeeper as Timekeeper
    from flagfall.timing.timekeeper import sleep_until_ns as sleep_until_ns
    from flagfall.timing.timekeeper import timekeeper_of_loop as timekeeper_of_loop
    from flagfall.timing.timekeeper import timekeeping as timekeeping

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "flagfall.timing.budget": "Budget",
        "flagfall.timing.clocks": "NowNs VirtualClock process_cpu_clock time_source",
        "flagfall.timing.control": "PRESETS TimeControl",
        "flagfall.timing.deadlines": "Deadline DeadlineQueue",
        "flagfall.timing.durations": "MS NEVER_NS S",
        "flagfall.timing.elapsed_timer": "ElapsedTimer",
        "flagfall.timing.timekeeper": "Timekeeper sleep_until_ns timekeeper_of_loop timekeeping",
    },
)
del TYPE_CHECKING, lazy_names
