"""JSON Schema of configuration files."""

from __future__ import annotations

__all__ = ["config_schema"]

from typing import Any

from flagfall.configfile.json_schema import DIALECT, table_schema
from flagfall.tasks.configs.parser import TopTable
from flagfall.tasks.configs.task_types import TASK_TYPES, WORLDS
from flagfall.tasks.scheduler_text import POLICIES


def config_schema() -> dict[str, Any]:
    """Return the schema of a configuration in flagfall's own form, as TOML or JSON.

    What a task may set depends on its type, which may be its name; so the settings of all types are accepted.
    """
    settings: dict[str, Any] = {}
    for kind in TASK_TYPES.values():
        for name, schema in table_schema(kind.settings)["properties"].items():
            known = settings.setdefault(name, {"anyOf": []})["anyOf"]
            if schema not in known:
                known.append(schema)
    task = {
        "type": "object",
        "properties": {**settings, "type": {"enum": list(TASK_TYPES)}, "world": {"type": "string"}},
        "additionalProperties": False,
    }
    world = {
        "anyOf": [
            {"enum": list(WORLDS)},
            {"type": "object", "properties": {"type": {"type": "string"}}, "additionalProperties": False},
        ]
    }
    scheduler = {
        "type": "object",
        "properties": {
            "policy": {"type": "string", "description": f"one of {', '.join(POLICIES)}, or its text form"},
            "tasks": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        },
        "required": ["policy", "tasks"],
    }
    top = table_schema(
        TopTable,
        {
            "scheduler": scheduler,
            "tasks": {"type": "object", "additionalProperties": task},
            "worlds": {"type": "object", "additionalProperties": world},
            "words": {"type": ["string", "object"]},
        },
    )
    return {"$schema": DIALECT, "title": "A configuration of flagfall", **top, "required": ["scheduler"]}
