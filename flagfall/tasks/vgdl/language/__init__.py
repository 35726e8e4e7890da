"""The language: parsers of games and levels, and tables of all sprite classes, effects and terminations."""
