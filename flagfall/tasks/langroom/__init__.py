"""LangRoom: a room with four coloured objects, where the agent is asked for the colour of one of them."""

from __future__ import annotations

from flagfall.tasks.langroom.catalog import CATALOG as CATALOG
from flagfall.tasks.langroom.catalog import make_langroom as make_langroom
from flagfall.tasks.langroom.rules import LangRoomRules as LangRoomRules
