"""Recorded matches that are played again by their agents, for `flagfall verify --agents`.

A journal has the names of its agents. Of these only samples of flagfall are run; the user names the others.
A results folder has the plan, and carries the code of its agents, which runs where the user trusts it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

import attrs

from flagfall.agents.hosts.registry import HOSTS, Player
from flagfall.agents.registry import SAMPLES, load_agent
from flagfall.agents.spec import ANSWERS, AgentSpec
from flagfall.cli.console.interrupts import run_until_interrupted
from flagfall.cli.runs.plan import option_of
from flagfall.errors import HostFault, UsageError
from flagfall.events import MatchStarted, SeatReady, TaskStarted
from flagfall.kernel.hosting import LocalHostKind
from flagfall.playing import play_request, repeat_request
from flagfall.recording.branching import AnswerDiffers
from flagfall.recording.journal.reader import read_journal
from flagfall.recording.repetition import Repetition
from flagfall.tournament.code_folder import CarriedAgents

if TYPE_CHECKING:
    import trio

    from flagfall.agents.process.isolation import Isolation
    from flagfall.kernel.roles import SchedulerRole
    from flagfall.playing import MatchRequest
    from flagfall.recording.verify import Verification

_KINDS: Final = frozenset(get_args(LocalHostKind))


@attrs.define(eq=False)
class AgentsAgain:
    """The agents of recorded matches.

    Attributes:
        texts: agents that the user names for the seats of a journal, in their order.
        host: where agents run; `None` for where they ran.
        isolation: of agents in processes.
        trust: run the code that a results folder carries.
    """

    texts: Sequence[str]
    host: LocalHostKind | None
    isolation: Isolation
    trust: bool
    _carried: dict[Path, CarriedAgents] = attrs.Factory(dict)

    def play(
        self,
        journal: Path,
        found: Verification,
        rebuild: Callable[[MatchStarted], SchedulerRole],
        results: Path | None = None,
    ) -> Verification:
        """Play a match again, and compare it with its journal.

        Args:
            found: the verification of the journal, without a difference.
            results: the folder of the tournament that the match is of.

        Returns:
            The verification with the first difference that the agents made, if any.

        Raises:
            UsageError: an agent cannot be run again, or is not known.
            KeyboardInterrupt: the user stopped it.
        """
        try:
            request = self._request(journal, rebuild, results)
            request.check(option_of, private=[journal])
            return _compared(request, journal, found)
        finally:  # the next match imports its agents anew
            for carried in self._carried.values():
                carried.close()

    def _request(
        self, journal: Path, rebuild: Callable[[MatchStarted], SchedulerRole], results: Path | None
    ) -> MatchRequest:
        header, kinds = _beginning(journal)
        specs = self._named(journal, header) if results is None else self._of_plan(header, results)
        players = [
            self._player(header, seat, _with_answers(spec, journal), kinds.get(seat))
            for seat, spec in enumerate(specs)
        ]
        return repeat_request(journal, players, rebuild, _rehearsed(header) if results is None else ())

    def _named(self, journal: Path, header: MatchStarted) -> list[AgentSpec]:
        """Return the agents that the user names, and samples by their names in the journal."""
        names = header.agents
        if len(self.texts) > len(names):
            raise UsageError(f"--agent: {len(self.texts)} agents are given; {journal} has {len(names)} seats")
        named = [AgentSpec.parse(text) for text in self.texts]
        others = enumerate(names[len(named) :], len(named))
        return [*named, *(_recorded(journal, seat, name) for seat, name in others)]

    def _of_plan(self, header: MatchStarted, results: Path) -> list[AgentSpec]:
        """Return the agents that the stored plan has under the names in the journal."""
        if results not in self._carried:
            self._carried[results] = CarriedAgents(results, trust=self.trust)
        return [self._carried[results].spec(name) for name in header.agents]

    def _player(self, header: MatchStarted, seat: int, spec: AgentSpec, kind: str | None) -> Player:
        if not spec.form.is_startable:
            raise UsageError(f"seat {seat}: {spec.text!r:.80}, {spec.form.what}, cannot be run again")
        rows = [entry for entry in HOSTS if entry.kind == kind and entry.can_run(spec.scheme)]
        host = self.host or next((one for one in _KINDS if rows and one == kind), None)
        return Player(spec.text, host, header.agents[seat], self.isolation)


def _recorded(journal: Path, seat: int, name: str) -> AgentSpec:
    """Return the agent that has the name of a seat: a sample, or one that cannot be run again."""
    with suppress(UsageError):
        spec = AgentSpec.parse(name)
        is_plain = spec.target in SAMPLES and not spec.files.keys() - {ANSWERS}  # files are the user's
        if is_plain or not spec.form.is_startable:
            return spec
    raise UsageError(
        f"{journal}: seat {seat} was played by {name!r:.80}, and only samples of flagfall that read no file"
        " are run by their names: add --agent for it"
    )


def _with_answers(spec: AgentSpec, journal: Path) -> AgentSpec:
    """Return a sample that asks a language model as one that has the recorded answers, and asks none."""
    if spec.scheme != "sample" or not getattr(load_agent(spec), "resumes", False):
        return spec
    return spec.with_answers(journal.absolute())


def _beginning(journal: Path) -> tuple[MatchStarted, Mapping[int, str]]:
    """Return the header of a journal, and where the agents of its seats ran."""
    events = read_journal(journal)
    header = next(events)
    assert isinstance(header, MatchStarted)
    kinds: dict[int, str] = {}
    for event in events:
        if isinstance(event, TaskStarted):
            break
        if isinstance(event, SeatReady):
            kinds[event.seat] = event.host
    return header, kinds


def _rehearsed(header: MatchStarted) -> list[int]:
    """Return the seats whose agents are those of the match that this one goes on from: they play it, too.

    In matches of tournaments they do not: these begin at their openings.
    """
    earlier = header.parents[-1] if header.parents else header
    pairs = zip(header.agents, earlier.agents, strict=False)
    return [
        seat for seat, (name, before) in enumerate(pairs) if name == before and earlier.seed == header.seed
    ]


def _compared(request: MatchRequest, journal: Path, found: Verification) -> Verification:
    """Play a request, and return the verification of its journal with what came of it."""
    repetition: Repetition | None = None

    async def play(stop: trio.Event) -> None:
        nonlocal repetition
        repetition = Repetition(journal, stop.set)
        await play_request(attrs.evolve(request, sinks=(repetition,)), stop)

    try:
        if run_until_interrupted(play, virtual=True):
            raise KeyboardInterrupt
    except (HostFault, AnswerDiffers) as why:
        return attrs.evolve(found, not_repeatable=f"the agents could not play the match again: {why}")
    assert repetition is not None
    return attrs.evolve(found, difference=repetition.difference, agents=len(request.agents))
