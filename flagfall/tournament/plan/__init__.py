"""Plans of tournaments: from a file to a checked value."""
