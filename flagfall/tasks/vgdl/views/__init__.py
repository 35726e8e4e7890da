"""What is seen of a play: the full state, its JSON, arrays, pictures and text."""
