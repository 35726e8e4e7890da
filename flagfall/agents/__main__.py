"""`python -m flagfall.agents`: the program that a process host starts; see `flagfall.agents.wire.worker`."""

from __future__ import annotations

import os
import sys

from flagfall.agents.wire.worker import main

code = main(sys.argv[1:])
if code:  # its host waits for its exit code, and Python takes 80 ms to clean up after numpy
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
