"""The protocol between a match and an agent in another process or on another machine, both ends."""
