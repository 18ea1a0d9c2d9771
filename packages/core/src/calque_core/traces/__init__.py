"""Traces, which process operations, and tracers, the values under a trace."""
