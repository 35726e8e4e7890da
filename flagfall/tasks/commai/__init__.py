"""The byte-language tasks of the General AI Challenge, round 1 (CommAI)."""

from __future__ import annotations

from flagfall.kernel.channels.codecs import SILENCE as SILENCE
from flagfall.tasks.commai.byte_task import ByteTask as ByteTask
from flagfall.tasks.commai.catalog import CATALOG as CATALOG
