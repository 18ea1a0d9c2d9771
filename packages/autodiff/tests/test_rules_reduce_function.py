from calque_core import lax


def test_a_reduction_by_any_function_has_the_derivatives_of_its_operations(spaced, laws):
    laws(lambda x: lax.reduce(x, 0.5, lambda a, b: a + b + a * b, (1,)), spaced((2, 5)))
    laws(lambda y, x: lax.reduce(x, y, lambda a, b: a + b + a * b * y, (0,)), 0.7, spaced((5,)))
