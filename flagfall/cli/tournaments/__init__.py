"""Tournaments on the command line: standings, schedules, the live screen."""
