"""Pictures of VGDL games."""
