"""`flagfall tasks`."""

from __future__ import annotations

__all__ = ["tasks"]

from typing import Annotated, Final

from cyclopts import Parameter

_LIST_CHARS: Final = 64
"""Characters of a line of ids: the table is as narrow as the text below it."""

_OTHERS: Final = """\
Any Gymnasium environment: gym:ID, such as gym:CartPole-v1. Any PettingZoo
environment: pettingzoo:FAMILY/NAME, such as pettingzoo:classic/connect_four_v3.
Options: gym:ID?name=value. Levels of VGDL games: vgdl:GAME#LEVEL, such as
vgdl:causeway#3 or vgdl:my/game.txt#0:observation=image"""


def tasks(*, json: Annotated[bool, Parameter(negative="", show_default=False)] = False) -> None:
    """List the tasks by family. Any Gymnasium or PettingZoo environment is a task as well.

    Args:
        json: Print a JSON object instead of a table: lists of ids by family.
    """
    from flagfall.tasks.catalog import task_ids

    families: dict[str, list[str]] = {}
    for family, task_id in task_ids():
        families.setdefault(family, []).append(task_id)
    if json:
        from flagfall.cli.console.output import print_json

        print_json(families)
        return
    from flagfall.cli.console.output import print_table, table

    rows = table("family", "tasks")
    rows.columns[1].no_wrap = False
    rows.columns[1].max_width = _LIST_CHARS
    for family, ids in families.items():
        rows.add_row(family, " ".join(ids))
    print_table(rows)
    print(_OTHERS)
