"""`python -m flagfall.agents`: the program that a process host starts; see `flagfall.agents.worker`."""

from __future__ import annotations

import sys

from flagfall.agents.worker import main

sys.exit(main(sys.argv[1:]))
