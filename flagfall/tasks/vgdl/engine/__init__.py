"""The engine: a definition is compiled into a `Game`, and a `Play` of it goes on tick by tick.

`play` has the order of a cycle, `kinds` what updates which type, `effects` the table of all effects,
`collisions` who meets whom. Sprites of one kind have a file each: `avatars`, `updates`, `producers`, `npcs`,
`path_chasers`, `walkers`.
"""
