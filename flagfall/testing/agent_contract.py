"""`check_agent`: the contract of agents, as assertions for tests.

    def test_my_agent_lasts():
        check_agent(MyAgent)
        check_agent("bot.py:MyAgent", host="process", tasks=["micro4"])

It asserts the grades of `flagfall.testing.agent_report`, which `flagfall check-agent` prints.
"""

from __future__ import annotations

__all__ = ["check_agent"]

from collections.abc import Callable, Sequence
from typing import Any, Final

from flagfall.agents.hosts.registry import host_agent
from flagfall.kernel.hosting import LocalHostKind
from flagfall.tasks.task import Task
from flagfall.testing.agent_report import AgentUnderTest, report_agent
from flagfall.timing import TimeControl

PATIENCE_SECONDS: Final = 60.0
"""Maximum duration of one match, before the agent counts as hanging."""


def check_agent(
    agent: Any,
    *,
    host: LocalHostKind = "task",
    tasks: Sequence[str | Callable[[], Task]] = ("micro1", "micro4"),
    time_control: str = "start=10s init=5s act=1s/5s result=5s",
    steps: int = 200,
) -> None:
    """Check that an agent starts, answers in time and legally, repeats a match, and ends when cancelled.

    Args:
        agent: an agent of any kind (`flagfall.agents.agent`): best a class, as each match then has its own;
            or a text such as `bot.py:Bot`.
        host: where it runs. In the event loop (`task`) it is played on the virtual clock.
        tasks: ids of tasks, or functions that make one; all seats of a task get the agent.
        time_control: its text.
        steps: number of turns of each match.

    Raises:
        AssertionError: a check failed; the message has its name and finding.
        UsageError: the agent cannot be played as requested.
    """
    tested = AgentUnderTest(
        lambda name: host_agent(agent, host, name),
        tasks,
        TimeControl.parse(time_control),
        turns=steps,
        is_virtual=host == "task",
        patience_seconds=PATIENCE_SECONDS,
    )
    for grade in report_agent(tested):
        assert grade.passed is not False, f"{grade.check}: {grade.found}"
