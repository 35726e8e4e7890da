"""Journals of matches: the file format, its writer and its reader."""
