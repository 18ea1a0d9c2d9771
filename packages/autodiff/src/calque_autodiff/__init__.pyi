# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_autodiff.verbs.forward import jvp as jvp
from calque_autodiff.verbs.linearize import linearize as linearize, vjp as vjp
from calque_autodiff.verbs.saved_inputs import saved_input_vjp as saved_input_vjp
from calque_autodiff.verbs.linear_functions import LinearFunction as LinearFunction
from calque_autodiff.verbs.gradient import grad as grad, value_and_grad as value_and_grad
from calque_autodiff.verbs.linear_transpose import linear_transpose as linear_transpose
from calque_core.lax import (
    stop_gradient as stop_gradient, custom_linear_solve as custom_linear_solve, linear_call as linear_call,
)
from calque_autodiff.verbs.implicit import custom_root as custom_root
from calque_autodiff.custom.custom_jvp import custom_jvp as custom_jvp
from calque_autodiff.custom.custom_vjp import (
    custom_vjp as custom_vjp, custom_gradient as custom_gradient, CustomVJPPrimal as CustomVJPPrimal,
)
from calque_autodiff.custom.custom_rules import custom_rules as custom_rules
from calque_autodiff.custom.closures import closure_convert as closure_convert
from calque_core import (
    Zero as SymbolicZero, Zero as Zero, UndefinedPrimal as UndefinedPrimal, is_undefined_primal as is_undefined_primal,
    instantiate_zeros as instantiate_zeros, add_tangents as add_tangents,
)
from calque_autodiff.verbs.checkpoint import (
    checkpoint as checkpoint, remat as remat, checkpoint_name as checkpoint_name,
)
from calque_autodiff import checkpoint_policies as checkpoint_policies
from calque_autodiff.verbs.residuals import (
    saved_residuals as saved_residuals, print_saved_residuals as print_saved_residuals,
)
from calque_autodiff.programs.jaxprs import jvp_jaxpr as jvp_jaxpr, linearize_jaxpr as linearize_jaxpr
from calque_autodiff.programs.partial_eval import partial_eval_jaxpr as partial_eval_jaxpr
from calque_autodiff.programs.transpose import transpose_jaxpr as transpose_jaxpr, backward_pass as backward_pass
from calque_core.extend import (
    defjvp as defjvp, defjvp_all as defjvp_all, deflinear as deflinear, defbilinear as defbilinear,
    deftranspose as deftranspose, zero_derivative as zero_derivative, not_linear as not_linear,
)
from calque_autodiff.rules import primitive_jvps as primitive_jvps, primitive_transposes as primitive_transposes
from calque_autodiff.traces.jvp_trace import JVPTrace as JVPTrace, JVPTracer as JVPTracer
from calque_autodiff.traces.tangent_trace import TangentTrace as TangentTrace
from calque_autodiff.verbs.test_util import check_grads as check_grads, check_jvp as check_jvp, check_vjp as check_vjp

__version__: str

__all__ = [
    "jvp", "linearize", "vjp", "saved_input_vjp", "LinearFunction", "grad", "value_and_grad", "linear_transpose",
    "stop_gradient", "custom_root", "custom_linear_solve", "linear_call", "custom_jvp", "custom_vjp", "custom_gradient",
    "CustomVJPPrimal", "custom_rules", "closure_convert", "SymbolicZero", "checkpoint", "remat", "checkpoint_name",
    "checkpoint_policies", "saved_residuals", "print_saved_residuals", "jvp_jaxpr", "linearize_jaxpr",
    "partial_eval_jaxpr", "transpose_jaxpr", "backward_pass", "defjvp", "defjvp_all", "deflinear", "defbilinear",
    "deftranspose", "zero_derivative", "not_linear", "primitive_jvps", "primitive_transposes", "Zero",
    "UndefinedPrimal", "is_undefined_primal", "instantiate_zeros", "add_tangents", "JVPTrace", "JVPTracer",
    "TangentTrace", "check_grads", "check_jvp", "check_vjp",
]
