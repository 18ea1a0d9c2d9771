"""The arguments of a call: names, checks, and the choice of arguments to differentiate."""
