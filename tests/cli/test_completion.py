"""The scripts of `flagfall completion` in real shells at a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import time

import pytest

from flagfall.cli import COMMANDS, full_app
from flagfall.cli.commands.completion import values
from tests.children import STARTED

SECONDS = 60
"""Longest wait for a shell, on a busy machine."""

TYPED = {
    "run --task vgdl:caus\t": "run --task vgdl:causeway#0",
    "run --task=vgdl:caus\t": "run --task=vgdl:causeway#0",
    "run --task micro1 duel:he\t": "run --task micro1 duel:heaps",
    "run --task gy\tCartPole-v1": "run --task gym:CartPole-v1",
    "run --agent ra\t": "run --agent random",
    "run --agent ow\t:Bot": "run --agent own.py:Bot",
    "run --agent my\t": "run --agent my own.py",
    "run --agent gvga\tclient": "run --agent gvgai:client",
    "run --time-control bli\t": "run --time-control blitz",
    "run --scheduler incr\t": "run --scheduler incremental",
    "run --config chal\t": "run --config challenge",
    "run --clock vir\t": "run --clock virtual",
    "run --see\t": "run --seed",
    "branch a.jsonl -a sil\t": "branch a.jsonl -a silent",
    "play -t micro1 --agent rep\t": "play -t micro1 --agent repeating",
    "check-agent mem\t": "check-agent memorizing",
    "check-agent --task langroom:e\t": "check-agent --task langroom:echo",
    "check-task langroom:e\t": "check-task langroom:echo",
    "comp\t": "completion",
}
"""Arguments as typed at a terminal, with a tab to complete one, and as they are after it."""

SHELLS = {
    "bash": (["bash", "--norc", "-i"], "source ./_flagfall"),
    "zsh": (["zsh", "-f", "-i"], "fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D"),
}
"""For each shell, the command that starts it and the line that loads the script."""

CALLED = re.compile(r"^<(.*)>\r$", re.MULTILINE)
"""A line that the replacement of the program prints: its arguments."""


@pytest.fixture
def script(call, tmp_path):
    """Return a function that writes the script of a shell into a folder with two agents."""

    def write(shell):
        if shutil.which(shell) is None:
            pytest.skip(f"{shell} is not installed")
        (tmp_path / "_flagfall").write_text(call(f"completion {shell}").out)
        (tmp_path / "own.py").touch()
        (tmp_path / "my own.py").touch()

    return write


def words_at_terminal(command, lines, folder):
    """Type each line at a terminal, and return the arguments that the program got."""
    ours, of_shell = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(folder)}
    process = subprocess.Popen(
        command,
        stdin=of_shell,
        stdout=of_shell,
        stderr=of_shell,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )
    STARTED.append(process)
    os.close(of_shell)
    printed, until = "", time.monotonic() + SECONDS
    for number, line in enumerate(lines, start=1):
        os.write(ours, f"{line}\n".encode())
        while len(CALLED.findall(printed)) < number:
            assert time.monotonic() < until, printed
            if select.select([ours], [], [], 0.1)[0]:
                printed += os.read(ours, 65536).decode()
    os.close(ours)
    return CALLED.findall(printed)


@pytest.mark.parametrize("shell", SHELLS)
def test_names_and_files_are_completed_at_a_terminal(shell, script, tmp_path):
    script(shell)
    command, load = SHELLS[shell]
    program = f"flagfall() {{ printf '<%s>\\n' \"$*\"; }}; {load}; flagfall ready"
    lines = [program, *(f"flagfall {typed}" for typed in TYPED)]
    assert words_at_terminal(command, lines, tmp_path) == ["ready", *TYPED.values()]


def test_fish_offers_the_same(script, tmp_path):
    script("fish")
    for typed, words in TYPED.items():
        asked, _, rest = typed.partition("\t")
        listing = f"source ./_flagfall; complete -C {shlex.quote('flagfall ' + asked)}"
        command = ["fish", "--no-config", "-c", listing]
        rows = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        offered = [row.partition("\t")[0] for row in rows.splitlines()]
        assert any(name and words.endswith(f"{name}{rest}") for name in offered), (typed, offered)


def test_values_are_those_of_options_that_exist():
    app = full_app()
    commands = [app[command] for command in COMMANDS if app[command].default_command is not None]
    options = {
        name for one in commands for argument in one.assemble_argument_collection() for name in argument.names
    }
    assert {place for places in values() for place in places} <= {*options, *COMMANDS}
