"""The derivative of the cipher behind random numbers: none, since words are integers."""

from __future__ import annotations

from calque_core.extend import zero_derivative
from calque_core.lax import threefry2x32_p

zero_derivative(threefry2x32_p, reason="the words are integers")
