"""`flagfall agents`."""

from __future__ import annotations

__all__ = ["agents"]

import inspect
from typing import Annotated

from cyclopts import Parameter

_YOUR_OWN = """
Your own agent: write its file or module, a colon, and its name in there, such as

    flagfall run --task micro1 --agent my/bot.py:Bot
    flagfall run --task micro1 --agent package.module:Bot

It is a class, an object or a function: reply(byte, reward), act(observation) or run(seat).
Agents of your own run in a process each; the samples run in the event loop (see --host).

You yourself: --agent human (a full screen), human-line, human-dot or human-immediate (line by line), and in
games with pictures human-keys, in LangRoom human-room (key by key).
A program in any language: --agent "cmd:./bot --fast". An agent on another host: --agent tcp://127.0.0.1:7777
here, and there: flagfall agent serve bot.py:Bot --connect tcp://HOST:7777 (docs/protocol.md).
A learner of round 1, over ZeroMQ: --agent zmq:5556, and --learner-cmd to start it.
"""


def agents(*, json: Annotated[bool, Parameter(negative="", show_default=False)] = False) -> None:
    """List the sample agents, and tell how to name your own.

    Args:
        json: Print an object instead of a table: what each sample does, by name.
    """
    from flagfall.agents.samples.registry import SAMPLES

    lines = {name: (inspect.getdoc(agent) or "").partition("\n")[0] for name, agent in SAMPLES.items()}
    if json:
        from flagfall.cli.console.output import print_json

        print_json(lines)
        return
    from flagfall.cli.console.output import print_table, table

    rows = table("agent", "what it does")
    for name, line in lines.items():
        rows.add_row(name, line)
    print_table(rows)
    print(_YOUR_OWN.rstrip())
