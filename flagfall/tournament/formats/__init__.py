"""Formats of tournaments: from a plan and the records so far to the matches due."""
