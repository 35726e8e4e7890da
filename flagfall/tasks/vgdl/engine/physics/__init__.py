"""Physics of VGDL: how a rectangle moves."""
