"""Pages to look at: replays, reports, a running tournament, and playing in the browser."""
