"""The signatures of arrays that type checkers read are those of the classes at run time."""

import ast
import inspect
from pathlib import Path

import pytest

from calque_core import ArrayMethods, Tracer
from calque_core.arrays.at import At, ElementsAt
from calque_core.arrays.missing_methods import CHANGES
from calque_core.types import array_methods
from calque_core.types.array_methods import ArrayOperations

FILE = Path(array_methods.__file__).with_name("array_signatures.py")
DECLARED = {
    node.name: {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)}
    for node in ast.parse(FILE.read_text()).body
    if isinstance(node, ast.ClassDef)
}
ARRAYS = DECLARED["ArraySignatures"]
OF_EACH_CLASS = {
    "__array__", "__bool__", "__complex__", "__float__", "__index__", "__int__", "item", "tolist",
}  # fmt: skip
REFUSED = {*CHANGES, "sort", "__setitem__", "itemset", "newbyteorder", "ptp", "tostring"}  # the last: NumPy 2.0's
PROTOCOLS = {"__array_function__", "__array_priority__", "__array_ufunc__", "__hash__"}
OPERATIONS = {**vars(ArrayMethods), **vars(ArrayOperations)}


class Empty:
    __slots__ = ()


def test_the_declared_names_are_those_of_the_class():
    own = {"weak_type", *vars(Empty)}  # of the class statement itself
    assert set(vars(Tracer)) >= OF_EACH_CLASS
    assert set(ARRAYS) == set(OPERATIONS) - own - REFUSED - PROTOCOLS | OF_EACH_CLASS | {"__eq__", "__ne__"}


def method(name):
    getattr(ArrayMethods, name, None)  # imports its module
    return {**vars(Tracer), **vars(ArrayMethods)}[name]


@pytest.mark.parametrize("name", ARRAYS)
def test_a_property_is_declared_as_a_property(name):
    assert isinstance(method(name), property) == any(ast.unparse(d) == "property" for d in ARRAYS[name].decorator_list)


NAMED = [
    name for name, f in ARRAYS.items()
    if not f.decorator_list and name not in OF_EACH_CLASS and not (f.args.vararg and f.args.kwarg)
]  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_the_parameters_of_a_method_are_declared(name):
    declared = ARRAYS[name].args
    parameters = list(inspect.signature(method(name)).parameters.values())[1:]
    names = [a.arg for a in [*declared.posonlyargs, *declared.args][1:] + declared.kwonlyargs]
    names += [a.arg for a in (declared.vararg, declared.kwarg) if a is not None]
    assert sorted(names) == sorted(p.name for p in parameters)
    required = len(declared.posonlyargs + declared.args) - 1 - len(declared.defaults)
    assert required == sum(p.default is p.empty and p.kind < p.VAR_POSITIONAL for p in parameters)


def test_the_methods_at_an_index_are_declared():
    assert set(DECLARED["At"]) == {name for name in vars(At) if name == "__getitem__"}
    assert set(DECLARED["ElementsAt"]) == {name for name in vars(ElementsAt) if not name.startswith("_")} - {
        "array", "index",
    }  # fmt: skip
