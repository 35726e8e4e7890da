"""Sample agents, to play against and to copy from."""
