"""Meshes of devices, and the parts of an array that their positions hold: plain data, without any device."""
