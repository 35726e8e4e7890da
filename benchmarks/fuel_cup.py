"""A tournament of agents that work for about as long as their limit, and of some that misbehave.

It is played by one of three clocks, so that what a busy machine changes can be counted.
"""

from __future__ import annotations

__all__ = ["CLOCKS", "Cup", "build_c_agent", "burning", "differences", "played_turns"]

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

import attrs

from flagfall.recording.turn_columns import read_turns
from flagfall.testing.adversarial.wasm_agents import module_file

Clock: TypeAlias = Literal["fuel", "wall clock, in WebAssembly", "wall clock, in processes"]

CLOCKS: Final[Mapping[Clock, str]] = {
    "fuel": 'clock = "virtual"\ntime_control = "start=1s act=20ms/100ms"',
    "wall clock, in WebAssembly": 'time_control = "start=20s act=2ms/100ms"',
    "wall clock, in processes": 'time_control = "start=20s act=1ms/100ms"',
}
"""Clock and limits of the plan. A part of the work takes longer than the soft limit, by each clock, on a
machine with nothing else to do."""

_REPEAT: Final = 90
"""Matches of a repeat: all pairs of ten agents, on both seats."""

_FOLDER: Final = Path(__file__).parent
_PLAIN: Final = _FOLDER.parent / "flagfall" / "testing" / "adversarial" / "plain_agents.py"

_GAME: Final = """
import random
from flagfall.kernel.outcomes import StepResult

class Amounts:
    id = "amounts"
    players = ("left", "right")
    continuous = False
    nil_action = 0

    def is_legal(self, action):
        return type(action) is int

    def reset(self, seed):
        self._turn, self._dice = 0, random.Random(seed)
        return self._shown()

    def _shown(self):
        self._amount = self._dice.randint(1, 8)
        return dict.fromkeys(self.players, self._amount)

    def step(self, actions):
        self._turn += 1
        rewards = {player: int(action == self._amount) for player, action in actions.items()}
        return StepResult(self._shown(), rewards, terminated=self._turn == 12)

    def result(self):
        return None

    def metrics(self):
        return {}

    def close(self):
        pass
"""

_OWN: Final = ("arithmetic", "sorting", "texts")
_OWN_IN_C: Final = ("arithmetic", "texts")
_BAD: Final = ("spins", "RaisesInAct", "eats_memory")
_BAD_MODULES: Final = ("loops", "overflows_its_stack")
_BAD_NATIVE: Final = ("raises_system_exit", "recurses")


def build_c_agent(work: str, output: Path) -> None:
    """Compile `work_agent.c`, which `ziglang` does; for WebAssembly where the output ends in `.wasm`.

    Args:
        work: the name of a function there.
    """
    words = [sys.executable, "-m", "ziglang", "cc", "-O2", f"-DWORK={work}", "-s", "-o", str(output)]
    if output.suffix == ".wasm":
        words += ["-target", "wasm32-wasi", "-mexec-model=reactor"]
    subprocess.run([*words, str(_FOLDER / "work_agent.c")], check=True)


@contextmanager
def burning(count: int) -> Iterator[None]:
    """Let so many programs compute without end."""
    with ExitStack() as stack:
        for _ in range(count):
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.enter_context(busy)
            stack.callback(busy.kill)
        yield


@attrs.frozen
class Cup:
    """The tournament in a folder.

    Args:
        folder: for the plan, the agents and the results.
        clock: by which it is played.
        matches: of a round robin; ten have all agents.
    """

    folder: Path
    clock: Clock
    matches: int

    def write(self) -> None:
        """Write the plan and what it names."""
        (self.folder / "game.py").write_text(_GAME)
        in_processes = self.clock.endswith("processes")
        agents = {f"python-{work}": f"{_FOLDER / 'work_agent.py'}:{work}" for work in _OWN}
        for work in _OWN_IN_C:
            program = self.folder / (work if in_processes else f"{work}.wasm")
            build_c_agent(work, program)
            agents[f"c-{work}"] = f"cmd:{program}" if in_processes else str(program)
        agents |= {name: f"{_PLAIN}:{name}" for name in (*_BAD, *(_BAD_NATIVE if in_processes else ()))}
        for name in () if in_processes else _BAD_MODULES:
            agents[name] = str(module_file(name, self.folder))
        own = 'think = "fuel(1G/s)"\n' if self.clock == "fuel" else ""
        lines = [f'format = "round-robin"\nrepeats = {-(-self.matches // _REPEAT)}\n{CLOCKS[self.clock]}\n']
        for name, spec in agents.items():
            host = 'host = "wasm"\n' if ".py:" in spec and not in_processes else ""
            lines.append(f'[[agents]]\nname = "{name}"\nspec = "{spec}"\n{host}{own}')
        lines.append('[[tasks]]\ntask = "game.py:Amounts"\nscore = "reward"\n')
        lines.append(f"[stop]\nmatches = {self.matches}\n")
        (self.folder / "plan.toml").write_text("\n".join(lines))

    def play(self, name: str, *, jobs: int, hash_seed: int = 0) -> Path:
        """Play it with the command `flagfall tournament`; return the folder of journals.

        Args:
            name: of the folder of results.
            jobs: number of matches at the same time.
            hash_seed: of the hashes of Python on this machine.
        """
        output = self.folder / name
        words = ["tournament", "plan.toml", "--output", str(output), "--jobs", str(jobs)]
        done = subprocess.run(
            [sys.executable, "-m", "flagfall", *words],
            cwd=self.folder,
            env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(_FOLDER.parent)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        return output / "journals"


Turn: TypeAlias = tuple[str, int, int]
"""A turn: its journal, its number, its seat."""


def played_turns(journals: Path) -> dict[Turn, tuple[str, object]]:
    """Return the verdict and the action of each turn in a folder of journals."""
    found: dict[Turn, tuple[str, object]] = {}
    for path in _journals(journals):
        turns = read_turns(path)
        columns = (turns[name].tolist() for name in ("turn", "seat", "verdict", "action"))
        for turn, seat, verdict, action in zip(*columns, strict=True):
            found[path.name, turn, seat] = verdict, action
    return found


def differences(one: Path, other: Path) -> tuple[int, int]:
    """Return how many turns of two folders differ in verdict or action, and how many files in any byte."""
    left, right = played_turns(one), played_turns(other)
    turns = sum(left.get(turn) != right.get(turn) for turn in left.keys() | right.keys())
    names = {path.name for folder in (one, other) for path in _journals(folder)}
    files = sum(not _same(one / name, other / name) for name in names)
    return turns, files


def _journals(folder: Path) -> list[Path]:
    """Return the journals of the matches that count; a match that the host spoiled was played again."""
    return sorted(path for path in folder.iterdir() if ".void" not in path.name)


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.read_bytes() == other.read_bytes()
