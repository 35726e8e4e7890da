"""VGDL: the video game description language, and an engine that plays its games tick for tick.

"The original" is GVGAI's engine in Java (github.com/GAIGResearch/GVGAI, commit e58ff65 of July 2021). Its
rules, and the order of its random draws, are what the engine here keeps.

`language` reads texts, `engine` plays, `views` show. `vgdl_task` makes a task of a level; `track` is the plan
of the learning track.
"""
