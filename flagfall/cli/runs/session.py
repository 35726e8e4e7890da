"""Session of `flagfall run`: plays the matches of a plan in order, until the end or a signal."""

from __future__ import annotations

import signal
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import trio
from rich.console import Console

from flagfall.agents.listening import open_series
from flagfall.cli.console.interrupts import Interrupts, interruptible
from flagfall.cli.console.output import print_json
from flagfall.cli.console.progress import Progress, block_notice, show_live
from flagfall.cli.console.signals import SIGNALLED
from flagfall.cli.runs import tables
from flagfall.cli.runs.plan import write_results
from flagfall.cli.runs.resuming import old_journal_aside
from flagfall.cli.runs.tables import PlayedMatch
from flagfall.errors import UNAVAILABLE, FlagfallError, HostFault
from flagfall.playing import play_request
from flagfall.recording.journal.writer import Journal
from flagfall.recording.round1_results import ResultsSink
from flagfall.timing import VirtualClock

if TYPE_CHECKING:
    from flagfall.cli.runs.plan import PlannedMatch, RunPlan
    from flagfall.kernel.dispatcher import Sink
    from flagfall.kernel.outcomes import MatchResult
    from flagfall.playing import MatchRequest
    from flagfall.recording.match_logs import MatchLogs
    from flagfall.testing.faults import FaultSchedule
    from flagfall.testing.simulation.match import SimulatedRun


class RunSession:
    """State of a run: its matches with a result, the error or the number of the signal that ended it.

    A progress line is shown if the standard error is a terminal.

    Args:
        faults: the schedule of faults under which each match is simulated; `None`: they are played.

    Attributes:
        simulated: the matches that were simulated.
    """

    def __init__(
        self,
        plan: RunPlan,
        *,
        logs: MatchLogs,
        progress: bool = False,
        quiet: bool = False,
        faults: FaultSchedule | None = None,
    ) -> None:
        self.plan = plan
        self.played: list[PlayedMatch] = []
        self.fault: FlagfallError | None = None
        self.signal: int = 0
        self.simulated: list[SimulatedRun] = []
        self._faults = faults
        self._logs = logs
        self._quiet = quiet
        self._awaited: set[str] = set()
        self._console = Console(stderr=True, highlight=False, markup=False)
        self._progress: Progress | None = None
        if progress and self._console.is_terminal and not plan.has_human:
            self._progress = Progress(len(plan.matches), plan.request.steps)

    @property
    def disqualified(self) -> set[str]:
        """The reasons for which agents were disqualified in the matches."""
        seats = (seat for match in self.played for seat in match.result.seats)
        return {seat.disqualified for seat in seats if seat.disqualified is not None}

    def run(self, *, json: bool, wide: bool, fail_on_disqualified: bool = False) -> int:
        """Play the plan in a loop of its own, print the results, and return the exit code of the command.

        Raises:
            FlagfallError: the host or the user's request failed; what was played until then is printed.
        """
        try:
            trio.run(self.play, clock=self._clock())
        finally:
            self._report(json=json, wide=wide)
        if self.fault is not None:
            raise self.fault
        if self.signal:
            return SIGNALLED + self.signal
        reasons = self.disqualified
        return int(UNAVAILABLE in reasons or (fail_on_disqualified and bool(reasons)))

    def _report(self, *, json: bool, wide: bool) -> None:
        """Print the results of the matches played so far."""
        if json:
            ended = "fault" if self.fault is not None else "signal" if self.signal else "done"
            faults = {"faults": [dict(run.happened) for run in self.simulated]} if self.simulated else {}
            print_json(
                {"ended": ended, "matches": [tables.as_data(match) for match in self.played], **faults}
            )
        elif self.played and not self._quiet:
            several = len(self.plan.matches) > 1
            tables.print_results(self.played, several=several, wide=wide)
            tables.print_notes(self.played, several=several, wide=wide)
            tables.print_incidents(self.played, several=several)
            tables.print_journals(self.played)
        if not json and not self._quiet:
            tables.print_faults(self.simulated)

    def _clock(self) -> trio.abc.Clock | None:
        if self._faults is not None:
            from flagfall.testing.simulation.match import SimulatedClock

            return SimulatedClock()
        return VirtualClock() if self.plan.request.clock == "virtual" else None

    async def play(self) -> None:
        """Play the plan. Errors of host and user, and signals, are stored in `fault` and `signal`."""
        shown = nullcontext() if self._progress is None else show_live(self._progress, self._console)
        unwatched = self._quiet or self.plan.request.clock == "virtual"
        notices = nullcontext() if unwatched else block_notice(self._say)
        try:
            with shown:
                async with interruptible(self._say) as interrupts, notices:
                    await self._play_all(interrupts)
        except* KeyboardInterrupt:  # raised inside an agent that blocked the event loop
            self.signal = self.signal or signal.SIGINT

    async def _play_all(self, interrupts: Interrupts) -> None:
        try:
            async with open_series(self.plan.hosts):
                for match in self.plan.matches:
                    if interrupts.stop.is_set():
                        break
                    await self._play_one(match, interrupts)
        except FlagfallError as error:
            self.fault = error
        finally:
            self.signal = interrupts.number

    async def _play_one(self, match: PlannedMatch, interrupts: Interrupts) -> None:
        if self._progress is not None:
            self._progress.begin(match.number, ", ".join(host.name for host in match.hosts))
        self._tell_awaited(match)
        figures = ResultsSink()
        file = match.request.journal
        try:
            with old_journal_aside(match.request) as prepared:
                request = attrs.evolve(
                    prepared,
                    journal=Journal(file, whole=self.plan.whole) if isinstance(file, Path) else file,
                    sinks=tuple(self._sinks(match, figures, interrupts)),
                )
                if self._faults is None:
                    result = await play_request(request, interrupts.stop)
                else:
                    result = await self._simulate(match, request, self._faults, interrupts.stop)
            self.played.append(PlayedMatch(match, result))
        finally:  # after errors too, but not if the match did not start
            if match.results is not None and figures.begun:
                write_results(match.results, figures.figures())

    async def _simulate(
        self, match: PlannedMatch, request: MatchRequest, faults: FaultSchedule, stop: trio.Event
    ) -> MatchResult:
        """Play a match under faults; its journal is written afterwards, as it was recorded."""
        from flagfall.testing.simulation.match import simulate_here

        run = await simulate_here(attrs.evolve(request, agents=match.players), faults, stop=stop)
        self.simulated.append(run)
        if isinstance(match.request.journal, Path):
            match.request.journal.write_bytes(run.journal)
        if run.result is None:
            raise run.error if isinstance(run.error, FlagfallError) else HostFault(f"{run.error}")
        return run.result

    def _sinks(self, match: PlannedMatch, figures: ResultsSink, interrupts: Interrupts) -> list[Sink]:
        sinks: list[Sink] = [] if self._progress is None else [self._progress]
        if match.results is not None:
            sinks.append(figures)
        for host in match.hosts:
            human = getattr(host, "human", None)
            if human is not None:
                human.stop = interrupts.stop.set
                sinks.append(human.notice)
        return [*sinks, *self._logs.sinks(str(match.number))]

    def _tell_awaited(self, match: PlannedMatch) -> None:
        """Print a line that names the agents which have to connect, once for each."""
        names = [
            host.name for host in match.hosts if host.kind == "remote" and host.name not in self._awaited
        ]
        self._awaited.update(names)
        if names and not self._quiet:
            self._say(f"waiting for agents to connect: {', '.join(names)}")

    def _say(self, text: str) -> None:
        with suppress(OSError):  # the terminal was closed
            if self._progress is not None:
                self._console.print(f"flagfall: {text}")
            else:
                print(f"flagfall: {text}", file=sys.stderr, flush=True)
