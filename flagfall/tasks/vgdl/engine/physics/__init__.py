"""Physics: how the rectangle of a sprite moves."""
