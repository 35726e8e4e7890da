"""What a language model is told of what it plays, templates of that, and what it may answer."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from flagfall.agents.hosts.registry import host_agent
from flagfall.agents.process.isolation import code_of_spec
from flagfall.agents.registry import load_agent
from flagfall.agents.samples.llm.forms import InvalidAnswer, action_form
from flagfall.agents.samples.llm.prompt import FIELDS, PromptTemplate, fill
from flagfall.agents.samples.llm.settings import URL
from flagfall.agents.spec import AgentSpec
from flagfall.errors import UsageError
from flagfall.kernel.spaces import whole_numbers
from flagfall.playing import play
from tests.fakes import CountTask, InTurnTask, play_here
from tests.model_server import completes, model

PATIENT = "start=20s act=20s/30s"
PAGE = Path(__file__).parents[2] / "docs" / "language-models.md"


class Corridor(CountTask):
    """Has rules, names, and observations as people read them."""

    id = "corridor"
    nil_action = 5
    instructions = "Leave the corridor.\nEach step costs 1."
    action_space = spaces.Discrete(2, start=5)
    observation_space = spaces.Discrete(9)

    def describe_action(self, action: Any, player: Any = None) -> str:  # noqa: ARG002
        return {5: "BACK", 6: "AHEAD"}[action]

    def describe_observation(self, observation: Any, player: Any = None) -> str:  # noqa: ARG002
        return f"door {observation}"


def prompts(running: Any, place: int = 0) -> tuple[str, str]:
    """Return the system message and the question of a request."""
    first, *_, last = running.asked[place]["messages"]
    return first["content"], last["content"]


async def test_a_task_with_rules_and_names(server: Any):
    running = server(completes({"action": "AHEAD"}), completes({"action": 5}))
    played = await play_here(Corridor(2), model(running), control=PATIENT)
    assert (played.actions(), played.disqualified) == ([6, 5], [])
    system, question = prompts(running)
    assert system == (
        "You play a game, one turn at a time. Answer with one JSON object and nothing else.\n"
        "Game: corridor\nLeave the corridor.\nEach step costs 1."
    )
    assert re.fullmatch(
        "You see:\ndoor 0\nReward for your last action: 0\nYou have (19.9|20) s to answer.\n"
        'Choose one of these actions: BACK, AHEAD\nAnswer such as {"action": "BACK"}.',
        question,
    )
    schema = running.asked[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["action"] == {"type": "string", "enum": ["BACK", "AHEAD"]}


async def test_the_prompt_is_the_same_in_a_process(server: Any, monkeypatch: Any):
    running = server(completes({"action": "AHEAD"}))
    monkeypatch.setenv(URL, running.url)
    for host in ("task", "process"):
        await play_here(Corridor(1), host_agent("llm", host), control=PATIENT)
    of_loop, of_process = ([re.sub("have .* s to", "", text) for text in prompts(running, n)] for n in (0, 1))
    assert of_loop == of_process


async def test_a_model_knows_its_player(server: Any):
    class Game(InTurnTask):
        nil_action = 0
        action_space = spaces.Discrete(3)

        def describe_player(self, player: str) -> str:
            return {"player_0": "white", "player_1": "black"}[player]

    running = server(completes({"action": 2}))
    await play_here(Game([1]), model(running), model(running), control=PATIENT)
    assert "\nYou are: black\n" in f"{prompts(running)[0]}\n"


async def test_a_vgdl_game(server: Any):
    running = server(completes({"action": 0}))
    await play("vgdl:windfall#0", model(running), steps=2, time_control=PATIENT)
    system, question = prompts(running)
    assert "\nGame: vgdl:windfall#0\nA game on a grid." in system
    assert "\nChoose one of these actions: NIL, LEFT, RIGHT, UP, DOWN, USE\n" in question
    assert "\nw   A   w\n" in question
    assert len(running.asked) == 2


async def test_a_duel_names_its_legal_actions(server: Any):
    running = server(completes({"action": "take 1 of heap 0"}))
    await play("duel:heaps", [model(running), "random"], seed=0, steps=1, time_control=PATIENT)
    system, question = prompts(running)
    assert "\nYou are: player_0\nThere are three heaps" in system
    assert re.search("^Choose one of these actions: take 1 of heap 0, ", question, re.MULTILINE)
    assert "action_mask" not in question
    assert "allowed actions" not in question, "they are in the prompt once"


async def test_legal_actions_have_numbers_beside_names_that_are_too_many_to_list(server: Any):
    class Board(CountTask):
        nil_action = 1
        action_space = spaces.Discrete(1_000)
        observation_space = spaces.Discrete(2)

        def reset(self, seed: int) -> Any:
            super().reset(seed)
            return {"action_mask": np.arange(1_000) % 500 == 1}

        def describe_action(self, action: Any, player: Any = None) -> str:  # noqa: ARG002
            return f"e{action}"

    running = server(completes({"action": 501}))
    await play_here(Board(1), model(running), control=PATIENT)
    question = prompts(running)[1]
    assert "\nallowed actions: e1; e501\n" in question
    assert "\nChoose one of these actions: 1, 501\n" in question


async def test_langroom_has_actions_made_of_numbers(server: Any):
    running = server(completes({"action": {"move": 3, "talk": 2}}))
    result = await play("langroom", model(running), steps=2, time_control=PATIENT)
    assert result.seats[0].stats.illegal == 0
    assert result.seats[0].stats.noted["answers"] == 2
    schema = running.asked[0]["response_format"]["json_schema"]["schema"]["properties"]["action"]
    assert schema["properties"]["move"] == {"type": "integer", "enum": [0, 1, 2, 3, 4]}
    assert (schema["required"], schema["additionalProperties"]) == (["move", "talk"], False)
    assert "move: 0, 1, 2, 3, 4; talk: 0, 1, " in prompts(running)[1]


async def test_a_byte_task_is_not_named(server: Any):
    running = server(completes({"say": ""}))
    await play("micro4", model(running), steps=60, time_control=PATIENT)
    system, question = prompts(running)
    assert system.startswith("A teacher talks to you")
    assert question.startswith("The teacher says:\n")
    assert "micro" not in json.dumps(running.asked)


async def test_a_text_that_no_json_holds(server: Any):
    class Odd(Corridor):
        def describe_observation(self, observation: Any, player: Any = None) -> str:  # noqa: ARG002
            return "door \ud800"

    running = server(completes({"action": "AHEAD"}))
    played = await play_here(Odd(1), model(running), control=PATIENT)
    assert (played.actions(), played.disqualified) == ([6], [])
    assert "door ?\n" in prompts(running)[1]


# Forms of answers.


@pytest.mark.parametrize(
    ("answer", "action"), [('{"action": "UP"}', 0), ('{"action": 1}', 1), ('{"action":"DOWN"}', 1)]
)
def test_an_action_by_name_or_number(answer: str, action: int):
    assert action_form(whole_numbers(2), None, ("UP", "DOWN")).read(answer) == action


@pytest.mark.parametrize("action", ["up", "", "0", 2, -1, True, None, 1.0, ["UP"], {"UP": 0}])
def test_an_action_that_is_none(action: Any):
    form = action_form(whole_numbers(2), None, ("UP", "DOWN"))
    with pytest.raises(InvalidAnswer, match="is not one of the actions"):
        form.read(json.dumps({"action": action}))


def test_names_that_do_not_tell_actions_apart_are_not_used():
    form = action_form(whole_numbers(3), None, ("UP", "UP", "DOWN"))
    assert (form.choices, form.read('{"action": 1}')) == ("0, 1, 2", 1)
    with pytest.raises(InvalidAnswer):
        form.read('{"action": "UP"}')


def test_only_legal_actions_have_names():
    form = action_form(whole_numbers(3, 1), [1, 3], ("A", "B", "C"))
    assert (form.choices, form.read('{"action": "C"}')) == ("A, C", 3)
    with pytest.raises(InvalidAnswer):
        form.read('{"action": "B"}')


def test_many_actions_are_a_range():
    form = action_form(whole_numbers(1_000), None)
    assert (form.choices, form.read('{"action": 999}')) == ("0 to 999", 999)
    assert form.schema["properties"]["action"] == {"type": "integer", "minimum": 0, "maximum": 999}


def test_a_list_of_numbers():
    form = action_form({"type": "multi_discrete", "shape": [2], "nvec": [2, 3]})
    assert form.example == 'Answer such as {"action": [0,0]}.'
    assert form.read('{"action": [1, 2]}') == [1, 2]
    for wrong in ("[1]", "[2, 0]", "[1, 2, 0]", "{}", '"11"'):
        with pytest.raises(InvalidAnswer):
            form.read(f'{{"action": {wrong}}}')


@pytest.mark.parametrize("space", [{}, {"type": "box", "shape": [2]}, {"type": "dict", "spaces": {"a": {}}}])
def test_actions_that_a_model_cannot_write(space: Any):
    with pytest.raises(UsageError, match="or are made of numbers"):
        action_form(space)


# Templates.


async def test_a_template_makes_the_prompt(server: Any, tmp_path: Path):
    running = server(completes({"action": "AHEAD"}))
    template = tmp_path / "prompt.txt"
    template.write_text(
        "$system\nIt is $task for $$5.\nyou are $player\n---\n${observation}: $actions?\n$reward"
    )
    await play_here(Corridor(1), model(running, template=str(template), system="Play."), control=PATIENT)
    assert prompts(running) == ("Play.\nIt is corridor for $5.", "door 0: BACK, AHEAD?\n0")
    template.write_text("$rules\nGo: $actions")
    await play_here(Corridor(1), model(running, template=str(template), system="Play."), control=PATIENT)
    assert prompts(running, 1) == ("Play.", "Leave the corridor.\nEach step costs 1.\nGo: BACK, AHEAD")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fine\n$rule now", "prompt.txt, line 2: unknown field $rule; nearest: rules"),
        ("$zebra", f"line 1: unknown field $zebra; nearest of {len(FIELDS)}: "),
        ("a\nb\nit costs $5", "line 3: a $ begins no field: write $$ for a dollar sign"),
        ("${task.__class__}", "line 1: a $ begins no field"),
        ("x" * 70_000, "it has more than 65536 bytes"),
        (b"\xff\xfe", "invalid start byte"),
        (None, "No such file"),
    ],
)
def test_a_template_that_is_none(
    text: str | bytes | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(URL, "http://127.0.0.1:9/v1")
    path = tmp_path / "prompt.txt"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as caught:
        load_agent(f"llm?template={path}").check()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("place", ["pipe", "/dev/zero"])
def test_a_template_that_is_no_regular_file(place: str, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="it is not a regular file"):
        load_agent(f"llm?template={tmp_path / place}").check()


@pytest.mark.parametrize("option", ["template", "answers"])
def test_a_name_that_no_file_has(option: str):
    with pytest.raises(UsageError, match=f"llm: {option}="):
        load_agent(f"llm?{option}=a%00b").check()


def test_values_are_not_read_as_templates():
    template = PromptTemplate.parse("$rules", "here")
    assert (
        fill(template.question, dict.fromkeys(FIELDS, "$system ${x} {0.__class__}"))
        == "$system ${x} {0.__class__}"
    )


def test_the_page_explains_every_field():
    table = PAGE.read_text().partition("| field |")[2].partition("\n\n")[0]
    assert tuple(re.findall(r"^\| `\$(\w+)` \|", table, re.MULTILINE)) == FIELDS


def test_files_of_a_text_follow_its_folder(tmp_path: Path):
    spec = AgentSpec.parse("llm?system=a%26template=b&template=my%20prompt.txt&memory=0")
    placed = spec.in_folder(tmp_path)
    assert placed.text == f"llm?system=a%26template=b&template={tmp_path}/my prompt.txt&memory=0"
    assert code_of_spec(placed.text) == (f"{tmp_path}/my prompt.txt",)
    assert (
        AgentSpec.parse("llm?template=50%25%26.txt").in_folder(Path("/")).text == "llm?template=/50%25%26.txt"
    )
    assert AgentSpec.parse("llm?memory=0").in_folder(tmp_path).text == "llm?memory=0"
    assert AgentSpec.parse("random").files == {}
