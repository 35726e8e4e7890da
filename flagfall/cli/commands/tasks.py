"""`flagfall tasks`."""

from __future__ import annotations

from textwrap import fill
from typing import Final

from flagfall.cli.console.files import Flag

_LIST_CHARS: Final = 64
"""Characters of a line of ids: the table is as narrow as the text below it."""

_LINE_CHARS: Final = 79


def tasks(*, json: Flag = False) -> None:
    """List the tasks by family. Any Gymnasium or PettingZoo environment is a task as well.

    Args:
        json: Print a JSON object instead of a table: lists of ids by family.
    """
    from flagfall.cli.console.output import print_json, print_table, table
    from flagfall.tasks.catalog import FAMILIES

    families = {family.name: list(family.tasks) for family in FAMILIES.values() if family.tasks}
    if json:
        print_json(families)
        return
    rows = table("family", "tasks")
    rows.columns[1].no_wrap = False
    rows.columns[1].max_width = _LIST_CHARS
    for family, ids in families.items():
        rows.add_row(family, " ".join(ids))
    print_table(rows)
    for row in filter(lambda row: row.help, FAMILIES.values()):
        print(fill(row.help, _LINE_CHARS))
