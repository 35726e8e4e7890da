"""`flagfall completion`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

_TEMPLATES: Final = Path(__file__).parent.parent / "templates"


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print a script that completes commands, options, tasks, agents and other names in a shell.

    bash: `flagfall completion bash > ~/.local/share/bash-completion/completions/flagfall`. zsh: write it to
    `_flagfall` in a folder of `$fpath`. fish: `~/.config/fish/completions/flagfall.fish`. The names stand in
    the script, so that a key press starts no Python: write it anew after an update.

    Args:
        shell: The shell.
    """
    from flagfall.cli import full_app

    print(full_app().generate_completion(prog_name="flagfall", shell=shell))
    case = _fish if shell == "fish" else _case
    cases = "\n".join(case(places, names) for places, names in values().items())
    print((_TEMPLATES / f"completion.{shell}").read_text().replace("@CASES@", cases), end="")


def values() -> dict[tuple[str, ...], list[str]]:
    """Return the values that options take in every command, by their names; files may stand in their place.

    A command in place of an option takes such a value as its argument. Something has to follow a name that
    ends in a colon or slash.
    """
    from flagfall.agents.registry import HUMANS, SAMPLES
    from flagfall.agents.spec import SCHEMES
    from flagfall.tasks.catalog import FAMILIES
    from flagfall.tasks.configs import SHIPPED
    from flagfall.tasks.schedulers import POLICIES
    from flagfall.timing import PRESETS

    families, forms = FAMILIES.values(), SCHEMES.values()
    tasks = [task for family in families for task in family.tasks]
    tasks += [f"{family.prefix}:" for family in families if family.make is not None]
    agents = [*SAMPLES, *HUMANS]
    agents += [f"{form.name}:{'//' * form.connects}" for form in forms if form.parse is not None]
    return {
        ("--task", "-t", "check-task"): tasks,
        ("--agent", "-a", "check-agent"): agents,
        ("--time-control",): [*PRESETS],
        ("--scheduler",): [*POLICIES],
        ("--config", "-c"): [*SHIPPED],
    }


def _case(places: Iterable[str], names: Iterable[str]) -> str:
    return f"    {'|'.join(places)}) names=({shlex.join(names)}) ;;"


def _fish(places: tuple[str, ...], names: Iterable[str]) -> str:
    """Return a line for the word after the option, and one for further words, which it takes as well."""
    options = " ".join(
        f"{'-l' if place[:2] == '--' else '-s'} {place.lstrip('-')}" for place in places if place[0] == "-"
    )
    common = f"complete -c flagfall -n '__flagfall_values_of {' '.join(places)}'"
    words = shlex.quote(shlex.join(names))
    return f"{common} {options} -r -a {words}\n{common} -a {words}"
