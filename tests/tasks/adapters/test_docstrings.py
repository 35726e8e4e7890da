"""Goal and rules from documentation: what is kept of Markdown, and what is left out."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from flagfall.kernel.descriptions import MAX_INSTRUCTIONS_CHARS
from flagfall.tasks.adapters.docstrings import instructions_from, plain_text
from flagfall.tasks.catalog import make_task

PAGE = """
    # Boxes

    | Creation | `make("boxes")` |
    |----------|-----------------|
    | Actions  | Discrete        |

    Push **all** boxes
    to the [goal](https://example.org/goal).

    ### Observation Space
    One number.
    #### Details
    It is `0`.

    ### Arguments
    `size`: its size.
    #### More
    Left out, too.

    ### Action Space
    | Num | Action        |
    |:---:|---------------|
    | 0   | Push <b>left</b> |

    - 1: wait, for
      a step

    ```
    0 | 1
    ```
    ```python
    env.step(0)
    ```
"""

TEXT = """Push all boxes to the goal.

Action Space:
Num | Action
0 | Push left

- 1: wait, for a step

0 | 1

Observation Space:
One number.

Details:
It is 0."""


def test_markdown_becomes_text_without_what_concerns_programs():
    assert plain_text(PAGE) == TEXT


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gym:CartPole-v1", ["keep the pole upright", "a reward of +1", "2 | Pole Angle |"]),
        ("gym:Taxi-v4", ["|Y| : |B: |", "4: Pickup passenger", "+20 delivering passenger"]),
        ("pettingzoo:classic/connect_four_v3", ["must connect four of their tokens", "rewarded 1 point"]),
    ],
)
def test_environments_tell_goal_actions_and_rewards(text: str, said: list[str]):
    task = make_task(text)
    assert all(part in task.instructions for part in said), task.instructions
    assert "import gymnasium" not in task.instructions
    assert "Version History" not in task.instructions
    task.close()


def test_an_environment_of_ones_own_has_the_docstring_of_its_class_alone():
    env = SimpleNamespace(unwrapped=type("Silent", (dict,), {})())
    assert instructions_from(env) == ""
    env = SimpleNamespace(unwrapped=type("Talking", (), {"__doc__": "Find the door."})())
    assert instructions_from(env) == "Find the door."


@pytest.mark.parametrize("mark", ["#", "|", "`", "[", "<a", "![", "\n", "```x\n", "- ", "[a](", " \n"])
def test_long_docstrings_are_cut_in_time(mark: str):
    begun = time.monotonic()
    assert len(plain_text(mark * 100_000)) <= MAX_INSTRUCTIONS_CHARS
    assert time.monotonic() - begun < 20, "time grows with the square of the length: it took 40 s and more"
