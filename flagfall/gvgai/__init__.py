"""GVGAI's single-player learning track: its protocol, its server and its statistics; see `docs/gvgai.md`.

    protocol          bytes to numbered messages and back, their keywords, and states as JSON; pure
    server_session    the server's end of a session with a client of the original
    server            lets clients connect; each plays a match of its own
    hosts, clients    hosts of clients that have connected, run as programs, or are started here and connect
    client            one of our agents at a server of the original
    play_track        one agent on one game
    track_statistics  results and times of a track
    original_output   lines that the original's server prints
    sample_players    a random player and one that learns; `state_decorator` gives agents states as objects

The plan of a track (which level comes when) is a task scheduler, `flagfall.tasks.vgdl.learning_track`; the
levels of a game as its tasks are in `flagfall.tasks.vgdl.learning_track_tasks`. A contest of agents is a
tournament, `flagfall.tournament.run.contest`.
"""
