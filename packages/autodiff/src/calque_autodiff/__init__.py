"""Forward- and reverse-mode differentiation of NumPy programs: jvp, linearize, vjp, grad.

Read next: `traces/jvp_trace.py` for the trace that they share, `define.py` for the short forms of rules, and
`rules` for the table of derivatives.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_autodiff import rules
from calque_core import register_internal_folder as _register_internal_folder
from calque_core import rules as _rule_table
from calque_core.extend import late_names as _late_names

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_autodiff import checkpoint_policies
    from calque_autodiff.custom.custom_jvp import custom_jvp
    from calque_autodiff.custom.custom_rules import custom_rules
    from calque_autodiff.custom.custom_vjp import CustomVJPPrimal, custom_gradient, custom_vjp
    from calque_core.extend import (
        defbilinear, defjvp, defjvp_all, deflinear, deftranspose, not_linear, zero_derivative,
    )
    from calque_autodiff.jaxprs import jvp_jaxpr, linearize_jaxpr
    from calque_autodiff.linear_functions import LinearFunction
    from calque_autodiff.partial_eval import partial_eval_jaxpr
    from calque_autodiff.test_util import check_grads, check_jvp, check_vjp
    from calque_autodiff.traces.jvp_trace import JVPTrace, JVPTracer
    from calque_autodiff.traces.tangent_trace import TangentTrace
    from calque_autodiff.transpose import backward_pass, transpose_jaxpr
    from calque_autodiff.verbs.checkpoint import checkpoint, checkpoint_name, remat
    from calque_autodiff.verbs.forward import jvp
    from calque_autodiff.verbs.gradient import grad, value_and_grad
    from calque_autodiff.verbs.implicit import custom_root
    from calque_autodiff.verbs.linear_transpose import linear_transpose
    from calque_autodiff.verbs.linearize import linearize, vjp
    from calque_autodiff.verbs.residuals import print_saved_residuals, saved_residuals
    from calque_core import (
        UndefinedPrimal, Zero as SymbolicZero, Zero, add_tangents, instantiate_zeros, is_undefined_primal,
    )
    from calque_core.lax import custom_linear_solve, linear_call, stop_gradient
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_autodiff": "checkpoint_policies",
    "calque_autodiff.custom.custom_jvp": "custom_jvp",
    "calque_autodiff.custom.custom_rules": "custom_rules",
    "calque_autodiff.custom.custom_vjp": "CustomVJPPrimal, custom_gradient, custom_vjp",
    "calque_core.extend": "defbilinear, defjvp, defjvp_all, deflinear, deftranspose, not_linear, zero_derivative",
    "calque_autodiff.jaxprs": "jvp_jaxpr, linearize_jaxpr",
    "calque_autodiff.linear_functions": "LinearFunction",
    "calque_autodiff.partial_eval": "partial_eval_jaxpr",
    "calque_autodiff.test_util": "check_grads, check_jvp, check_vjp",
    "calque_autodiff.traces.jvp_trace": "JVPTrace, JVPTracer",
    "calque_autodiff.traces.tangent_trace": "TangentTrace",
    "calque_autodiff.transpose": "backward_pass, transpose_jaxpr",
    "calque_autodiff.verbs.checkpoint": "checkpoint, checkpoint_name, remat",
    "calque_autodiff.verbs.forward": "jvp",
    "calque_autodiff.verbs.gradient": "grad, value_and_grad",
    "calque_autodiff.verbs.implicit": "custom_root",
    "calque_autodiff.verbs.linear_transpose": "linear_transpose",
    "calque_autodiff.verbs.linearize": "linearize, vjp",
    "calque_autodiff.verbs.residuals": "print_saved_residuals, saved_residuals",
    "calque_core": (  # SymbolicZero: the field's name for a zero tangent under symbolic_zeros=True
        "UndefinedPrimal, Zero as SymbolicZero, Zero, add_tangents, instantiate_zeros, is_undefined_primal"
    ),
    "calque_core.lax": "custom_linear_solve, linear_call, stop_gradient",
}

primitive_jvps = _rule_table("jvp")
primitive_transposes = _rule_table("transpose")
_register_internal_folder(__path__[0])

__version__ = "0.1.0"

__all__ = [
    # derivatives of functions
    "jvp", "linearize", "vjp", "LinearFunction", "grad", "value_and_grad", "linear_transpose", "stop_gradient",
    # functions with an equation or a transpose of their own
    "custom_root", "custom_linear_solve", "linear_call",
    # derivative rules of one function
    "custom_jvp", "custom_vjp", "custom_gradient", "custom_rules", "CustomVJPPrimal", "SymbolicZero",
    # residuals of a derivative
    "checkpoint", "remat", "checkpoint_name", "checkpoint_policies", "saved_residuals", "print_saved_residuals",
    # derivatives of programs
    "jvp_jaxpr", "linearize_jaxpr", "partial_eval_jaxpr", "transpose_jaxpr", "backward_pass",
    # rules
    "defjvp", "defjvp_all", "deflinear", "defbilinear", "deftranspose", "zero_derivative", "not_linear",
    "primitive_jvps", "primitive_transposes",
    # arguments of rules
    "Zero", "UndefinedPrimal", "is_undefined_primal", "instantiate_zeros", "add_tangents",
    # traces
    "JVPTrace", "JVPTracer", "TangentTrace",
    # checking derivatives
    "check_grads", "check_jvp", "check_vjp",
]  # fmt: skip

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, _LATE)
