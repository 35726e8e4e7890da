"""Rules: when effects run, and when a play ends."""
