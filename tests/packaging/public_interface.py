"""Prints the public interface that docs/stability.md promises: names, options and keys, one a line.

`public_interface.txt` has the lines of the present version, so that a change is seen where it is made.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

from msgspec import structs

from flagfall import events
from flagfall.agents.wire import messages
from flagfall.cli import COMMANDS, full_app, main
from tests.test_documents import FACADE

JSON = {
    "run": "run --task micro1 --agent random --steps 20 --clock virtual --journal match.jsonl --json",
    "results JOURNAL": "results match.jsonl --json",
    "verify JOURNAL": "verify match.jsonl --json",
    "what-if": "what-if match.jsonl --time-control act=1ms --json",
    "what-if --advise": "what-if match.jsonl --advise --json",
    "curriculum": "curriculum --agent random --task micro1 --limit 20 --json",
    "check-agent": "check-agent random --json",
    "check-task": "check-task micro1 --steps 20 --json",
    "explore": "explore --task micro1 --agent random --steps 20 --runs 2 --json --quiet",
    "tournament": "tournament plan.toml --output cup --quiet --json",
    "results FOLDER": "results cup --json",
    "results FOLDER --matches": "results cup --matches --json",
    "results FOLDER --compare": "results cup --compare random memorizing --json",
    "verify FOLDER": "verify cup --json",
}
"""Commands whose keys are listed; some read what those before them have written."""

PLAN = """
repeats = 2
[[agents]]
spec = "random"
[[agents]]
spec = "memorizing"
[[tasks]]
each = ["micro1"]
steps = 20
"""


def parameters(signature: inspect.Signature) -> str:
    """Return the parameters of a signature, with types as in the source and plain defaults."""
    shown = []
    for parameter in signature.parameters.values():
        plain = isinstance(parameter.default, bool | int | float | str | None)
        default = parameter.default if plain or parameter.default is parameter.empty else ...
        kind = getattr(parameter.annotation, "__forward_arg__", parameter.annotation)
        shown.append(parameter.replace(default=default, annotation=kind))
    made = signature.replace(parameters=shown, return_annotation=signature.empty)
    return str(made).replace("= Ellipsis", "= ...")


def members(owner: type) -> Iterator[str]:
    """Yield a line for each public attribute and method that flagfall itself gives a class."""
    own = [base for base in owner.__mro__ if base.__module__.partition(".")[0] == "flagfall"]
    names = {name for base in own for name in (*vars(base), *inspect.get_annotations(base)) if name[0] != "_"}
    for name in sorted(names):
        value = inspect.getattr_static(owner, name, None)
        function = getattr(value, "__func__", value)
        yield name + (parameters(inspect.signature(function)) if inspect.isfunction(function) else "")


def python_interface() -> Iterator[str]:
    """Yield the names of the modules for programs, with parameters, and once the members of each class."""
    listed: set[type] = set()
    for place, module in FACADE.items():
        for name in sorted(module.__all__):
            value = getattr(module, name)
            try:
                yield f"{place}.{name}{parameters(inspect.signature(value))}"
            except (TypeError, ValueError):  # a module, a value, or an exception that takes any words
                yield f"{place}.{name}"
            if isinstance(value, type) and value not in listed:
                listed.add(value)
                yield from (f"{place}.{name}.{line}" for line in members(value))


def command_line() -> Iterator[str]:
    """Yield the options of every command, with their types and defaults."""
    app = full_app()
    for command in COMMANDS:
        group = [name for name in app[command] if name[0] != "-"]
        for words in [[command, name] for name in group] or [[command]]:
            called = app[words[0]] if len(words) == 1 else app[words[0]][words[1]]
            for argument in called.assemble_argument_collection():
                if argument.show:
                    default = argument.field_info.default
                    value = "" if default in {None, False, inspect.Parameter.empty} else f" = {default}"
                    yield f"flagfall {' '.join(words)} {', '.join(argument.names)}{value}"


def records(kinds: Iterable[Any]) -> Iterator[str]:
    """Yield a line for each kind of record with its fields; those that may be left out end in `?`."""
    for record in kinds:
        fields = structs.fields(record)
        words = [field.encode_name + ("" if field.required else "?") for field in fields]
        yield " ".join((str(record.__struct_config__.tag), *words))


def keys(value: Any, path: str = "") -> Iterator[str]:
    """Yield the places in a value of JSON."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from keys(member, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list) and value:
        for member in value:
            yield from keys(member, f"{path}[]")
    else:
        yield path


def settings(schema: Any, path: str = "") -> Iterator[str]:
    """Yield the keys of files that a JSON Schema describes."""
    members = {**schema.get("properties", {}), "*": schema.get("additionalProperties")}
    for name, member in members.items():
        if isinstance(member, dict):
            yield f"{path}{name}"
            yield from settings(member, f"{path}{name}.")
    for member in (*schema.get("anyOf", ()), *filter(None, [schema.get("items")])):
        yield from settings(member, path)


def printed(line: str) -> Any:
    """Return the JSON that a command prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
        main(line.split())
    return json.loads(out.getvalue())


def data() -> Iterator[str]:
    """Yield the keys of what commands print and read, and the files of a results folder."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("plan.toml").write_text(PLAN)
        for command, line in JSON.items():
            yield from (f"flagfall {command} --json: {key}" for key in unique(keys(printed(line))))
        for kind in ("plan", "config"):
            yield from (f"{kind}: {key}" for key in unique(settings(printed(f"schema {kind}"))))
        yield from (f"results folder: {path.name}" for path in sorted(Path("cup").iterdir()))


def unique(lines: Iterable[str]) -> list[str]:
    """Return lines once each, in order."""
    return sorted(set(lines))


def lines() -> Iterator[str]:
    """Yield all lines of the public interface."""
    yield from python_interface()
    yield from command_line()
    kinds = [kind for kind in events.Event.__subclasses__() if kind.__module__ == events.__name__]
    for line in records([*kinds, events.TurnsPlayed]):
        yield f"journal, schema {events.SCHEMA}: {line}"
    for side in (messages.ToAgent, messages.FromAgent):
        yield from (f"protocol {messages.WIRE_VERSION}: {line}" for line in records(get_args(side)))
    yield from data()


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in lines())
