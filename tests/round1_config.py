"""The public configuration of round 1, rebuilt from the specification, with its old names."""

from __future__ import annotations

from typing import Any

MICRO = "tasks.challenge.round1.challenge_micro"
MINI = "tasks.challenge.round1.challenge_mini"

TYPES = {
    **{f"micro{n}": f"{MICRO}.Micro{n}Task" for n in range(1, 5)},
    **{f"micro5.{n}": f"{MICRO}.Micro5Sub{n}Task" for n in range(1, 19)},
    "micro6": f"{MICRO}.Micro6Task",
    **{f"micro7.{n}": f"{MICRO}.Micro7Sub{n}Task" for n in range(1, 4)},
    "micro8": f"{MICRO}.Micro8Task",
    **{f"micro9.{n}": f"{MICRO}.Micro9Sub{n}Task" for n in range(1, 4)},
    **{f"micro{n}": f"{MICRO}.Micro{n}Task" for n in (10, 11, 12)},
    **{f"micro13.{n}": f"{MICRO}.Micro13Sub{n}Task" for n in (1, 2)},
    **{f"micro{n}": f"{MICRO}.Micro{n}Task" for n in (14, 15, 16, 19, 20)},
    **{f"mini{n}": f"{MINI}.TaskSet{n}" for n in range(6)},
}


def challenge(policy: str = "Consecutive", **arguments: Any) -> dict[str, Any]:
    """The configuration; with another scheduler, or other arguments of it, if wanted."""
    if policy == "Consecutive":
        arguments = {"success_threshold": 5} | arguments
    return {
        "worlds": {"gw": {"type": "worlds.grid_world.GridWorld"}},
        "tasks": {
            name: {"type": kind, "world": "gw"} if name.startswith("mini") else {"type": kind}
            for name, kind in TYPES.items()
        },
        "scheduler": {
            "type": f"core.scheduler.{policy}TaskScheduler",
            "args": {"tasks": list(TYPES), **arguments},
        },
    }
