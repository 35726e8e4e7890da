"""`flagfall check-task`."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from flagfall.cli.console.files import Flag


def check_task(
    spec: str,
    /,
    *,
    seed: Annotated[list[int] | None, Parameter(name=["--seed"], consume_multiple=True, negative="")] = None,
    steps: int = 200,
    remembers: Flag = False,
    json: Flag = False,
) -> int:
    """Examine a task, and report whether it keeps the contract that matches and `verify` rely on.

    The task is made several times, and episodes of it are played with random and with NIL actions. The exit
    code is 1 if it fails a check.

    Args:
        spec: The task: an id, `file.py:Name`, `package.module:Name`, or an environment such as
            `gym:CartPole-v1`.
        seed: Seeds of the episodes; by default 0, 1 and the largest one.
        steps: Most steps of each episode.
        remembers: Episodes depend on earlier ones on purpose: leave out the check against it.
        json: Print one JSON object instead of a table.
    """
    from flagfall.cli.console.output import print_json, print_table, table
    from flagfall.errors import UsageError
    from flagfall.tasks.catalog import make_task
    from flagfall.testing.contracts import DEFAULT_SEEDS, report_task
    from flagfall.texts import sanitize_terminal

    if steps < 1:
        raise UsageError(f"--steps {steps}: write a whole number, at least 1")
    make_task(spec).close()  # report a wrong name before the first check

    def make() -> Any:
        return make_task(spec)

    grades = list(report_task(make, seeds=seed or DEFAULT_SEEDS, steps=steps, remembers=remembers))
    passed = all(grade.passed for grade in grades)
    if json:
        checks = [{"check": grade.check, "passed": grade.passed, "found": grade.found} for grade in grades]
        print_json({"task": spec, "passed": passed, "checks": checks})
        return int(not passed)
    rows = table("check", "passed")
    for grade in grades:
        rows.add_row(grade.meaning, "yes" if grade.passed else "NO")
    print_table(rows)
    for grade in grades:
        if not grade.passed:
            print(f"{grade.check}: {sanitize_terminal(grade.found)}")
    return int(not passed)
