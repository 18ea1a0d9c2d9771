"""Programs in programs: calls, branches, loops, functions with rules of their own, calls to the host."""
