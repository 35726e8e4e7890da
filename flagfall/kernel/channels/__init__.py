"""Channels, envelopes, codecs and frames: what travels between actors, and how."""
