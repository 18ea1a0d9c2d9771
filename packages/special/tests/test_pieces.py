"""Tables of pieces give the polynomials that they are cut from, on arrays and on Python's floats."""

from fractions import Fraction

import numpy as np
import pytest

from calque_core import make_jaxpr
from calque_core.engine import Pieces
from calque_core.ops.elementwise.number_code import code_of_numbers
from calque_special.ops import bessel_regions, gamma_regions

TABLES = {
    pieces.primitive.name: pieces
    for module in (gamma_regions, bessel_regions)
    for pieces in vars(module).values()
    if isinstance(pieces, Pieces)
}


def exact(span, x):
    """Return the value of the polynomial of a span as a fraction."""
    z = Fraction(span.slope) * Fraction(x) + Fraction(span.offset)
    total = Fraction(0)
    for c in reversed(span.coefficients):
        total = total * z + Fraction(c)
    return total + Fraction(span.constant)


@pytest.mark.parametrize("name", TABLES)
def test_a_piece_is_its_polynomial_to_the_last_digit_but_one(name):
    pieces = TABLES[name]
    start, per_unit = pieces.spans[0].start, pieces.per_unit
    random = np.random.default_rng(2)
    for span in pieces.spans:
        inside = random.uniform(span.start, span.stop, 40)
        edges = span.start + np.arange(4) / per_unit
        x = np.concatenate([inside, edges, edges + (1 - 2**-20) / per_unit])
        got = pieces((x - start) * per_unit)
        want = [exact(span, v) for v in x.tolist()]
        distance = [abs(Fraction(g) - w) / Fraction(np.spacing(abs(float(w)))) for g, w in zip(got.tolist(), want)]
        assert max(distance) < 2.0


@pytest.mark.parametrize("name", TABLES)
def test_one_number_has_the_bits_that_it_has_in_an_array(name):
    places = np.random.default_rng(3).uniform(0.0, 15.0, 50)
    function = code_of_numbers(make_jaxpr(lambda x: [TABLES[name](x)])(1.0))
    assert [function(place) for place in places.tolist()] == TABLES[name](places).tolist()
