"""`flagfall gvgai`: the commands of GVGAI's learning track."""

from __future__ import annotations

from typing import Final

from cyclopts import App

_COMMANDS: Final = {
    "train": ("play:train", "Train and validate an agent on one game, and print its statistics."),
    "contest": ("contest:contest", "Play every agent on every game, with ranks and points."),
    "serve": ("play:serve", "Let clients of the original connect and play."),
    "play-on": ("play:play_on", "Play at a server of the original."),
    "results": ("play:results", "Print the statistics of a recorded track."),
}

gvgai: Final = App(
    name="gvgai",
    help="GVGAI's single-player learning track: train on three levels of a game, validate on two.",
    help_format="markdown",
)
for _order, (_command, (_place, _line)) in enumerate(_COMMANDS.items()):
    gvgai.command(f"flagfall.cli.gvgai.{_place}", name=_command, help=_line, sort_key=_order)
