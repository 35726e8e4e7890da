"""Parts of `flagfall.environments.process_vector_env`: environments divided over worker processes.

arguments.py   checks of arguments, and the seed of each environment
layout.py      positions of arrays in a block of memory
memory.py      the shared memory, and the lending of its observation buffers
infos.py       infos of many environments as arrays, joined across workers
messages.py    commands and replies on pipes
share.py       the environments of one worker
worker.py      the program of a worker
workers.py     start, supervision and end of the workers
"""
