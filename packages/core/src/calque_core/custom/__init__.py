"""Functions with rules of their own, as their authors write them: on arguments and results, not on lists."""
