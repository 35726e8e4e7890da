"""What `flagfall what-if` prints: recorded matches under other time controls, and limits to choose."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, Final, get_args

import attrs
import numpy as np

from flagfall.cli.console.files import replacing
from flagfall.cli.console.output import duration, number, print_json, print_table, print_text, table
from flagfall.errors import UsageError
from flagfall.recording.latency import load_model
from flagfall.recording.other_rates import is_measured, judge_rate, think_times_at
from flagfall.recording.seat_times import read_times
from flagfall.recording.think_times import MODELLED, ThinkTimes, lost_turns, think_times
from flagfall.recording.what_if import judge_match, known_turns
from flagfall.texts import counted, sanitize_terminal
from flagfall.timing import TimeControl
from flagfall.timing.distributions import number_text
from flagfall.timing.durations import format_duration, parse_duration
from flagfall.timing.latency import SeatLatency
from flagfall.tournament.limits import Loss, curve_of, limits_for, rate_curve, rounded
from flagfall.tournament.store import Store
from flagfall.tournament.what_if import lost_share, study_folder
from flagfall.viewer.report.plots import PlotFormat, check_plots, curves_plot

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from flagfall.recording.seat_times import MatchTimes
    from flagfall.recording.what_if import MatchVerdicts, SeatVerdicts
    from flagfall.timing.rates import Rate
    from flagfall.tournament.limits import LimitCurve, RateCurve
    from flagfall.tournament.stats.intervals import Interval
    from flagfall.tournament.what_if import ControlEffect, FolderWhatIf

SWEEP: Final = 10
"""Time controls that a range stands for."""

_RANGE: Final = re.compile(r"(\d[\d.]*[a-z]+)\.\.(\d[\d.]*[a-z]+)", re.ASCII)
_RATE_RANGE: Final = re.compile(r"(\d[\d.]*[kMG]?/s)\.\.(\d[\d.]*[kMG]?/s)", re.ASCII)
_SHOWN_LIMITS: Final = 6
"""Columns of limits in a table."""


@attrs.frozen(kw_only=True)
class Printing:
    """What is printed, and how: options of `flagfall what-if`."""

    lost: float
    advise: bool
    output: Path | None
    json: bool
    wide: bool


def parse_sweep(text: str) -> list[TimeControl]:
    """Return the time controls of a text, which may have a range: `act=5ms..100ms` are ten of them.

    Raises:
        UsageError: an invalid text.
    """
    found = _RANGE.search(text)
    if found is None:
        return [TimeControl.parse(text)]
    low, high = map(parse_duration, found.groups())
    if not 0 < low < high or _RANGE.search(text, found.end()):
        raise UsageError(
            f"time control {text!r}: write one range, from a short time to a long one: 5ms..100ms"
        )
    inner = [rounded(ns) for ns in np.geomspace(low, high, SWEEP)[1:-1]]
    return [
        TimeControl.parse(f"{text[: found.start()]}{format_duration(ns)}{text[found.end() :]}")
        for ns in dict.fromkeys([low, *inner, high])
    ]


def parse_rates(texts: Sequence[str]) -> list[Rate]:
    """Return the rates of some texts, each of which may have a range: `tokens(5/s..80/s)` are ten of them.

    Raises:
        UsageError: a text is none of a rate alone.
    """
    rates: list[Rate] = []
    for text in texts:
        found = _RATE_RANGE.search(text)
        parts = [text]
        if found is not None:
            ends = [_rate_of(f"{text[: found.start()]}{end}{text[found.end() :]}") for end in found.groups()]
            low, high = (rate.per_second for rate in ends)
            if not low < high:
                raise UsageError(f"--think {text!r}: write a range from a low rate to a high one: 5/s..80/s")
            steps = [number_text(float(f"{one:.3g}")) for one in np.geomspace(low, high, SWEEP)]
            parts = [f"{text[: found.start()]}{one}/s{text[found.end() :]}" for one in steps]
        rates += map(_rate_of, parts)
    return list(dict.fromkeys(rates))


def _rate_of(text: str) -> Rate:
    rate = SeatLatency.parse(text).only_rate
    if rate is None:
        raise UsageError(
            f"--think {text!r}: recorded matches are judged under a rate alone, such as tokens(30/s)"
        )
    return rate


def check_plot(output: Path) -> PlotFormat:
    """Return the format of a picture by its ending, and check that it can be drawn.

    Raises:
        UsageError: it cannot.
    """
    form = output.suffix.removeprefix(".").lower()
    if form not in get_args(PlotFormat):
        known = ", ".join(f".{name}" for name in get_args(PlotFormat))
        raise UsageError(f"{output}: a picture's name ends in one of {known}")
    check_plots()
    return form  # type: ignore[return-value]  # it is one of them


def _draw(curves: Sequence[LimitCurve] | Sequence[RateCurve], output: Path | None) -> None:
    if output is None:
        return
    if not curves:
        raise UsageError("there is nothing to draw: no think times are recorded")
    picture = curves_plot(curves, check_plot(output))
    with replacing(output) as file:
        file.buffer.write(picture)


def show_match(
    path: Path, controls: Sequence[TimeControl], rates: Sequence[Rate], printing: Printing
) -> None:
    """Print a recorded match under other time controls, or under other rates of its agents' work.

    Raises:
        UsageError: the journal is damaged; what comes before the damage was printed.
    """
    times = read_times(path)
    controls = controls or ([] if rates else [times.control])
    found = [judge_match(times, control) for control in controls] + [
        judge_rate(times, rate) for rate in rates
    ]
    places = range(len(times.seats))
    thinking = [think_times(times, place) for place in places]
    at_rates = [[think_times_at(times, place, rate) for place in places] for rate in rates]
    curves = _curves_of(times, thinking, controls, printing.lost)
    rated = [
        rate_curve(
            seat.agent, times.control, {rate: of[place] for rate, of in zip(rates, at_rates, strict=True)}
        )
        for place, seat in enumerate(times.seats)
        if rates and is_measured(times, place, rates[0])
    ]
    if printing.json:
        print_json(
            {
                "recorded": str(times.control),
                "problem": times.problem,
                "controls": [
                    {**attrs.asdict(one), "known_turns": known_turns(one, times.seats)} for one in found
                ],
                "curves": [attrs.asdict(curve) for curve in curves],
                "rate_curves": [attrs.asdict(curve) for curve in rated],
            }
        )
    else:
        cases = [(control, thinking) for control in controls] + [(times.control, of) for of in at_rates]
        for (control, of), verdicts in zip(cases, found, strict=True):
            _print_match(times, of, control, verdicts, wide=printing.wide)
        _print_rates(rated, wide=printing.wide)
        if printing.advise:
            _print_advice(curves, wide=printing.wide)
    _draw(rated if rates else curves, printing.output)
    if times.problem:
        raise UsageError(times.problem)


def _curves_of(
    times: MatchTimes, thinking: Sequence[ThinkTimes], controls: Sequence[TimeControl], lost: float
) -> list[LimitCurve]:
    asked = [control.act for control in controls if control.act]
    curves = []
    for seat, of_seat in zip(times.seats, thinking, strict=True):
        limits = limits_for(of_seat, times.control, asked)
        curves.append(curve_of(seat.agent, times.control, of_seat, limits, lost=lost))
    return [curve for curve in curves if curve is not None]


def _print_match(
    times: MatchTimes,
    thinking: Sequence[ThinkTimes],
    control: TimeControl,
    verdicts: MatchVerdicts,
    *,
    wide: bool,
) -> None:
    rows = table(
        "agent", "first change", numbers=("turns", "was late", "late", "turns lost"), title=verdicts.control
    )
    for seat, of_seat in zip(verdicts.seats, thinking, strict=True):
        share = ""
        if times.header.tick_ns is None:
            loss = Loss.of([(of_seat, control)])
            share = _share(loss.share, at_least=bool(loss.unknown))
        counts = map(number, (seat.turns, seat.recorded_late, seat.late))
        rows.add_row(sanitize_terminal(seat.agent), _change(seat), *counts, share)
    print_table(rows, spare=("was late",), wide=wide)
    total = sum(map(len, times.seats))
    if verdicts.changed is None:
        print_text("Every verdict is as it was recorded.")
    else:
        known = known_turns(verdicts, times.seats)
        print_text(
            f"{counted(known, 'turn')} of {number(total)} would have been as recorded; from turn"
            f" {max(0, verdicts.changed)} on, what agents would have seen is unknown. `turns lost` is of all"
            " think times, if agents think as they did."
        )
    for seat in verdicts.seats:
        if seat.out:
            print_text(f"{sanitize_terminal(seat.agent)}: disqualified by the clock in {seat.out}.")
        if seat.bank_out is not None:
            print_text(
                f"{sanitize_terminal(seat.agent)}: nothing is left in the bank after turn {seat.bank_out}."
            )


def _change(seat: SeatVerdicts) -> str:
    if seat.changed is None:
        return "none"
    if seat.changed < 0:
        return f"start: {seat.after}"
    before = f"{seat.before} -> " if seat.before else ""
    return f"turn {seat.changed}: {before}{seat.after}"


def _share(share: float, *, at_least: bool = False) -> str:
    """Return a share in percent."""
    text = f"{100 * share:.3g} %" if share < 1 else "100 %"
    return f">= {text}" if at_least else text


def _interval(found: Interval | None) -> str:
    if found is None:
        return ""
    if found.low is None:
        return f"{_share(found.value)} ({found.lack})"
    if found.high is None:
        return _share(found.value, at_least=True)
    return f"{100 * found.value:.3g} % [{100 * found.low:.2g}, {100 * found.high:.2g}]"


def show_model(text: str, controls: Sequence[TimeControl], turns: int, seed: int, printing: Printing) -> None:
    """Print the turns that an agent would lose whose think times a model of latency draws."""
    model = load_model(SeatLatency.parse(text))
    if model is None or model.act is None:
        raise UsageError(
            f"--think {text!r} has no think time of a turn: write one, such as lognormal(20ms, 0.8)"
        )
    thinking = ThinkTimes.modelled(model, turns, seed)
    today = controls[0] if controls else TimeControl()
    limits = limits_for(thinking, today, [control.act for control in controls if control.act])
    curve = curve_of(str(model), today, thinking, limits, lost=printing.lost)
    shares = [(control, lost_share([(thinking, control)])) for control in controls]
    outs = [lost_turns(thinking, control).out.mean() for control in controls]
    if printing.json:
        effects = [
            {"control": str(control), "lost": None if lost is None else attrs.asdict(lost), "out": float(out)}
            for (control, lost), out in zip(shares, outs, strict=True)
        ]
        data = {"think": str(model), "turns": turns, "seed": seed, "controls": effects}
        print_json({**data, "curves": [] if curve is None else [attrs.asdict(curve)]})
    else:
        matches = f"in {MODELLED} matches of {number(turns // MODELLED)} turns"
        rows = table("time control", "turns lost", numbers=("matches lost",), title=f"{model}, {matches}")
        for (control, lost), out in zip(shares, outs, strict=True):
            rows.add_row(str(control), _interval(lost), _share(float(out)))
        if controls:
            print_table(rows, wide=printing.wide)
        if curve is not None and (printing.advise or not controls):
            _print_advice([curve], wide=printing.wide)
    _draw([] if curve is None else [curve], printing.output)


def show_folder(
    folder: Path, controls: Sequence[TimeControl], rates: Sequence[Rate], printing: Printing
) -> None:
    """Print the matches of a tournament under other time controls or rates, and the limits to choose."""
    with closing(Store(folder)) as store:
        stored = store.plan()
        if stored is None:
            raise UsageError(f"{folder}: the tournament has not begun")
        found = study_folder(folder, store, stored.for_display(), controls, rates, lost=printing.lost)
    if printing.json:
        print_json(attrs.asdict(found))
    else:
        _print_folder(found, printing)
    _draw(found.rate_curves if rates else found.curves, printing.output)


def _print_folder(found: FolderWhatIf, printing: Printing) -> None:
    wide = printing.wide
    for control in dict.fromkeys(curve.control for curve in found.curves):
        _print_curves([curve for curve in found.curves if curve.control == control], wide=wide)
    if not found.curves:
        print_text("No think times are recorded: the share of turns lost over the limit is not known.")
    if printing.advise:
        _print_advice(found.curves, wide=wide)
    _print_rates(found.rate_curves, wide=wide)
    for effect in found.effects:
        _print_effect(effect, wide=wide)
    for reason, matches in found.unread.items():
        print_text(f"{counted(matches, 'match', 'matches')} of {number(found.matches)} left out: {reason}.")
    for remark in found.remarks:
        print_text(f"Note: {remark}.")


def _print_curves(curves: Sequence[LimitCurve], *, wide: bool) -> None:
    limits = curves[0].limits_ns
    shown = {limits[place] for place in np.linspace(0, len(limits) - 1, _SHOWN_LIMITS).astype(int)}
    shown |= {ns for ns in (curves[0].soft_ns,) if ns}
    places = [place for place, ns in enumerate(limits) if ns in shown]
    rows = table(
        "agent",
        numbers=tuple(format_duration(limits[place]) for place in places),
        title=f"Turns lost by the limit of a turn, in % (played under {curves[0].control})",
    )
    for curve in curves:
        cells = _percents(curve)
        rows.add_row(sanitize_terminal(curve.agent or "all agents"), *(cells[place] for place in places))
    print_table(rows, wide=wide)


def _print_rates(curves: Sequence[RateCurve], *, wide: bool) -> None:
    for control, rates in dict.fromkeys((curve.control, curve.rates) for curve in curves):
        rows = table("agent", numbers=rates, title=f"Turns lost by the rate, in % (under {control})")
        for curve in curves:
            if (curve.control, curve.rates) == (control, rates):
                rows.add_row(sanitize_terminal(curve.agent), *_percents(curve))
        print_table(rows, wide=wide)


def _percents(curve: LimitCurve | RateCurve) -> list[str]:
    """Return the shares of turns lost in percent, as cells of a table."""
    shares = zip(curve.share, curve.at_least, strict=True)
    return [f"{'≥' if least else ''}{100 * share:.3g}" for share, least in shares]


def _print_advice(curves: Sequence[LimitCurve], *, wide: bool) -> None:
    if not curves:
        return
    share = _share(curves[0].advice.lost)
    rows = table(
        "agent",
        "95 % interval",
        numbers=("act", "longest", "turns", "worth"),
        title=f"Smallest limits at which {share} of the turns are lost at most",
    )
    for curve in curves:
        rows.add_row(sanitize_terminal(curve.agent or "all agents"), *_advice_cells(curve))
    print_table(rows, spare=("worth",), wide=wide)
    for curve in curves:
        advice, name = curve.advice, sanitize_terminal(curve.agent or "all agents")
        if advice.bank_ns is not None:
            print_text(f"{name}: a bank of {format_duration(advice.bank_ns)} would have been enough.")
        if advice.is_least:
            print_text(
                f"{name}: how long it thought beyond {format_duration(advice.act_ns)} is not recorded; play"
                " under a longer limit to know."
            )
    whole = curves[0]
    print_text(
        f"A hard limit has to exceed the longest think time: {duration(whole.advice.longest_ns)} in"
        f" {counted(whole.matches, 'match', 'matches')}; in up to {_share(whole.advice.longer)} of matches"
        " it may be longer (95 % confidence)."
    )
    if any(curve.advice.high_ns is None for curve in curves):
        print_text(
            "Where the interval has no upper end, there are too few turns: it takes"
            f" {number(whole.advice.turns_needed)} independent ones, and `worth` says how many those of a few"
            " matches are worth, which depend on each other."
        )


def _advice_cells(curve: LimitCurve) -> list[str]:
    advice = curve.advice
    low = "" if advice.low_ns is None else format_duration(advice.low_ns)
    high = "" if advice.high_ns is None else format_duration(advice.high_ns)
    ends = f"{low} to {high}" if high else f"{low} or more" if low else "too few matches"
    act = (">= " if advice.is_least else "") + format_duration(advice.act_ns)
    return [ends, act, duration(advice.longest_ns), number(curve.turns), number(curve.worth)]


def _print_effect(effect: ControlEffect, *, wide: bool) -> None:
    rows = table(
        "agent",
        "turns lost",
        numbers=("matches", "same", "lost by time", "was", "unknown", "score", "possible"),
        title=f"Under {effect.control}",
    )
    for agent in effect.agents:
        counts = (agent.matches, agent.same, agent.out, agent.was_out, agent.unknown)
        score = "" if agent.score is None else f"{agent.score:.2f}"
        rows.add_row(
            sanitize_terminal(agent.agent),
            _interval(agent.lost),
            *map(number, counts),
            score,
            _possible(agent.least, agent.most),
        )
    print_table(rows, spare=("was", "same", "matches"), wide=wide)


def _possible(least: float | None, most: float | None) -> str:
    if least is None or most is None:
        return ""
    ends = f"{least:.2f}", f"{most:.2f}"
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
