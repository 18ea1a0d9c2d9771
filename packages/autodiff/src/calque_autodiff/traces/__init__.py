"""The traces of differentiation: dual numbers, and the program that is linear in the tangents."""
