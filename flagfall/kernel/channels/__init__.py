"""Channels, envelopes, codecs and frames: what travels between actors, and how."""

from __future__ import annotations

from flagfall.kernel.channels.envelope import Envelope as Envelope
from flagfall.kernel.channels.envelope import LateNotice as LateNotice
from flagfall.kernel.channels.handoff import HandoffReceiveChannel as HandoffReceiveChannel
from flagfall.kernel.channels.handoff import HandoffSendChannel as HandoffSendChannel
from flagfall.kernel.channels.handoff import open_handoff_channel as open_handoff_channel
