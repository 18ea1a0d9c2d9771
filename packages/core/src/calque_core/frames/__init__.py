"""Frames: the user's line for messages, shorter tracebacks, the values that a function reads."""
