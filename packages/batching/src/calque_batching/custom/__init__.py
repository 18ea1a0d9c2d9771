"""Functions with rules for batches of their own."""
