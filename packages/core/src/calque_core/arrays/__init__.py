"""The interface of an array in Python and NumPy: operators, methods, indices, NumPy's functions.

Importing this package gives tracers and device arrays their methods: each of its modules adds its own, operators and
properties at once, other methods at their first use.  So their base classes are public under this name.
"""

from calque_core.arrays import late_methods, numpy_protocol, operators, properties
from calque_core.traces import in_place
from calque_core.traces.tracer import Tracer
from calque_core.types.array_methods import ArrayMethods, ArrayOperations

__all__ = ["ArrayMethods", "ArrayOperations", "Tracer"]
