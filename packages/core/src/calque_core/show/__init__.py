"""How programs are printed."""
