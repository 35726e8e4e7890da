"""Configurations: tasks, their worlds and their order, read from a file.

    config = load_config("challenge")            # shipped with flagfall
    config = load_config("tasks_config.json")    # the form of round 1 of the General AI Challenge
    config = load_config("mine.toml")            # flagfall's own form, see `docs/round1.md`

A `Config` is a value; `build` makes the tasks and their scheduler, new ones each time.
"""

from __future__ import annotations

from flagfall.tasks.configs.config import Config as Config
from flagfall.tasks.configs.config import ConfigTask as ConfigTask
from flagfall.tasks.configs.files import SHIPPED as SHIPPED
from flagfall.tasks.configs.files import change_config as change_config
from flagfall.tasks.configs.files import config_of as config_of
from flagfall.tasks.configs.files import load_config as load_config
from flagfall.tasks.configs.files import parse_config as parse_config
