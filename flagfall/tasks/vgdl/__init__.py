"""VGDL: the video game description language, and an engine that plays its games tick for tick."""
