"""Rules of VGDL: when effects run, and when a game ends."""
