import ast
from pathlib import Path

import numpy as np
import pytest

import calque_core
from calque_core import (
    AbstractMesh,
    Literal,
    Primitive,
    ShapedArray,
    Trace,
    UndefinedPrimal,
    check_jaxpr,
    compat,
    current_trace,
    evaluation,
    get_aval,
    lax,
    make_jaxpr,
    tracing,
)
from calque_core.engine import body_axes

FIRST_SPELLINGS = [
    ("Lit", Literal),
    ("UndefPrimal", UndefinedPrimal),
    ("typecheck_jaxpr", check_jaxpr),
    ("greater", lax.gt),
    ("less", lax.lt),
    ("zeros_like_array", lax.zeros_like),
    ("call_p", lax.jit_p),
    ("closed_call_p", lax.jit_p),
    ("xla_call_p", lax.jit_p),
    ("set_current_trace", tracing),
]


@pytest.mark.parametrize(("second", "first"), FIRST_SPELLINGS, ids=[name for name, _ in FIRST_SPELLINGS])
def test_a_second_spelling_is_the_same_object(second, first):
    assert getattr(compat, second) is first


def test_every_public_name_is_either_an_alias_or_a_function_tested_here():
    functions = {"raise_to_shaped", "bind", "find_top_trace", "pcast"}
    assert {name for name, _ in FIRST_SPELLINGS} | functions == set(compat.__all__)
    assert len(set(compat.__all__)) == len(compat.__all__)


def test_raising_a_type_changes_at_most_its_weakness():
    weak = get_aval(3.0)
    assert compat.raise_to_shaped(weak) is weak
    assert compat.raise_to_shaped(weak, weak_type=False) == ShapedArray((), "float64")
    assert compat.raise_to_shaped(ShapedArray((), "float64"), weak_type=True) is weak


def test_bind_as_a_function_evaluates_and_is_staged():
    assert compat.bind(lax.reduce_sum_p, np.ones(3), axes=(0,)) == 3.0
    assert [e.primitive for e in make_jaxpr(lambda x: compat.bind(lax.sin_p, x))(1.0).eqns] == [lax.sin_p]


def test_bind_as_a_function_returns_a_list_for_several_results():
    pair_p = Primitive("pair", multiple_results=True)
    pair_p.def_impl(lambda x: [x, x])
    assert compat.bind(pair_p, 1.0) == [1.0, 1.0]


def test_a_cast_to_varying_is_pvary():
    with body_axes(mesh=AbstractMesh((2,), "i"), axis_names=("i",), check_vma=True):
        (out,) = make_jaxpr(lambda x: compat.pcast(x, "i", to="varying"))(1.0).out_avals
    assert out.vma == {"i"}
    with pytest.raises(ValueError, match=r"pcast at test_compat.py:\d+ .* got to='reduced'\. Use 'varying'"):
        compat.pcast(1.0, (), to="reduced")


def test_the_top_trace_is_the_current_one_whatever_the_operands():
    seen = []
    make_jaxpr(lambda: seen.extend([compat.find_top_trace([1.0]), compat.find_top_trace(), current_trace()]))()
    assert seen[0] is seen[1] is seen[2] is not evaluation


def test_a_trace_is_current_inside_the_block_only():
    trace = Trace(evaluation)
    with compat.set_current_trace(trace):
        assert current_trace() is trace
    assert current_trace() is evaluation


def test_nothing_of_ours_imports_the_second_spellings():
    folder = Path(calque_core.__file__).parent
    importers = [path.name for path in folder.rglob("*.py") if "compat" in _imported(path)]
    assert importers == []


def _imported(path):
    nodes = list(ast.walk(ast.parse(path.read_text())))
    modules = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
    modules += [f"{n.module}.{a.name}" for n in nodes if isinstance(n, ast.ImportFrom) for a in n.names]
    return {part for module in modules for part in module.split(".")}
