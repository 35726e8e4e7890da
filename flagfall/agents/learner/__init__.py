"""A learning agent for byte tasks."""
