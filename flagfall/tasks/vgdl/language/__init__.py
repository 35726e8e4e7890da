"""Texts of games and levels to definitions: lines, the sets that they stand in, tables of what VGDL knows."""
