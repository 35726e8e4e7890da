"""`flagfall agents`."""

from __future__ import annotations

import inspect

from flagfall.cli.console.files import Flag

_YOUR_OWN = """
Your own agent is named by its file or module, a colon and its name there:

    flagfall run --task micro1 --agent my/bot.py:Bot
    flagfall run --task micro1 --agent package.module:Bot

It is a class, an object or a function: reply(byte, reward), act(observation)
or run(seat). Your own agents run in one process each, the samples in the event
loop (see --host).

Human players: --agent human (full screen); human-line, human-dot or
human-immediate (line by line); human-keys in games with pictures and human-room
in LangRoom (key by key). The full screen and the keys need pip install
'flagfall[human]', and the language model pip install 'flagfall[llm]'.

A language model with options (docs/language-models.md):
    --agent "llm?temperature=0.2&max_tokens=50"
An agent on another host (docs/protocol.md):
    --agent tcp://127.0.0.1:7777                                here
    flagfall agent serve bot.py:Bot --connect tcp://HOST:7777   there
"""


def agents(*, json: Flag = False) -> None:
    """List the sample agents and the texts that name agents, and show how to name your own.

    Args:
        json: Print a JSON object instead of a table: descriptions by name.
    """
    from flagfall.agents.registry import SAMPLES, load_sample
    from flagfall.agents.spec import SCHEMES
    from flagfall.cli.console.output import print_json, print_table, table

    lines = {name: (inspect.getdoc(load_sample(name)) or "").partition("\n")[0] for name in SAMPLES}
    if json:
        print_json(lines)
        return
    rows = table("agent", "description")
    for name, line in lines.items():
        rows.add_row(name, line)
    print_table(rows)
    forms = table("text of an agent", "names")
    for form in SCHEMES.values():
        forms.add_row(form.text, form.what)
    print_table(forms)
    print(_YOUR_OWN.rstrip())
