"""Series of matches: plans, options, tables."""
