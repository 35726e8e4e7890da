"""Round 1's mini-tasks."""
