"""The arguments of a call: their names, their checks, the choice of some of them."""
