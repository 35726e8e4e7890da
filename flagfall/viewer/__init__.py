"""Pages to look at: replays, reports, a running tournament, and playing in the browser.

In a notebook, `flagfall.viewer.show(...)` displays results, journals and tournaments.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from flagfall.viewer.notebook import Shown as Shown
    from flagfall.viewer.notebook import show as show

_NAMES = {"Shown", "show"}
"""Names that are imported on first use: a command that writes one page needs no other."""


def __getattr__(name: str) -> "Any":
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from flagfall.viewer import notebook  # noqa: PLC0415 - see above

    return getattr(notebook, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
