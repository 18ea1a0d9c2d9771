"""Reading and writing a whole mutable array: the primitives `ref_get` and `ref_set`.

One idea: an update of elements is a read, an operation on arrays, and a write, so that no rule knows of references.
The verbs that stage programs discharge them, so the two stand in programs of `make_jaxpr` alone.

Read next: `ref.py`, which binds them; `passes/discharge.py`, which replaces them by values.
"""

from __future__ import annotations

from typing import Any

from calque_core.errors import ShapeError
from calque_core.jaxprs.effects import Effect
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import NO_AXES, AxisNames, typeof
from calque_core.types.references import AbstractRef
from calque_core.types.type_queries import same_type

read_effect = Effect("read", ordered=True)
write_effect = Effect("write", ordered=True)

ref_get_p = Primitive("ref_get", effects=frozenset((read_effect,)))
ref_set_p = Primitive("ref_set", multiple_results=True, effects=frozenset((write_effect,)))


@ref_get_p.def_abstract_eval
def ref_get_abstract_eval(ref: Any) -> Any:
    _check_reference("ref_get", ref)
    return ref.inner_aval


@ref_set_p.def_abstract_eval
def ref_set_abstract_eval(ref: Any, x: Any) -> list[Any]:
    _check_reference("ref_set", ref)
    if not same_type(ref.inner_aval, x):
        raise ShapeError(f"ref_set got {x} for a reference of type {ref}. Write an array of its type.")
    return []


@ref_get_p.def_impl
def ref_get_impl(ref: Any) -> Any:
    _check_reference("ref_get", typeof(ref))
    return ref.read()


@ref_set_p.def_impl
def ref_set_impl(ref: Any, x: Any) -> list[Any]:
    _check_reference("ref_set", typeof(ref))
    ref.write(x)
    return []


def _check_reference(name: str, aval: Any) -> None:
    if not isinstance(aval, AbstractRef):
        raise TypeError(f"{name} got {aval}. Give a reference: new_ref(x).")


@ref_get_p.def_rule("vma")
def ref_get_vma(vmas: Any) -> list[AxisNames]:
    del vmas
    return [NO_AXES]


@ref_set_p.def_rule("vma")
def ref_set_vma(vmas: Any) -> list[AxisNames]:
    del vmas
    return []


for _primitive in (ref_get_p, ref_set_p):
    for _kind in ("jvp", "transpose", "batch", "jet", "lowering"):
        _primitive.def_hole(_kind, "programs are discharged before they are transformed: calque_core.discharge")
