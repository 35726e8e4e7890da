"""GVGAI's single-player learning track: its wire, its contest and its figures; `docs/gvgai.md` tells of it.

    lines      bytes to lines and back, numbered; pure
    words      what the words in those lines mean; pure
    talk       one session with a client of the original, over any stream
    server     waits for clients at a port; each plays a match of its own
    program    starts a client, and talks to it over its standard input and output
    visitor    the other way round: one of our agents at a server of the original
    samples    a random player, and one that learns
    figures    what a track comes to: wins, scores, ticks, times
    contest    every agent on every game, ranked, with points

The plan of a track (which level comes when) is a task scheduler: `flagfall.tasks.vgdl.track`.
"""
