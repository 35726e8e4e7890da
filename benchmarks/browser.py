"""The browser that draws the pages that are measured and tested."""

from __future__ import annotations

__all__ = ["find_browser"]

import importlib.util
import shutil
import subprocess
import sys
from typing import Final

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser() -> tuple[str, str]:
    """Return the path of the browser, or an empty text and what is missing."""
    path = next(filter(None, map(shutil.which, _NAMES)), "")
    if not path or importlib.util.find_spec("playwright") is None:
        return "", "needs Chromium and playwright"
    driver = [sys.executable, "-m", "playwright", "--version"]
    if subprocess.run(driver, capture_output=True, check=False).returncode:
        return "", "the driver of playwright does not start: see python -m playwright --version"
    return path, ""
