"""flagfall: matches of agents and tasks, as concurrent actors under deadlines that the kernel enforces.

General layout, lower before upper; nothing imports upwards (`tests/test_architecture.py` holds it):

    errors, events            the words
    timing, kernel.channels   what time it is; what travels between actors
    kernel                    the loop of a match: it knows roles, never a concrete task or agent
    tasks, agents, recording  they do not know each other
    playing                   wires them together
    cli                       one command a file

This module is for users; nobody inside imports it.
"""

from __future__ import annotations

from flagfall.agents import Agent as Agent
from flagfall.agents import Briefing as Briefing
from flagfall.agents import Seat as Seat
from flagfall.errors import AgentFault as AgentFault
from flagfall.errors import FlagfallError as FlagfallError
from flagfall.errors import HostFault as HostFault
from flagfall.errors import UsageError as UsageError
from flagfall.kernel.match import MatchResult as MatchResult
from flagfall.playing import play as play
from flagfall.playing import run as run
from flagfall.tasks import Outcome as Outcome
from flagfall.tasks import StepResult as StepResult
from flagfall.tasks import Task as Task
from flagfall.tasks import TaskSampler as TaskSampler
from flagfall.timing import ElapsedTimer as ElapsedTimer
from flagfall.timing import TimeControl as TimeControl
from flagfall.timing import VirtualClock as VirtualClock
