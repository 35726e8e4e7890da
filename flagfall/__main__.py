"""`python -m flagfall` is the command `flagfall`."""

from __future__ import annotations

import sys

from flagfall.cli import main

sys.exit(main())
