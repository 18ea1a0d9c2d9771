"""Programs as data: their parts, their evaluation, their comparison."""
