"""Statistics of tournaments: from records to figures."""
