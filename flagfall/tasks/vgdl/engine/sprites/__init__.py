"""Behaviour of VGDL sprite classes."""
