"""Data of replays: journals as summaries, chunks of turns, and pictures made by execution."""
