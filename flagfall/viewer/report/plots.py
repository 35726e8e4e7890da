"""Plots of a report for papers, drawn by matplotlib (extra `plots`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import attrs

from flagfall.errors import HostFault, UsageError
from flagfall.texts import one_line
from flagfall.tournament.folder import replace_file
from flagfall.tournament.limits import LimitCurve, RateCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PlotFormat: TypeAlias = Literal["png", "pdf", "svg"]

MAX_AGENTS: Final = 24
"""Most agents of a plot of rows, the best ones; more rows would not fit on a page."""

MAX_LINES: Final = 8
"""Most lines of a plot."""

MAX_CURVES: Final = 24
"""Most tasks whose learning curves are plotted, each in a file of its own."""

_COLOURS: Final = ("#0b6aa8", "#b5550f", "#1d7446", "#a03d7b", "#6d4bb0", "#7d6608", "#3f6b74", "#8c4a3c")
_SOFT, _HARD = "#d58a00", "#d1372d"
_WIDTH: Final = 6.4
_LIMITS_HEIGHT: Final = 3.6
_DPI: Final = 200
_NAME_CHARS: Final = 28
_STYLE: Final[Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dde2e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "text.usetex": False,
    "text.parse_math": False,
    "svg.hashsalt": "flagfall",
    "pdf.fonttype": 42,
}
"""Settings of matplotlib. Names of agents are never parsed as formulas; equal data give equal SVG files."""


def check_plots() -> None:
    """Raise `UsageError` if matplotlib is not installed, so that plots cannot be drawn."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra
    except ImportError:
        raise UsageError("plots need the extra plots: pip install 'flagfall[plots]'") from None
    del mpl


def write_plots(data: Mapping[str, Any], folder: Path, form: PlotFormat) -> list[Path]:
    """Write the plots of a report to a folder, which is made if it is missing; return the files.

    Raises:
        UsageError: matplotlib is not installed.
        HostFault: a file cannot be written.
    """
    check_plots()
    import matplotlib as mpl  # noqa: PLC0415 - an extra
    from matplotlib.figure import Figure  # noqa: PLC0415

    written = []
    with mpl.rc_context(_STYLE):
        for name, height, draw in _plots(data):
            figure = Figure(figsize=(_WIDTH, height), layout="constrained")
            draw(figure.add_subplot())
            path = folder / f"{name}.{form}"
            try:
                folder.mkdir(parents=True, exist_ok=True)
                replace_file(path, _drawn(figure, form))
            except OSError as error:
                raise HostFault(f"{path} cannot be written: {error.strerror or error}") from error
            written.append(path)
    return written


def curves_plot(curves: Sequence[LimitCurve] | Sequence[RateCurve], form: PlotFormat) -> bytes:
    """Return a picture of the shares of turns that agents lose over the limit of a turn, or over a rate.

    Raises:
        UsageError: matplotlib is not installed.
    """
    check_plots()
    import matplotlib as mpl  # noqa: PLC0415 - an extra
    from matplotlib.figure import Figure  # noqa: PLC0415

    names = list(dict.fromkeys(curve.agent for curve in curves if curve.agent))
    data = [
        attrs.asdict(curve) | {"agent": names.index(curve.agent) if curve.agent else None} for curve in curves
    ]
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH, _LIMITS_HEIGHT), layout="constrained")
        draw = _draw_rates if isinstance(curves[0], RateCurve) else _draw_limits
        draw(data, [_name(name) for name in names], figure.add_subplot())
        return _drawn(figure, form)


def _drawn(figure: Figure, form: PlotFormat) -> bytes:
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    file = BytesIO()
    figure.savefig(file, format=form, dpi=_DPI, metadata=dates[form])
    return file.getvalue()


_Plot: TypeAlias = tuple[str, float, Callable[["Axes"], None]]


def _plots(data: Mapping[str, Any]) -> Iterator[_Plot]:
    """Yield the name, the height in inches and the drawing of each plot."""
    rows = data["standings"][:MAX_AGENTS]
    names = [_name(name) for name in data["agents"]]
    drawn = next(column for column in data["columns"] if column["key"] == data["drawn"])
    rated = [(place, row[drawn["key"]]) for place, row in enumerate(rows) if row[drawn["key"]]]
    if rated:
        height, label = _height(len(rated)), drawn["label"]
        yield "standings", height, lambda axes: _draw_intervals(axes, rated, names, label)
    if data["cross"]["pairs"]:
        size = min(MAX_AGENTS, len(names))
        yield "cross-table", 1.2 + 0.32 * size, lambda axes: _draw_cross(axes, data, names, size)
    if data["ratings"] and len(data["ratings"]["matches"]) > 1:
        yield "rating", 3.6, lambda axes: _draw_course(axes, data["ratings"], names)
    for curve in data["curves"]["tasks"][:MAX_CURVES]:
        task = data["tasks"][curve["task"]]["short"]
        plain = re.sub(r"[^A-Za-z0-9]+", "-", task).strip("-")[:40] or "task"
        yield f"learning-{curve['task'] + 1}-{plain}", 3.2, _curve_drawing(curve, task, names)
    times = data["times"]["agents"][:MAX_AGENTS]
    if times:
        yield "think-time", _height(len(times)), lambda axes: _draw_times(axes, data["times"], times, names)
    curves = data["limits"]["curves"]
    for place, control in enumerate(dict.fromkeys(curve["control"] for curve in curves)):
        drawn = [curve for curve in curves if curve["control"] == control]
        name = f"limits-{place + 1}" if place else "limits"
        yield name, _LIMITS_HEIGHT, partial(_draw_limits, drawn, names)


def _height(rows: int) -> float:
    return 0.9 + 0.32 * rows


def _name(name: str) -> str:
    return one_line(name, _NAME_CHARS)


def _colour(agent: int) -> str:
    return _COLOURS[agent % len(_COLOURS)]


def _draw_intervals(
    axes: Axes, rated: Sequence[tuple[int, Mapping[str, Any]]], names: Sequence[str], label: str
) -> None:
    for row, (place, interval) in enumerate(rated):
        if interval["low"] is not None:
            axes.plot([interval["low"], interval["high"]], [row, row], color=_colour(place), alpha=0.5, lw=3)
        axes.plot([interval["value"]], [row], "o", color=_colour(place), ms=6)
    axes.set_yticks(range(len(rated)), [names[place] for place, _ in rated])
    axes.invert_yaxis()
    axes.set_xlabel(f"{label}, with 95 % interval")
    axes.grid(visible=False, axis="y")


def _draw_cross(axes: Axes, data: Mapping[str, Any], names: Sequence[str], size: int) -> None:
    shares = [[float("nan")] * size for _ in range(size)]
    for one, other, points, games in data["cross"]["pairs"]:
        if one < size and other < size:
            shares[one][other] = points / games
            shares[other][one] = 1 - points / games
    axes.imshow(shares, cmap="RdYlGn", vmin=0, vmax=1, alpha=0.45)
    for row, cells in enumerate(shares):
        for column, share in enumerate(cells):
            if share == share:  # noqa: PLR0124 - no duel is NaN
                axes.text(column, row, f"{100 * share:.0f}", ha="center", va="center", fontsize=7)
    axes.set_yticks(range(size), [f"{place + 1}  {names[place]}" for place in range(size)])
    axes.set_xticks(range(size), [str(place + 1) for place in range(size)])
    axes.xaxis.tick_top()
    axes.grid(visible=False)
    axes.set_title("points against the agent above, in %", fontsize=9)


def _draw_lines(axes: Axes, x: Sequence[float], series: Sequence[Mapping[str, Any]], value: str) -> None:
    for one in series:
        values = _numbers(one[value])
        colour = _colour(one["agent"])
        axes.plot(x[: len(values)], values, color=colour, lw=1.4, label=one["name"])
        low, high = _numbers(one["low"]), _numbers(one["high"])
        axes.fill_between(x[: len(values)], low, high, color=colour, alpha=0.13, lw=0)
    axes.legend(fontsize=7, frameon=False, loc="best")


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]


def _named(series: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    return [{**one, "name": names[one["agent"]]} for one in series[:MAX_LINES]]


def _draw_course(axes: Axes, course: Mapping[str, Any], names: Sequence[str]) -> None:
    _draw_lines(axes, course["matches"], _named(course["series"], names), "value")
    axes.set_xlabel("matches")
    axes.set_ylabel(course["label"] + (", with 95 % interval" if course["kind"] != "score" else ""))


def _curve_drawing(curve: Mapping[str, Any], task: str, names: Sequence[str]) -> Callable[[Axes], None]:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - an extra

    def draw(axes: Axes) -> None:
        width = curve["episodes"]
        bins = max(len(one["mean"]) for one in curve["series"])
        x = [number * width + (width + 1) / 2 for number in range(bins)]
        _draw_lines(axes, x, _named(curve["series"], names), "mean")
        axes.set_xlabel("episode")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel("share solved" if curve["measure"] == "solved" else "reward")
        axes.set_title(_name(task), fontsize=9)

    return draw


def _draw_limits(curves: Sequence[Mapping[str, Any]], names: Sequence[str], axes: Axes) -> None:
    """Draw shares of turns lost on two logarithmic scales, no turn at the bottom; all agents in black."""
    curves = curves[: MAX_LINES + 1]
    shares = [share for curve in curves for share in (*curve["share"], curve["advice"]["lost"]) if share]
    none = 10.0 ** (floor(log10(min(shares, default=1))) - 1)
    for curve in curves:
        agent, advice = curve["agent"], curve["advice"]
        name, colour = ("all agents", "black") if agent is None else (names[agent], _colour(agent))
        lost = [*map(any, zip(curve["share"], curve["at_least"], strict=True)), False]
        end = lost.index(False) + 1  # nothing is lost beyond
        limits = [ns / 1e6 for ns in curve["limits_ns"][:end]]
        share, low, high = ([max(none, one) for one in curve[key][:end]] for key in ("share", "low", "high"))
        axes.plot(limits, share, color=colour, lw=1.4, label=name)
        is_known = [not one for one in curve["at_least"][:end]]
        axes.fill_between(limits, low, high, where=is_known, color=colour, alpha=0.13, lw=0)
        if not advice["is_least"]:
            axes.plot([advice["act_ns"] / 1e6], [advice["lost"]], "o", color=colour, ms=4)
    longest_ns = max(curve["limits_ns"][-1] for curve in curves)
    for key, colour, dash in (("soft_ns", _SOFT, "-"), ("hard_ns", _HARD, "--")):
        for limit_ns in dict.fromkeys(curve[key] for curve in curves):
            if limit_ns and limit_ns <= longest_ns:
                axes.axvline(limit_ns / 1e6, color=colour, ls=dash, lw=1.2)
    _set_scales(axes, none)
    axes.set_xlabel("limit of a turn in ms; lines: limits of today; dots: the smallest that are enough")
    _set_titles(axes, curves)


def _draw_rates(curves: Sequence[Mapping[str, Any]], names: Sequence[str], axes: Axes) -> None:
    """Draw shares of turns lost over rates, both on logarithmic scales, no turn at the bottom."""
    curves = curves[:MAX_LINES]
    none = 10.0 ** (
        floor(log10(min((one for curve in curves for one in curve["share"] if one), default=1))) - 1
    )
    for curve in curves:
        colour = _colour(curve["agent"])
        share, low, high = ([max(none, one) for one in curve[key]] for key in ("share", "low", "high"))
        axes.plot(curve["per_second"], share, "o-", color=colour, lw=1.4, ms=3, label=names[curve["agent"]])
        axes.fill_between(curve["per_second"], low, high, color=colour, alpha=0.13, lw=0)
    _set_scales(axes, none)
    measure = curves[0]["rates"][0].partition("(")[0]
    axes.set_xlabel(f"rate in {measure} a second")
    _set_titles(axes, curves)


def _set_scales(axes: Axes, none: float) -> None:
    """Set two logarithmic scales, with shares from none to all turns."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(none, 1.1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")  # the usual one writes formulas
    axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %" if share > none else "none")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(lambda _value, _place: "")


def _set_titles(axes: Axes, curves: Sequence[Mapping[str, Any]]) -> None:
    axes.set_ylabel("turns lost, with 95 % interval")
    axes.set_title(_name("; ".join(dict.fromkeys(curve["control"] for curve in curves))), fontsize=9)
    axes.legend(fontsize=7, frameon=False, loc="best")


def _draw_times(
    axes: Axes, times: Mapping[str, Any], agents: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> None:
    ratio = times["bins_of_an_octave"]
    for row, one in enumerate(agents):
        highest = max(one["counts"])
        edges = [2 ** ((one["first"] + number) / ratio) / 1e6 for number in range(len(one["counts"]) + 1)]
        heights = [row - 0.8 * count / highest for count in one["counts"]]
        axes.stairs(heights, edges, baseline=row, fill=True, color=_colour(one["agent"]), alpha=0.55)
    for limit in times["limits"]:
        for name, colour, dash in (("soft_ns", _SOFT, "-"), ("hard_ns", _HARD, "--")):
            if limit[name] is not None:
                axes.axvline(limit[name] / 1e6, color=colour, ls=dash, lw=1.2)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda ms, _: f"{ms:g}")  # the usual one writes formulas
    axes.xaxis.set_minor_formatter(lambda _ms, _place: "")
    axes.set_yticks(range(len(agents)), [names[one["agent"]] for one in agents])
    axes.invert_yaxis()
    axes.set_xlabel("think time of a turn in ms; lines: soft and hard limit")
    axes.grid(visible=False, axis="y")
