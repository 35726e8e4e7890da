"""Connections from agents on other machines, before they belong to a match."""
