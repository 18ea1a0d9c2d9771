"""The printing of programs."""
