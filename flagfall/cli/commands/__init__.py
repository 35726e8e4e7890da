"""Commands of `flagfall`, one per file."""
