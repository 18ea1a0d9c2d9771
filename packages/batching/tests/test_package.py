import subprocess
import sys

import calque_batching
from calque_core import lax
from calque_core.primitives.rules import rules


def test_every_public_name_is_there():
    assert [name for name in calque_batching.__all__ if not hasattr(calque_batching, name)] == []


def test_every_primitive_of_core_has_a_rule_or_says_why_not():
    primitives = {name: getattr(lax, name) for name in lax.__all__ if name.endswith("_p")}

    silent = [
        name
        for name, p in primitives.items()
        if p.rules.keys().isdisjoint(("batch", "axis_batch", "decomposition")) and "batch" not in p.holes
    ]

    assert primitives
    assert silent == []


def test_the_table_of_rules_is_a_view():
    assert calque_batching.primitive_batchers[lax.sin_p] is rules("batch")[lax.sin_p]


def test_neither_the_backend_nor_derivatives_are_loaded():
    code = "import sys, calque_batching; print([m for m in ('jaxlib', 'calque_autodiff', 'jax') if m in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
