"""Formats of tournaments: from a plan and the results so far to the matches due."""
