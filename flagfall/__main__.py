"""The program `flagfall`, also `python -m flagfall`; at any moment signal n ends it with exit code 128 + n.

During the imports there is nothing to clean up, so a signal ends the program at once and without a traceback.
From the start of a command on, `flagfall.cli.console.signals` handles signals.
"""

# `from __future__ import annotations` is a real import too, so it may not stand before these lines.
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `python -m` puts the working directory before all installed modules: a file `json.py` beside a journal
    # would be executed instead of the standard one. Modules named on the command line are still found.
    del sys.path[0]


import os

_INTERRUPTED = 130
_SIGNALLED = 128

try:
    import atexit
    import gc
    import signal

    TYPE_CHECKING = False
    if TYPE_CHECKING:
        from types import FrameType

    AGAIN_SECONDS = 0.01
    """Delay after which a lost Ctrl-C is repeated."""

    _YOUNG_OBJECTS = 50_000
    """New objects after which the garbage collector runs: hardly before the imports are over, in which there
    is no garbage, and where it took a tenth of the time of a short command."""

    _ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def _leave(number: int, _frame: "FrameType | None") -> None:
        os._exit(_SIGNALLED + number)

    def _interrupt(_number: int, _frame: "FrameType | None") -> None:
        signal.raise_signal(signal.SIGINT)

    def _repeat(unraisable: "sys.UnraisableHookArgs") -> None:
        """Repeat a Ctrl-C raised in a callback, such as one of the import system, where Python drops it."""
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
        else:
            sys.__unraisablehook__(unraisable)

    def entry() -> int:
        """Run the command line as a program, and return its exit code."""
        for number in (*_ENDING, signal.SIGALRM):
            atexit.register(signal.signal, number, signal.SIG_IGN)  # runs last; Python then resets handlers
        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                signal.signal(number, _leave)
        signal.signal(signal.SIGALRM, _interrupt)
        sys.unraisablehook = _repeat
        gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])
        from flagfall.cli import main  # noqa: PLC0415 - after the signal handlers

        return main()

except KeyboardInterrupt:
    os._exit(_INTERRUPTED)

if __name__ == "__main__":
    sys.exit(entry())
