"""The derivatives of the ciphers behind random numbers: none, since words are integers."""

from __future__ import annotations

from calque_core.extend import zero_derivative
from calque_core.lax import philox4x32_p, threefry2x32_p

zero_derivative(threefry2x32_p, reason="the words are integers")
zero_derivative(philox4x32_p, reason="the words are integers")
