"""Passes over linear programs: functions from a program to one that computes the same results.

A module for each; a pass returns the same object where nothing changes.
"""
