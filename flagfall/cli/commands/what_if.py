"""`flagfall what-if`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from flagfall.cli.console.files import Flag, Output, Seed, Texts, reading
from flagfall.errors import UsageError

if TYPE_CHECKING:
    from flagfall.timing import TimeControl


def what_if(
    path: Path | None = None,
    /,
    *,
    think: Texts = None,
    turns: int = 100_000,
    seed: Seed = 0,
    time_control: Annotated[list[str] | None, Parameter(negative="")] = None,
    advise: Flag = False,
    lost: Annotated[float, Parameter(name=["--lost"])] = 0.001,
    output: Output = None,
    json: Flag = False,
    wide: Flag = False,
) -> None:
    """Judge recorded matches under other time controls or rates: who would have been late, and what to set.

    Recorded think times are judged by the rules of the match. Up to the first verdict that changes, the match
    would have been the same; what follows is unknown. Shares of turns lost are of all think times: they hold
    if the agents think as they did. Nothing is played, and nothing that the files name is executed.

    Of a tournament, print the share of turns that each agent loses over the limit of a turn, and for each
    time control the matches that would have been lost, or are unknown, and the scores that remain possible.

    Args:
        path: A journal, or the folder of a tournament.
        think: Without a path, draw think times from this model, such as `"lognormal(20ms, 0.8)"`
            (docs/time.md). With one, rates of the agents' work to judge the matches under, such as
            `"tokens(10/s)" "tokens(30/s)"`, or `"tokens(5/s..80/s)"` for ten of them.
        turns: Number of modelled turns, from 1000 to 10000000; they are divided into 100 matches.
        seed: Root seed of the draws.
        time_control: A time control, such as `act=20ms/200ms`; may be given several times. One with a range,
            such as `act=5ms..100ms`, is ten of them. By default that of the match.
        advise: Print the smallest limits at which few turns are lost, with the 95 % interval.
        lost: Share of turns that an advised limit may cost, from 0.00001 to 0.5.
        output: Also draw the shares over the limits in this file; its name ends in `.svg`, `.png` or `.pdf`
            (needs the extra `plots`).
        json: Print one JSON object instead of tables.
        wide: Print whole tables, however long their lines are.
    """
    from flagfall.cli.what_if import (
        Printing,
        check_plot,
        parse_rates,
        parse_sweep,
        show_folder,
        show_match,
        show_model,
    )

    if path is None and len(think or ()) != 1:
        raise UsageError("name a journal or the folder of a tournament; or a model, with --think")
    if path is not None and think and time_control:
        raise UsageError(
            "--time-control: rates are judged under the time controls of the matches: leave it out"
        )
    if not 0.000_01 <= lost <= 0.5:  # noqa: PLR2004 - as the help says
        raise UsageError(f"--lost {lost}: write a share of turns from 0.00001 to 0.5, such as 0.001")
    if not 1_000 <= turns <= 10_000_000:  # noqa: PLR2004 - as the help says
        raise UsageError(f"--turns {turns}: write a whole number from 1000 to 10000000")
    controls: list[TimeControl] = [one for text in time_control or () for one in parse_sweep(text)]
    if output is not None:
        check_plot(output)
    printing = Printing(lost=lost, advise=advise, output=output, json=json, wide=wide)
    if path is None:
        show_model("".join(think or ()), controls, turns, seed, printing)
        return
    rates = parse_rates(think or ())
    if path.is_dir():
        show_folder(path, controls, rates, printing)
    else:
        with reading(path):
            show_match(path, controls, rates, printing)
