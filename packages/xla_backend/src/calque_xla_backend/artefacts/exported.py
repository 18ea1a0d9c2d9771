"""`Exported`: a compiled function without its Python.

One idea: a call is an equation of `jit` that holds one `call_exported`, so that every transformation treats it as a
jitted function; with an exported derivative, it is a function with a derivative rule of its own.

Read next: `format.py`, its bytes; `call.py`, the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core import CustomRules, api_boundary, current_trace, instantiate_zeros
from calque_core.engine import Uncopied, narrow
from calque_core.extend import is_float, marked, merged, where
from calque_core.lax import custom_vjp_call_p, jit_p
from calque_pytree import PyTreeDef, tree_flatten
from calque_xla_backend.artefacts.call import Callee
from calque_xla_backend.artefacts.errors import ExportError
from calque_xla_backend.artefacts.format import CALLING_CONVENTION, MAX_VJP_ORDER, Contents, encode
from calque_xla_backend.artefacts.module import check_module
from calque_xla_backend.calls.call import by_position
from calque_xla_backend.calls.signature import CallSignature
from calque_xla_backend.compiler import compiler_of

Value = Any


class Exported(Uncopied):
    """A function as a program of XLA, with the structures and types of its arguments and results.

    `export` and `deserialize` make it.
    """

    __slots__ = ("__weakref__", "_callee", "_contents", "_make_derivative", "_signature", "_text")
    _in_words, _instead = "an exported function", "Store exported.serialize(); deserialize reads it."

    def __init__(self, contents: Contents, make_derivative: Callable[[], Exported] | None = None) -> None:
        constant_avals = contents.constant_avals
        self._text = check_module(contents.module, [*constant_avals, *contents.in_avals], contents.out_avals)
        self._contents, self._make_derivative = contents, make_derivative
        self._callee: Callee | None = None
        self._signature = CallSignature(
            caller=f"the exported {contents.fun_name}",
            way_out="export the function for these types",
            in_tree=contents.in_tree,
            positions=contents.positions,
            parameters=contents.parameters,
            names=contents.names,
            avals=contents.in_avals,
        )

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return self._contents.fun_name

    @property
    def in_tree(self) -> PyTreeDef:
        """The structure of `(args, kwargs)`."""
        return self._contents.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        """The structure of the result."""
        return self._contents.out_tree

    @property
    def in_avals(self) -> tuple[Any, ...]:
        """The types of the leaves of the arguments."""
        return self._contents.in_avals

    @property
    def out_avals(self) -> tuple[Any, ...]:
        """The types of the leaves of the result."""
        return self._contents.out_avals

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platforms that the program is for: one."""
        return (self._contents.platform,)

    @property
    def versions(self) -> dict[str, str]:
        """The versions of calque and jaxlib that made it."""
        return dict(self._contents.versions)

    @property
    def calling_convention_version(self) -> int:
        """The version of the order of the arguments of the module's `main`: constants, then leaves."""
        return CALLING_CONVENTION

    @property
    def mlir_module_serialized(self) -> bytes:
        """The module as portable StableHLO."""
        return self._contents.module

    def mlir_module(self) -> str:
        """Return the module as StableHLO text."""
        return self._text

    @api_boundary
    def call(self, *args: Value, **kwargs: Value) -> Any:
        """Return the result of the function: compiled for this process, at the first call.

        Under a trace, the call becomes an equation.  `vmap` computes the elements one after the other.
        Raises: TypeError for arguments of other types or structures; for a derivative that was not serialized.
        """
        if kwargs:
            args, kwargs = by_position(self._signature.parameters, args, kwargs)
        leaves, in_tree = tree_flatten((args, kwargs))
        self._signature.check_structure(args, kwargs, in_tree)
        self._signature.check_types(leaves)
        return self.out_tree.unflatten(self._call_flat(narrow(leaves)))

    def _call_flat(self, leaves: Sequence[Value]) -> list[Value]:
        if self._make_derivative is None:
            return self._run(*leaves)
        rules = CustomRules(f"{self.fun_name} (exported)", (id(self),), (self._run,), fwd=self._forward)
        outs: list[Value] = current_trace().process_custom_derivative(
            custom_vjp_call_p, self._run, leaves, {"rules": rules}
        )
        return outs

    def _run(self, *leaves: Value) -> list[Value]:
        if self._callee is None:
            self._callee = Callee(self._contents)
        program = self._callee.program
        outs: list[Value] = jit_p.bind(*leaves, jaxpr=program, name=self.fun_name, compiler=compiler_of(()))
        return outs

    def _forward(self, primals: Sequence[Value], _: Sequence[bool]) -> Any:
        """Return the results, the arguments as residuals, and the rule for reverse mode."""
        return self._call_flat(primals), list(primals), self._backward

    def _backward(self, primals: Sequence[Value], cts: Sequence[Value]) -> list[Value]:
        out_bars = marked(map(instantiate_zeros, cts), float_mask(self.out_avals))
        return merged(float_mask(self.in_avals), self.vjp()._call_flat([*primals, *out_bars]))

    def has_vjp(self) -> bool:
        """Tell whether there is a derivative."""
        return self._make_derivative is not None

    def vjp(self) -> Exported:
        """Return the derivative in reverse mode.

        It takes the list of the leaves of the arguments and the list of the cotangents of the floating-point results;
        it returns the list of the cotangents of the floating-point leaves.
        Raises: ExportError if there is none.
        """
        if self._make_derivative is None:
            raise ExportError(f"{self._signature.caller}{where()} has no derivative. {_HOW_TO_DIFFERENTIATE}")
        return self._make_derivative()

    @api_boundary
    def serialize(self, vjp_order: int = 0) -> bytearray:
        """Return the function as bytes, with its derivatives in reverse mode up to an order.

        Raises: ExportError if there is no such derivative, or a structure has a class without a serialization.
        """
        if type(vjp_order) is not int or not 0 <= vjp_order <= MAX_VJP_ORDER:
            raise ExportError(f"serialize{where()} got vjp_order={vjp_order!r}. Give an int from 0 to {MAX_VJP_ORDER}.")
        derivative = bytes(self.vjp().serialize(vjp_order - 1)) if vjp_order else b""
        return encode(self._contents._replace(derivative=derivative))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}: {aval}" for name, aval in zip(self._signature.names, self.in_avals))
        return f"<Exported {self.fun_name}: ({arguments}) -> {self.out_tree.show(map(str, self.out_avals))}>"


_HOW_TO_DIFFERENTIATE = (
    "Serialize it with a higher vjp_order; before that, export it with calque.export, or with vjp=calque_autodiff.vjp."
)


def float_mask(avals: Sequence[Any]) -> list[bool]:
    """Return which types have derivatives."""
    return [is_float(aval.dtype) for aval in avals]
