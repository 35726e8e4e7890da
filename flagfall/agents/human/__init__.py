"""People as agents: terminal interfaces for every kind of task."""
