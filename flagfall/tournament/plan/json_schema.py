"""JSON Schema of plan files."""

from __future__ import annotations

__all__ = ["plan_schema"]

from typing import Any

from flagfall.configfile.json_schema import DIALECT, table_schema
from flagfall.tournament.formats.registry import FORMATS
from flagfall.tournament.model import DEFAULT_SCORING, Output
from flagfall.tournament.plan.schema import AgentTable, PlanTable, SprtTable, StopTable, TaskTable
from flagfall.tournament.tables.agents import scorings


def plan_schema() -> dict[str, Any]:
    """Return the schema of a plan; what depends on several values is checked only when a plan is read."""
    output = table_schema(Output)
    output.pop("required", None)  # the folder has a default, which is made from the name of the plan
    top = table_schema(
        PlanTable,
        {
            "scoring": {"enum": scorings(), "default": DEFAULT_SCORING},
            "agents": {"type": "array", "items": table_schema(AgentTable), "minItems": 1},
            "tasks": {"type": "array", "items": table_schema(TaskTable), "minItems": 1},
            "format": {"anyOf": [{"enum": list(FORMATS)}, *map(_format_schema, FORMATS)]},
            "stop": table_schema(StopTable, {"sprt": table_schema(SprtTable)}),
            "output": output,
        },
    )
    return {
        "$schema": DIALECT,
        "title": "A tournament plan of flagfall",
        **top,
        "required": ["agents", "tasks"],
    }


def _format_schema(kind: str) -> dict[str, Any]:
    schema = table_schema(FORMATS[kind], {"kind": {"const": kind}})
    return {**schema, "required": ["kind", *schema.get("required", ())]}
