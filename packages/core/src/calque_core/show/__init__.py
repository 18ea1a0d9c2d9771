"""The printing and drawing of programs."""
