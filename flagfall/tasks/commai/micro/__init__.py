"""Round 1's micro-tasks."""
