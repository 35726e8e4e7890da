"""Small games for two players, with rules of our own: one in which both move at once, one in turns."""
