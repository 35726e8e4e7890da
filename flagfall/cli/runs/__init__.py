"""Runs of `flagfall run`: plan, options, session, tables."""
