"""Behaviour of sprite classes: functions that rows of `flagfall.tasks.vgdl.language.tables` name."""
