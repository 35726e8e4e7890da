"""State of a game and of a play of it. Modules here import no behaviour; everything else may import them."""
