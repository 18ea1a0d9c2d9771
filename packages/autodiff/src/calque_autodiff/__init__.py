"""Forward- and reverse-mode differentiation of NumPy programs: jvp, linearize, vjp, grad.

Read next: `traces/jvp_trace.py` for the trace that they share, `define.py` for the short forms of rules, and
`rules` for the table of derivatives.
"""

from calque_autodiff import rules
from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "derivatives of functions": {
        "calque_autodiff.verbs.forward": "jvp",
        "calque_autodiff.verbs.linearize": "linearize, vjp",
        "calque_autodiff.verbs.saved_inputs": "saved_input_vjp",
        "calque_autodiff.verbs.linear_functions": "LinearFunction",
        "calque_autodiff.verbs.gradient": "grad, value_and_grad",
        "calque_autodiff.verbs.linear_transpose": "linear_transpose",
        "calque_core.lax": "stop_gradient",
    },
    "functions with an equation or a transpose of their own": {
        "calque_autodiff.verbs.implicit": "custom_root",
        "calque_core.lax": "custom_linear_solve, linear_call",
    },
    "derivative rules of one function": {
        "calque_autodiff.custom.custom_jvp": "custom_jvp",
        "calque_autodiff.custom.custom_vjp": "custom_vjp, custom_gradient, CustomVJPPrimal",
        "calque_autodiff.custom.custom_rules": "custom_rules",
        "calque_autodiff.custom.closures": "closure_convert",
        # SymbolicZero: the field's name for a zero tangent under symbolic_zeros=True
        "calque_core": "Zero as SymbolicZero",
    },
    "residuals of a derivative": {
        "calque_autodiff.verbs.checkpoint": "checkpoint, remat, checkpoint_name",
        "calque_autodiff": "checkpoint_policies",
        "calque_autodiff.verbs.residuals": "saved_residuals, print_saved_residuals",
    },
    "derivatives of programs": {
        "calque_autodiff.programs.jaxprs": "jvp_jaxpr, linearize_jaxpr",
        "calque_autodiff.programs.partial_eval": "partial_eval_jaxpr",
        "calque_autodiff.programs.transpose": "transpose_jaxpr, backward_pass",
    },
    "rules": {
        "calque_core.extend": "defjvp, defjvp_all, deflinear, defbilinear, deftranspose, zero_derivative, not_linear",
        "calque_autodiff.rules": "primitive_jvps, primitive_transposes",
    },
    "arguments of rules": {
        "calque_core": "Zero, UndefinedPrimal, is_undefined_primal, instantiate_zeros, add_tangents",
    },
    "traces": {
        "calque_autodiff.traces.jvp_trace": "JVPTrace, JVPTracer",
        "calque_autodiff.traces.tangent_trace": "TangentTrace",
    },
    "checking derivatives": {"calque_autodiff.verbs.test_util": "check_grads, check_jvp, check_vjp"},
}

_register_internal_folder(__path__[0])

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
