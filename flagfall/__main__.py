"""The program `flagfall`, also `python -m flagfall`: a signal ends it with 128 and its number at any moment.

While it comes up there is nothing to put in order, so a signal ends it at once and without a traceback. From
the moment a command begins, `flagfall.cli.console.signals` decides.
"""

from __future__ import annotations

__all__ = ["entry"]

import os

_INTERRUPTED = 130
_SIGNALLED = 128

try:
    import atexit
    import signal
    import sys

    TYPE_CHECKING = False
    if TYPE_CHECKING:
        from types import FrameType

    AGAIN_SECONDS = 0.01
    """The time between a Ctrl-C that was lost and its repetition."""

    _ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def _leave(number: int, _frame: FrameType | None) -> None:
        os._exit(_SIGNALLED + number)

    def _interrupt(_number: int, _frame: FrameType | None) -> None:
        signal.raise_signal(signal.SIGINT)

    def _repeat(unraisable: sys.UnraisableHookArgs) -> None:
        """Repeat a Ctrl-C that came in a callback, such as the import system's: Python drops it there."""
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
        else:
            sys.__unraisablehook__(unraisable)

    def entry() -> int:
        """Run the command line as a program of its own; return its exit code."""
        for number in _ENDING:
            atexit.register(signal.signal, number, signal.SIG_IGN)  # run last; then Python drops handlers
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                signal.signal(number, _leave)
        signal.signal(signal.SIGALRM, _interrupt)
        sys.unraisablehook = _repeat
        from flagfall.cli import main  # noqa: PLC0415 - not before signals are taken care of

        return main()

except KeyboardInterrupt:
    os._exit(_INTERRUPTED)

if __name__ == "__main__":
    sys.exit(entry())
