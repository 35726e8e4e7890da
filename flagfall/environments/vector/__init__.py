"""Parts of `flagfall.environments.process_vector_env`: environments divided over worker processes.

layout.py         positions of arrays in shared memory
observations.py   buffers of observations, reused when no array refers to them
infos.py          infos of many environments as arrays, joined across workers
messages.py       commands and replies on pipes
share.py          the environments of one worker
worker.py         the program of a worker
workers.py        start, supervision and end of the workers
"""
