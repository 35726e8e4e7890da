"""Learners written in Python for round 1 of the General AI Challenge, and the modules that they import."""
