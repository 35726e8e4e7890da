from __future__ import annotations

import time

import pytest

from flagfall.cli.runs.task_options import check_agents
from flagfall.errors import UsageError
from flagfall.kernel.outcomes import STDERR_BYTES


async def test_an_agent_that_can_be_imported_passes():
    await check_agents(["bots.py:Echo", "bots.py:Crash", "bots.py:Echo"])


async def test_there_is_a_time_limit(folder):
    (folder / "heavy.py").write_text("import time\ntime.sleep(60)\n")
    began = time.monotonic()
    with pytest.raises(UsageError, match=r"heavy.py:Bot was not imported within 0.5 s while it was checked"):
        await check_agents(["heavy.py:Bot"], seconds=0.5)
    assert time.monotonic() - began < 5


async def test_what_it_says_is_bounded_and_what_it_starts_does_not_hold_it_up(folder):
    (folder / "loud.py").write_text(
        "import os, subprocess, sys\n"
        "subprocess.Popen(['sleep', '30'])\n"
        "sys.stderr.write('x' * 1_000_000)\n"
        "sys.stderr.flush()\n"
        "os._exit(7)\n"
    )
    began = time.monotonic()
    with pytest.raises(UsageError, match=r"ended its process \(7\)") as caught:
        await check_agents(["loud.py:Bot"], seconds=30)
    assert time.monotonic() - began < 10
    assert len(str(caught.value)) < STDERR_BYTES + 200
