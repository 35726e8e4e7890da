"""Compact blocks of the results of many matches, from which standings of large tournaments are read."""
