"""Batching `custom_root`: one equation for the whole batch, with roots and guesses mapped."""

from __future__ import annotations

from functools import partial

from calque_batching.rules.calls.linear_solve import equation_batch
from calque_core.lax import custom_root_p

custom_root_p.def_rule("axis_batch", partial(equation_batch, custom_root_p))
