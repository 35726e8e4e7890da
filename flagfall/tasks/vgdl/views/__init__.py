"""Views of a play: the complete state, its JSON text, arrays for learners, and a board in characters."""
