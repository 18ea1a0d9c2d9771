"""Passes over programs before they are lowered, which only a compiled program of several devices gains from.

A module for each.  A pass is a function from a jaxpr to a jaxpr that computes the same results, the same object where
nothing changes.
"""
