"""Round 1's protocol over ZeroMQ: its messages, its socket, its host."""
