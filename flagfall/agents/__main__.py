"""`python -m flagfall.agents`: the program that a process host starts; see `flagfall.agents.wire.worker`."""

from __future__ import annotations

import sys

from flagfall.agents.wire.worker import end_process, main

end_process(main(sys.argv[1:]))
