"""Whose line it is: the user's place in a message, shorter tracebacks, what a function reads."""
