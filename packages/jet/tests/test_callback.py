import numpy as np
import pytest

from calque_core import ShapeDtypeStruct, debug, io_callback, pure_callback
from calque_jet import jet


def test_a_look_shows_the_value_once_and_no_coefficients():
    seen = []

    def square(x):
        debug.callback(lambda x: seen.append(float(x)), x)
        return x * x

    assert jet(square, (3.0,), ([1.0, 0.0],)) == (9.0, [6.0, 2.0])
    assert seen == [3.0]


@pytest.mark.parametrize("call", [pure_callback, io_callback])
def test_other_calls_have_no_taylor_rule(call):
    with pytest.raises(NotImplementedError, match=rf"Taylor rule for '{call.__name__}' not implemented") as caught:
        jet(lambda x: call(np.sin, ShapeDtypeStruct((), np.float64), x), (3.0,), ([1.0, 0.0],))
    assert "There is none because calque cannot look into a Python function." in str(caught.value)
