"""`flagfall schema`."""

from __future__ import annotations

from typing import Literal


def schema(kind: Literal["plan", "config"], /) -> None:
    """Print the JSON Schema of a kind of file, with which editors complete and check it.

    For editors that use taplo (Visual Studio Code with Even Better TOML, Helix), save it, and name it in the
    first line of the file: `#:schema ./plan.schema.json`.

    Args:
        kind: `plan` for tournaments, `config` for configurations of tasks.
    """
    from flagfall.cli.console.output import print_json

    if kind == "plan":
        from flagfall.tournament.plan.parser import plan_schema

        print_json(plan_schema())
    else:
        from flagfall.tasks.configs.files import config_schema

        print_json(config_schema())
