"""Effects of interactions: a function for each row of `flagfall.tasks.vgdl.language.tables`."""
