"""Passes: functions from a finished jaxpr to a jaxpr that computes the same results.

A module for each.  A pass reads the program and never changes it; where nothing changes, it returns the same object.
Read next: `kits/rewrite.py`, for passes by a rule of the user's.
"""
