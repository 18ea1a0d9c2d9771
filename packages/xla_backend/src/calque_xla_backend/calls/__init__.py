"""The path of a call: its static and traced arguments, its program, its buffers."""
