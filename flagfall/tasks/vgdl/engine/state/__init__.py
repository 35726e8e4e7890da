"""State of a VGDL game: data without behaviour."""
