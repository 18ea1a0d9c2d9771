"""Kits for authors of transformations: interpreters and rewrites of programs, reports, vectors of trees."""
