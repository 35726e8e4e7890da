"""Hosts: where an agent runs, one file for each kind."""
