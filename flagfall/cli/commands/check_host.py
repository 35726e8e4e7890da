"""`flagfall check-host`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

from flagfall.cli.console.files import Flag
from flagfall.errors import UsageError, suggest
from flagfall.texts import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flagfall.testing.adversarial.matrix import Finding, Place

_KINDS: Final[tuple[Literal["process", "sandbox"], ...]] = ("process", "sandbox")


def check_host(
    *,
    host: Annotated[
        list[Literal["task", "thread", "process", "sandbox", "wasm"]] | None,
        Parameter(name=["--host"], consume_multiple=True, negative=""),
    ] = None,
    only: Annotated[list[str] | None, Parameter(negative="")] = None,
    json: Flag = False,
) -> int:
    """Play misbehaving agents on every host of this machine, and print how each is handled.

    Each plays beside sixteen honest agents, which must not lose anything, and must leave nothing behind: no
    process, no file, no descriptor. The agents are capped, so that none harms this machine. The check takes
    one or two minutes, and some more the first time that agents in WebAssembly play. The exit code is 1 if a
    row is not as expected. A second table lists the limits of agents in processes, and which mechanism
    enforces them on this machine.

    Args:
        host: Hosts to check; by default all that this machine supports: the event loop (`task`), a thread,
            a process, a process in a sandbox, WebAssembly (`wasm`).
        only: Play only agents whose name or description contains this text, such as `memory`; may be given
            several times.
        json: Print one JSON object instead of tables; times in nanoseconds.
    """
    from flagfall.testing.adversarial.matrix import PLACES, matrix_rows, run_row

    places = list(dict.fromkeys(host or PLACES))
    texts = only or []
    for text in texts:
        if not any(matrix_rows(places, [text])):
            raise UsageError(_no_such_agent(text, places))
    missing = {place: why for place in places if (why := _why_missing(place))}
    if missing and host:
        raise UsageError("; ".join(missing.values()))
    places = [place for place in places if place not in missing]
    findings = []
    rows = list(matrix_rows(places, texts))
    for row, place in rows:
        findings.append(run_row(row, place))
        if not json and sys.stderr.isatty():
            end = "\r" if len(findings) < len(rows) else "\r\033[K"
            print(f"{len(findings)} of {len(rows)}", end=end, file=sys.stderr, flush=True)
    _show(findings, missing, json=json)
    return int(not all(finding.as_expected for finding in findings))


def _no_such_agent(text: str, places: Sequence[Place]) -> str:
    from flagfall.testing.adversarial.matrix import matrix_rows

    where = f" in a {' or '.join(places)}" if any(matrix_rows(only=[text])) else ""
    names = dict.fromkeys(row.agent for row, _ in matrix_rows(places))
    return f"--only {text}: no agent{where} has this in its name or description{suggest(text, names)}"


def _why_missing(place: Place) -> str:
    """Return the reason why a place is not available here, or an empty text."""
    from flagfall.agents.process.sandbox import check_sandbox
    from flagfall.agents.wasm.building import check_installed

    try:
        if place == "sandbox":
            check_sandbox()
        elif place == "wasm":
            check_installed(python=True)
    except UsageError as error:
        return str(error)
    return ""


def _show(findings: Sequence[Finding], missing: Mapping[Place, str], *, json: bool) -> None:
    from flagfall.agents.process.enforcement import enforcement_of
    from flagfall.cli.console.output import duration, print_json, print_table, print_text, table

    if json:
        limits = {kind: dict(enforcement_of(kind)) for kind in _KINDS}
        absent = {f"no_{place}": missing.get(place, "") for place in ("sandbox", "wasm")}
        print_json({"rows": [_as_data(finding) for finding in findings], "limits": limits, **absent})
        return
    words = ("agent", "host", "verdict", "others lost", "left behind", "as expected")
    rows = table(*words, numbers=("after",))
    for finding in findings:
        rows.add_row(
            finding.row.does,
            finding.place,
            finding.verdict,
            finding.lost or "nothing",
            finding.left or "nothing",
            "yes" if finding.as_expected else "NO",
            duration(finding.after_ns),
        )
    print_table(rows)
    bad = sum(not finding.as_expected for finding in findings)
    print(f"{counted(len(findings), 'agent')}, {f'{bad} not' if bad else 'all'} as expected")
    for place, why in missing.items():
        print_text(f"{place} was not checked: {why}")
    by_kind = [enforcement_of(kind) for kind in _KINDS]
    rows = table("limit", *(f"{kind}: enforced by" for kind in _KINDS))
    for name in by_kind[0]:
        rows.add_row(name, *(enforced[name] for enforced in by_kind))
    print_table(rows)


def _as_data(finding: Finding) -> dict[str, object]:
    names = ("place", "verdict", "detail", "after_ns", "lost", "left", "as_expected")
    facts = {name: getattr(finding, name) for name in names}
    return {"agent": finding.row.agent, "does": finding.row.does, **facts}
