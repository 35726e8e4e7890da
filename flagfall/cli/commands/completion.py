"""`flagfall completion`."""

from __future__ import annotations

from typing import Literal


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print a script that completes commands and options in a shell.

    bash: `flagfall completion bash > ~/.local/share/bash-completion/completions/flagfall`. zsh: write it to
    `_flagfall` in a folder of `$fpath`. fish: `~/.config/fish/completions/flagfall.fish`.

    Args:
        shell: The shell.
    """
    from flagfall.cli import full_app

    print(full_app().generate_completion(prog_name="flagfall", shell=shell))
