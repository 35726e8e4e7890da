"""The engine: a definition is compiled into a `Game`, of which any number of plays can be started.

`compiler` makes the game, `lifecycle` starts and copies plays, `cycle` has the order of a tick,
`serialization` compares and stores plays. Below them: `state` (data only), `physics`, `sprites` and `effects`
(behaviours, with a registry each), `rules` (collisions, edges, timers, terminations).
"""
