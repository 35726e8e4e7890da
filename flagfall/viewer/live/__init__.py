"""Live page of a tournament's folder: standings, matches in progress, events, control."""
