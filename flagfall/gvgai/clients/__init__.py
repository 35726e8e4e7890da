"""Clients of GVGAI's learning track, started here."""
