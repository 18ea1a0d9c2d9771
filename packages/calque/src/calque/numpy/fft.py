"""The functions of `calque_numpy.fft`, under the facade's name."""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core.extend import late_names as _late_names
from calque_numpy.fft import __all__

if _TYPE_CHECKING:
    from calque_numpy.fft import *  # noqa: F403  this module gives the same names
else:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, {"calque_numpy.fft": ", ".join(__all__)})
