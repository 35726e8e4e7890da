"""Tournaments: from a plan to standings.

A plan says who plays what; a schedule, made from the plan and the records so far, says which matches can be
played now; records say what became of them; standings are made from the plan and the records. All of that is
values and functions; what runs matches, stores records and talks to people stands beside it.
"""
