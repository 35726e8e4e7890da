"""GVGAI's single-player learning track: its wire, its contest and its figures; `docs/gvgai.md` tells of it.

    lines, words      bytes to numbered answers and back, and what the words in them mean; pure
    states, arrival   states as the wire has them, out and in
    talk, hosts       a session with a client of the original, over a connection or a program's pipes
    server            lets clients connect; each plays a match of its own
    visitor           the other way round: one of our agents at a server of the original
    tracks            one agent on one game; `pondering` makes time pass on the virtual clock
    series, contest   every agent on every game, ranked, with points
    figures           what a track comes to
    samples, seeing   a random player and one that learns; states for agents in processes

The plan of a track (which level comes when) is a task scheduler, `flagfall.tasks.vgdl.learning_track`; the
levels of a game as its tasks are in `flagfall.tasks.vgdl.learning_track_tasks`.
"""
