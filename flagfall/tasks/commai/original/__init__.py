"""The tasks of CommAI that round 1 was made from."""
