"""VGDL: the video game description language, and an engine that plays its games tick for tick.

"The original" is GVGAI's engine in Java (github.com/GAIGResearch/GVGAI, commit e58ff65 of July 2021). The
engine here keeps its rules, and the order of its random draws.

`language` parses games and levels, `engine` plays them, `views` and `rendering` show them. `task` makes a
task of a level; `learning_track` is the schedule of GVGAI's learning track.
"""
