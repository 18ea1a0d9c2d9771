"""Programs as data: variables and equations, evaluation, comparison."""
