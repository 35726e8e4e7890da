"""Effects of VGDL interactions."""
