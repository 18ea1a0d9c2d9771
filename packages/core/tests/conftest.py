"""What holds around every test of core: it leaves the thread as it found it.  And a class of device arrays."""

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from calque_core import ArrayMethods, evaluation, register_aval, register_evaluator, typeof
from calque_core.context import DEFAULT_SETTINGS, RESTING, active, here

settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)  # no test measures time
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def at_rest():
    yield
    assert not active
    assert here().trace is evaluation
    assert here().axis_env == ()
    assert here().settings is DEFAULT_SETTINGS
    assert RESTING.settings is DEFAULT_SETTINGS
    assert here().source is None


class HostArray(ArrayMethods):
    """An immutable array whose elements are at hand, as those of a device array are."""

    __slots__ = ("elements",)

    def __init__(self, elements):
        self.elements = np.array(elements)
        self.elements.flags.writeable = False

    def __array__(self, dtype=None, copy=None):
        return np.array(self.elements, dtype=dtype, copy=copy)


def evaluate_host_arrays(primitive, args, params):
    outs = evaluation.process_primitive(primitive, [x.elements if type(x) is HostArray else x for x in args], params)
    return [HostArray(out) for out in outs]


register_aval(HostArray, lambda x: typeof(x.elements))
register_evaluator(HostArray, evaluate_host_arrays)


@pytest.fixture
def host_array():
    return HostArray
