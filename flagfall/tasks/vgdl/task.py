"""A level of a VGDL game as a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from flagfall.errors import UsageError
from flagfall.kernel.descriptions import MAX_INSTRUCTIONS_CHARS
from flagfall.kernel.outcomes import StepResult
from flagfall.tasks.task import Task
from flagfall.tasks.vgdl.definition import DOWN, LEFT, NIL, RIGHT, UP, USE, GameDefinition, LevelDefinition
from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import advance, start
from flagfall.tasks.vgdl.engine.serialization import snapshot
from flagfall.tasks.vgdl.engine.state.game import Game
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.instructions import instructions_of
from flagfall.tasks.vgdl.rendering.painter import Painter
from flagfall.tasks.vgdl.rendering.tile_set import TileSet
from flagfall.tasks.vgdl.task_id import TaskId
from flagfall.tasks.vgdl.views.observer import Observer, StateObservation
from flagfall.tasks.vgdl.views.planes import PlanesObserver, PlanesView, TextView

ACTION_NAMES: Final = (NIL, LEFT, RIGHT, UP, DOWN, USE)
"""Actions by number, the same in every game. An action that the avatar does not have is played as `NIL`."""


class StateSpace(spaces.Space[StateObservation]):
    """Space of the states of a level.

    Args:
        example: result of `sample`, because random states cannot be drawn.
    """

    def __init__(self, example: StateObservation) -> None:
        super().__init__()
        self._example = example

    @property
    def is_np_flattenable(self) -> bool:
        """Always false: states have lists of any length."""
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> StateObservation:  # noqa: ARG002 - as all spaces
        """Return the example."""
        return self._example

    def contains(self, x: Any) -> bool:
        """Return whether a value is a state of a world of the same size."""
        return isinstance(x, StateObservation) and x.world_dimension == self._example.world_dimension

    def __repr__(self) -> str:
        return f"StateSpace({self._example.world_dimension})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, StateSpace) and other._example.world_dimension == self._example.world_dimension
        )

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # as all spaces that can be seeded


class VgdlTask(Task):
    """One level of one game. The reward of a step is its change of the score.

    An episode ends with the game, after 2001 ticks at the latest; it is solved if the game is won.

    Args:
        observation: `state`: a `StateObservation`, which shares unchanged parts with the next one;
            `planes`: see `PlanesView`; `image`: uint8 [height, width, 3]; `text`: see `TextView`.
        block: pixels a cell; `None` for the game's own.
        pixels: pixels a cell in pictures.
        task_id: id of the task; by default it is made from the names of the game and the level.
        tiles: for pictures; by default flagfall's own drawings.

    Attributes:
        play: current play; a new one with each `reset`.
    """

    render_modes: ClassVar[Sequence[str]] = ("rgb", "ansi")
    nil_action: int = ACTION_NAMES.index(NIL)
    action_space: spaces.Discrete[Any] = spaces.Discrete(len(ACTION_NAMES))

    def __init__(
        self,
        definition: GameDefinition,
        level: LevelDefinition,
        *,
        observation: str = "state",
        block: int | None = 10,
        pixels: int = 10,
        task_id: str | None = None,
        tiles: TileSet | None = None,
    ) -> None:
        super().__init__()
        if tiles is not None:
            self._tiles = tiles
        self.id: str = task_id or str(TaskId(definition.name, level.name))
        self.game: Game = compile_game(definition)
        self._definition = definition
        self._level = level
        self._block = block
        self._pixels = pixels
        self._observation = observation
        self._begin(0)

    @classmethod
    def of(cls, chosen: TaskId) -> VgdlTask:
        """Return the task of an id.

        Raises:
            UsageError: the game or the level does not exist, or is invalid.
        """
        definition, level = chosen.load()
        return cls(
            definition,
            level,
            observation=chosen.observation,
            block=chosen.block,
            pixels=chosen.pixels,
            task_id=str(chosen),
        )

    def _begin(self, seed: int) -> None:
        self.play: Play = self._start(seed)
        self._score = self.play.score
        self.__dict__.pop("_painter", None)  # a painter is for one play
        self._observe = self._view()

    def _start(self, seed: int) -> Play:
        return start(self.game, self._level, seed, self._block)

    @classmethod
    def class_action_names(cls) -> tuple[str, ...]:
        """Return the names of the actions, by number."""
        return ACTION_NAMES

    @cached_property
    def observation_space(self) -> spaces.Space[Any]:
        """Space of the chosen observations."""
        match self._observation:
            case "planes":
                return self._planes.space
            case "image":
                shape = (self.play.height * self._pixels, self.play.width * self._pixels, 3)
                return spaces.Box(0, 255, shape, np.uint8)
            case "text":
                return self._text.space(self.play.width, self.play.height)
            case _:
                return StateSpace(Observer(self.play).observe())

    def is_legal(self, action: Any) -> bool:
        """Return whether an action is legal."""
        if type(action) is int:
            return 0 <= action < len(ACTION_NAMES)
        return bool(self.action_space.contains(action))

    def _reset(self, seed: int) -> Any:
        self._begin(seed)
        return self._observe()

    def _step(self, action: Any) -> StepResult:
        return self._advance(ACTION_NAMES[action])

    def _advance(self, action: str) -> StepResult:
        play = self.play
        advance(play, action)
        reward = play.score - self._score
        self._score = play.score
        return StepResult(self._observe(), reward, play.over)

    @cached_property
    def instructions(self) -> str:  # type: ignore[override]  # made for those who ask
        """What GVGAI tells its agents, and the ends, scores and deaths of the game's definition."""
        return instructions_of(self._definition)[:MAX_INSTRUCTIONS_CHARS]

    def describe_observation(self, observation: Any, player: str | None = None) -> str:
        """Return an observation as text: states and planes as the text view shows them."""
        if isinstance(observation, StateObservation):
            observation = self._text.show(observation)
        elif self._observation == "planes" and self._planes.has_made(observation):
            observation = self._text.show_planes(observation, self._planes)
        return super().describe_observation(observation, player)

    def reached_terminal_state(self) -> bool:
        """Return whether the game is over."""
        return self.play.over

    def result(self) -> bool | None:
        """Return whether the game was won; `None` if it was not played to its end."""
        return {1: True, 0: False}.get(self.play.winner)

    def metrics(self) -> dict[str, Any]:
        """Return the original's figures: `win`, `score` (unadjusted), `ticks` (number of the last one)."""
        play = self.play
        return {**super().metrics(), "win": play.winner == 1, "score": float(play.score), "ticks": play.tick}

    def snapshot(self) -> Mapping[str, Any]:
        """Return the state as a plain dictionary; see `flagfall.tasks.vgdl.engine.serialization`."""
        return snapshot(self.play)

    def render(self, mode: str = "rgb", *args: Any, **kwargs: Any) -> NDArray[Any] | str:
        """Return the current picture (`rgb`) or text (`ansi`)."""
        if mode == "rgb":
            return self._painter.paint()
        if mode == "ansi":
            return self._text.show(Observer(self.play).observe())
        return super().render(mode, *args, **kwargs)

    # Views of the play.

    @cached_property
    def _tiles(self) -> TileSet:
        return TileSet(self._definition)

    @cached_property
    def _painter(self) -> Painter:
        return Painter(self.play, self._pixels, self._tiles)

    @cached_property
    def _text(self) -> TextView:
        return TextView(self._definition)

    @cached_property
    def _planes(self) -> PlanesView:
        return PlanesView(self._definition, self.play.width, self.play.height)

    def _view(self) -> Callable[[], Any]:
        """Return a function that makes the chosen observation of the current play."""
        match self._observation:
            case "planes":
                return PlanesObserver(self.play, self._planes).observe
            case "image":
                return self._painter.paint
            case "text":
                observer = Observer(self.play)
                return lambda: self._text.show(observer.observe())
            case "state":
                return Observer(self.play).observe
        raise UsageError(f"unknown observation {self._observation!r}")
